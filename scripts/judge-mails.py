#!/usr/bin/env python3
"""Judges mails as a receiver does, by programs that are not ours: dkimpy, OpenDKIM, SpamAssassin and rspamd.

    judge-mails.py FOLDER setting.json

FOLDER has the mails as they were sent, one `.eml` each. The setting says how they came to the receiver:

    {"address": "203.0.113.25", "helo": "out.example.net", "receiver": "mx.example.org",
     "zone": {"example.com": {"MX": ["10 mx.example.com"], "TXT": ["v=spf1 ip4:203.0.113.25 -all"]}},
     "mails": {"hello.eml": {"from": "hello@example.com", "to": "ada@example.org"}}}

`zone` is all that DNS knows: a name that is not there does not exist, and so no list has an entry. The rules are those
of the packages. Nothing but what learns, or asks services that do not use DNS, is switched off. Prints JSON:

    {"hello.eml": {"dkimpy": {"rsa-sha256": "pass"}, "opendkim": {"rsa-sha256": "pass"},
                   "spamassassin": {"score": 0.1, "rules": {"RULE": 0.1}},
                   "rspamd": {"action": "no action", "score": 0.1, "symbols": {"SYMBOL": 0.1}}}}

Fails when a judge cannot be asked.
"""

import email.utils
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dkim
import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

PATIENCE = 60
SPAMASSASSIN_RULES = "/usr/share/spamassassin"
RSPAMD_SUFFIXES = "/usr/share/rspamd/effective_tld_names.dat"
SPAMASSASSIN = """
dns_available yes
dns_server 127.0.0.1:{dns}
trusted_networks {own}
internal_networks {own}
envelope_sender_header Return-Path
use_bayes 0
use_razor2 0
use_pyzor 0
use_dcc 0
clear_report_template
report rules: _TESTSSCORES(,)_
"""
# by file below override.d
RSPAMD = {
    "options.inc": 'dns {{ nameserver = ["127.0.0.1:{dns}"]; }}\nurl_tld = "{folder}/tlds";\n'
    'control_socket = "{folder}/control.sock mode=0600";\n',
    "logging.inc": 'type = "console";\nlevel = "warning";\n',
    "worker-normal.inc": 'bind_socket = "127.0.0.1:{port}";\ncount = 2;\n',
    "worker-controller.inc": "enabled = false;\n",
    "worker-proxy.inc": "enabled = false;\n",
    "fuzzy_check.conf": "enabled = false;\n",
}


def program(name, package):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
    if found is None:
        sys.exit(f"{name} is not installed: run `make setup`, or on Debian: apt-get install {package}")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def txt(text):
    return " ".join('"%s"' % text[at : at + 255].replace('"', '\\"') for at in range(0, len(text), 255))


class Dns:
    """A name server that knows the zone and nothing else."""

    def __init__(self, zone):
        self.names = {}
        for name, kinds in zone.items():
            sets = self.names[name.lower()] = {}
            for kind, values in kinds.items():
                data = [txt(value) if kind == "TXT" else value for value in values]
                whole = {"origin": dns.name.root, "relativize": False}
                sets[kind] = dns.rrset.from_text_list(f"{name}.", 60, "IN", kind, data, **whole)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def txt(self, name, timeout=5):
        name = (name.decode() if isinstance(name, bytes) else name).rstrip(".").lower()
        records = self.names.get(name, {}).get("TXT")
        return None if records is None else b"".join(records[0].strings)

    def serve(self):
        while True:
            query, client = self.socket.recvfrom(4096)
            try:
                answer = self.answer(dns.message.from_wire(query))
            except dns.exception.DNSException:
                continue
            self.socket.sendto(answer.to_wire(), client)

    def answer(self, query):
        answer = dns.message.make_response(query, recursion_available=True)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        sets = self.names.get(name)
        if "CNAME" in (sets or {}):
            answer.answer.append(sets["CNAME"])
            sets = self.names.get(sets["CNAME"][0].target.to_text(omit_final_dot=True).lower())
        if sets is None:
            # a name with others below it exists
            if not any(known.endswith("." + name) for known in self.names):
                answer.set_rcode(dns.rcode.NXDOMAIN)
            return answer
        found = sets.get(dns.rdatatype.to_text(question.rdtype))
        if found is not None and found not in answer.answer:
            answer.answer.append(found)
        return answer


