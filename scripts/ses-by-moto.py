"""Serves Amazon SES by moto on a port of 127.0.0.1 that is the first argument.

Signatures are checked: requests need the key that is printed first, as {"keyId", "secret"}. Then each line of the input
is a command, {"name": ..., "value": ...}, answered with a line of JSON:

- verify: a domain, which is verified from then on;
- refuse: [error, status, text, how often], what the next requests to send are answered with;
- quota: [mails in 24 hours, mails a second];
- messages: what was taken, [{"from", "to", "raw"}].

It ends with its input.
"""

import json
import os
import sys

# requests beyond those of this script need a signature that is right
os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="eu-central-1")

import boto3
import requests
from moto.core.exceptions import JsonRESTError
from moto.ses import models
from moto.server import ThreadedMotoServer

EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ses:*", "Resource": "*"}]}
REGION = "eu-central-1"

state = {"refusals": [], "quota": [50_000, 500]}
take = models.SESBackend.send_raw_email


def send_raw_email(self, *arguments, **named):
    if state["refusals"]:
        error, status, text = state["refusals"].pop()
        refusal = JsonRESTError(error, text)
        refusal.code = status
        raise refusal
    return take(self, *arguments, **named)


def quota(self):
    found = models.SESQuota(self.sent_message_count)
    found.max24_hour_send, found.max_send_rate = state["quota"]
    return found


models.SESBackend.send_raw_email = send_raw_email
models.SESBackend.get_send_quota = quota

port = int(sys.argv[1])
server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
server.start()
endpoint = f"http://127.0.0.1:{port}"
iam = boto3.client("iam", endpoint_url=endpoint)
iam.create_user(UserName="mailwright")
iam.put_user_policy(UserName="mailwright", PolicyName="mail", PolicyDocument=json.dumps(EVERYTHING))
key = iam.create_access_key(UserName="mailwright")["AccessKey"]
requests.post(f"{endpoint}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()
print(json.dumps({"keyId": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    name, value = command["name"], command.get("value")
    backend = models.ses_backends["123456789012"][REGION]
    answer = None
    if name == "verify":
        backend.verify_domain(value)
    elif name == "refuse":
        error, status, text, count = value
        state["refusals"] = [(error, status, text)] * count
    elif name == "quota":
        state["quota"] = value
    elif name == "messages":
        answer = [{"from": one.source, "to": one.destinations, "raw": one.raw_data} for one in backend.sent_messages]
    print(json.dumps(answer), flush=True)
os._exit(0)
