#!/usr/bin/env python3
"""Verifies every DKIM signature of the message on standard input with dkimpy, an implementation that is not ours.

    verify-dkim.py --records records.json < message.eml

`records.json` maps DNS names to TXT records and stands in for DNS. Prints what each signature says as JSON and fails
when there is no signature, when one does not hold, or when a record that is needed is missing.
"""

import argparse
import json
import sys

import dkim


def main() -> int:
    parser = argparse.ArgumentParser(description="Verify the DKIM signatures of the message on standard input.")
    parser.add_argument("--records", required=True, help="JSON file: DNS name to TXT record")
    arguments = parser.parse_args()
    with open(arguments.records, encoding="utf-8") as file:
        records = {name.rstrip(".").lower(): text for name, text in json.load(file).items()}
    asked = []

    def txt(name, timeout=5):
        name = (name.decode() if isinstance(name, bytes) else name).rstrip(".").lower()
        asked.append(name)
        return records[name].encode() if name in records else None

    message = sys.stdin.buffer.read()
    count = sum(1 for name, _ in dkim.DKIM(message).headers if name.lower() == b"dkim-signature")
    if count == 0:
        print("the message has no DKIM-Signature", file=sys.stderr)
        return 1
    signatures = []
    for index in range(count):
        check = dkim.DKIM(message, minkey=1024)
        try:
            valid = check.verify(idx=index, dnsfunc=txt)
            problem = "it does not match the message"
        except dkim.DKIMException as error:
            valid, problem = False, f"{type(error).__name__}: {error}"
        if not valid:
            print(f"signature {index} is invalid: {problem} (records asked for: {asked})", file=sys.stderr)
            return 1
        fields = {name.decode(): value.decode() for name, value in check.signature_fields.items()}
        signatures.append(
            {
                "domain": fields["d"],
                "selector": fields["s"],
                "algorithm": fields["a"],
                "canonicalization": fields.get("c", "simple/simple"),
                "headers": [name.strip().lower() for name in fields["h"].split(":")],
                "bodyLength": fields.get("l"),
            }
        )
    print(json.dumps(signatures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