class Judge:
    """A daemon that is asked about mails, and ends with the script."""

    def __init__(self, name, port, command, folder):
        self.name, self.port, self.log = name, port, folder / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def connect(self):
        """Waits until it listens."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.fail("it does not start")
                time.sleep(0.05)

    def fail(self, problem):
        sys.exit(f"{self.name}: {problem}\n{self.log.read_text(errors='replace')[-4000:]}")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def start_spamassassin(folder, setting, dns_port):
    spamd = program("spamd", "spamd spamassassin libmail-spf-perl")
    site, port = folder / "spamassassin", free_port()
    site.mkdir()
    for plugins in Path("/etc/spamassassin").glob("*.pre"):
        shutil.copy(plugins, site)
    own = setting["zone"][setting["receiver"]]["A"][0]
    (site / "local.cf").write_text(SPAMASSASSIN.format(dns=dns_port, own=own))
    command = [spamd, f"--listen=127.0.0.1:{port}", f"--configpath={SPAMASSASSIN_RULES}"]
    command += [f"--siteconfigpath={site}", "--nouser-config", "--syslog=stderr", f"--pidfile={folder}/spamd.pid"]
    command += ["--min-children=2", "--max-children=2"]
    if os.geteuid() == 0:
        command.append("--username=nobody")
    return Judge("spamd", port, command, folder)


def start_rspamd(folder, dns_port):
    rspamd = program("rspamd", "rspamd")
    own, port = folder / "rspamd", free_port()
    (own / "override.d").mkdir(parents=True)
    # the domains below which names are registered, without those of two parts: all take 20 seconds to prepare
    suffixes = Path(RSPAMD_SUFFIXES).read_text(encoding="utf-8").splitlines()
    (own / "tlds").write_text("".join(f"{line}\n" for line in suffixes if re.fullmatch(r"[^./\s]+", line)))
    for name, text in RSPAMD.items():
        (own / "override.d" / name).write_text(text.format(dns=dns_port, port=port, folder=own))
    command = [rspamd, "--no-fork", "--insecure", "--config=/etc/rspamd/rspamd.conf"]
    command += [f"--var={name}={own}" for name in ("LOCAL_CONFDIR", "DBDIR", "RUNDIR", "LOGDIR")]
    return Judge("rspamd", port, command, folder)


def signatures(message):
    """The algorithm of each signature, and the message with that one alone."""
    head, body = message.split(b"\r\n\r\n", 1)
    fields = re.findall(rb"[^\r\n]+(?:\r\n[ \t][^\r\n]*)*", head)
    signed = [field for field in fields if field.lower().startswith(b"dkim-signature:")]
    for one in signed:
        algorithm = re.search(rb"[:;\s]a=\s*([\w-]+)", one)[1].decode()
        kept = [field for field in fields if field is one or field not in signed]
        yield algorithm, b"\r\n".join(kept) + b"\r\n\r\n" + body


def by_dkimpy(signed, records):
    results = {}
    for algorithm, message in signed:
        try:
            holds = dkim.DKIM(message, minkey=1024).verify(dnsfunc=records)
            results[algorithm] = "pass" if holds else "it does not match the message"
        except dkim.DKIMException as error:
            results[algorithm] = f"{type(error).__name__}: {error}"
    return results


def by_opendkim(signed, zone, folder):
    """By file: what each signature says. `signed` has the signatures by file."""
    keys, configuration, written = folder / "keys", folder / "opendkim.conf", {}
    records = [(name, kinds["TXT"][0]) for name, kinds in zone.items() if "._domainkey." in name]
    keys.write_text("".join(f"{name} {text}\n" for name, text in records))
    configuration.write_text(f"Mode v\nSyslog no\nTestDNSData file:{keys}\n")
    results = {name: {} for name in signed}
    for name, algorithm, message in ((name, *one) for name, ones in signed.items() for one in ones):
        file = folder / f"{len(written)}.eml"
        file.write_bytes(message)
        written[str(file)] = (name, algorithm)
        results[name][algorithm] = "it says nothing"
    command = [program("opendkim", "opendkim"), "-x", str(configuration), "-v", "-t", ",".join(written)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        sys.exit(f"opendkim: {said}")
    for file, result in re.findall(r"^opendkim: (.+?): (verification .*)$", said, re.MULTILINE):
        name, algorithm = written[file]
        results[name][algorithm] = "pass" if result.endswith(" succeeded") else result
    return results


def client(setting):
    """The name that the sending address says it has."""
    pointer = ".".join(reversed(setting["address"].split("."))) + ".in-addr.arpa"
    return setting["zone"].get(pointer, {}).get("PTR", ["unknown"])[0]


def by_spamassassin(judge, message, mail, setting):
    received = (
        f"Return-Path: <{mail['from']}>\r\n"
        f"Received: from {setting['helo']} ({client(setting)} [{setting['address']}])\r\n"
        f"\tby {setting['receiver']} (Postfix) with ESMTPS id 4Vb1Yc0Zq9z1xk\r\n"
        f"\tfor <{mail['to']}>; {email.utils.formatdate()}\r\n"
    )
    message = received.encode() + message
    with judge.connect() as connection:
        connection.sendall(b"REPORT SPAMC/1.5\r\nContent-length: %d\r\n\r\n%s" % (len(message), message))
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    if "rules: " not in answer:
        judge.fail(f"it answers {answer!r}")
    rules = re.findall(r"(\w+)=(-?[\d.]+)", answer.split("rules: ", 1)[1])
    rules = {name: float(points) for name, points in rules}
    # its own sum is rounded to a tenth
    return {"score": round(sum(rules.values()), 3), "rules": rules}


def by_rspamd(judge, message, mail, setting):
    # as from a milter, which sees a mail before the receiver's own headers are added
    headers = {"IP": setting["address"], "Helo": setting["helo"], "Hostname": client(setting)}
    headers |= {"From": mail["from"], "Rcpt": mail["to"], "MTA-Name": setting["receiver"]}
    connection = http.client.HTTPConnection("127.0.0.1", judge.port, timeout=PATIENCE)
    connection.sock = judge.connect()
    connection.request("POST", "/checkv2", message, headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        judge.fail(f"it answers {answer.status} {body!r}")
    body = json.loads(body)
    symbols = {name: symbol["score"] for name, symbol in body["symbols"].items()}
    return {"action": body["action"], "score": body["score"], "symbols": symbols}


def main() -> int:
    files = sorted(Path(sys.argv[1]).glob("*.eml"))
    setting = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    if not files:
        sys.exit("there are no mails")
    names = Dns(setting["zone"])
    judges = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        # spamd reads it as somebody else
        folder.chmod(0o755)
        try:
            judges += [start_spamassassin(folder, setting, names.port), start_rspamd(folder, names.port)]
            signed = {file.name: list(signatures(file.read_bytes())) for file in files}
            opendkim, results = by_opendkim(signed, setting["zone"], folder), {}
            with ThreadPoolExecutor(4) as pool:
                for file in files:
                    name, message, mail = file.name, file.read_bytes(), setting["mails"][file.name]
                    results[name] = {
                        "dkimpy": by_dkimpy(signed[name], names.txt),
                        "opendkim": opendkim[name],
                        "spamassassin": pool.submit(by_spamassassin, judges[0], message, mail, setting),
                        "rspamd": pool.submit(by_rspamd, judges[1], message, mail, setting),
                    }
            for result in results.values():
                result |= {name: result[name].result() for name in ("spamassassin", "rspamd")}
        finally:
            for judge in judges:
                judge.stop()
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
