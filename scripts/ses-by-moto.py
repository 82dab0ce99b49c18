"""Serves Amazon SES by moto on a port of 127.0.0.1 that is the first argument.

Signatures are checked: requests need the key that is printed first, as {"keyId", "secret"}. Then each line of the input
is a command, {"name": ..., "value": ...}, answered with a line of JSON:

- verify: a domain, which is verified from then on;
- fail: a domain that is registered, whose records SES looks for no longer;
- rights: the actions that the key may use from then on, instead of all;
- refuse: [error, status, text, how often], what the next requests to send are answered with;
- refuse_identities: the same for requests about identities;
- hold_identities: whether requests about identities wait before anything comes of them, for 15 seconds at most;
- quota: [mails in 24 hours, mails a second];
- messages: what was taken, [{"from", "to", "raw"}];
- identities: what is registered, [{"name", "verified", "status", "origin", "selector", "publicKey", "tokens"}];
- asked: the requests about identities that came, [[operation, domain]].

Of identities moto knows little more than the names. What is here beyond it is as the reference of version 2 of the API
has it: CreateEmailIdentity, GetEmailIdentity, PutEmailIdentityDkimSigningAttributes and DeleteEmailIdentity, with their
errors. An identity is pending until it is told to be verified, and no mail is taken from it before.

It ends with its input.
"""

import base64
import json
import os
import re
import secrets
import sys
import threading

# requests beyond those of this script need a signature that is right
os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="eu-central-1")

import boto3
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from moto.core.exceptions import JsonRESTError
from moto.iam.access_control import IAMRequestBase
from moto.iam.models import iam_backends
from moto.server import ThreadedMotoServer
from moto.ses import models
from moto.sesv2 import urls
from moto.sesv2.responses import SESV2Response

ACCOUNT = "123456789012"
REGION = "eu-central-1"
ZONE = "dkim.amazonses.com"
SELECTOR = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?")

state = {"refusals": [], "refused_identities": [], "asked": [], "quota": [50_000, 500]}
identities_go_on = threading.Event()
identities_go_on.set()
take = models.SESBackend.send_raw_email
signed = IAMRequestBase._create_aws_request


def error(name, status, text):
    refusal = JsonRESTError(name, text)
    refusal.code = status
    return refusal


def policy(actions):
    statement = [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
    return json.dumps({"Version": "2012-10-17", "Statement": statement})


def send_raw_email(self, *arguments, **named):
    if state["refusals"]:
        raise error(*state["refusals"].pop())
    return take(self, *arguments, **named)


def quota(self):
    found = models.SESQuota(self.sent_message_count)
    found.max24_hour_send, found.max_send_rate = state["quota"]
    return found


def is_verified(self, source):
    names = [source, source.split("@", 1)[-1]]
    found = [self.email_identities[name] for name in names if name in self.email_identities]
    return any(one.verified_for_sending_status for one in found)


def sign_with(identity, origin, attributes):
    """Has SES sign for a domain in a way from now on, which it has to verify first."""
    identity.public_key = None
    if origin == "EXTERNAL":
        selector, text = attributes.get("DomainSigningSelector", ""), attributes.get("DomainSigningPrivateKey", "")
        if not SELECTOR.fullmatch(selector) or not re.fullmatch(r"[a-zA-Z0-9+/]+={0,2}", text):
            raise error("BadRequestException", 400, "The selector or the private key is not valid.")
        try:
            key = serialization.load_der_private_key(base64.b64decode(text, validate=True), None)
        except ValueError:
            key = None
        if not isinstance(key, rsa.RSAPrivateKey) or not 1024 <= key.key_size <= 2048:
            raise error("BadRequestException", 400, "The private key is not an RSA key of 1024 to 2048 bits.")
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        public = key.public_key().public_bytes(serialization.Encoding.DER, form)
        identity.public_key = base64.b64encode(public).decode()
        identity.tokens = [selector]
    elif origin == "AWS_SES":
        if getattr(identity, "origin", None) != origin:
            identity.tokens = [secrets.token_hex(16) for _ in range(3)]
    else:
        raise error("BadRequestException", 400, "SigningAttributesOrigin is AWS_SES or EXTERNAL.")
    identity.origin = origin
    identity.verified_for_sending_status = False
    identity.dkim_status = "PENDING"


def dkim(identity):
    """The structure DkimAttributes."""
    found = {
        "SigningEnabled": True,
        "Status": identity.dkim_status,
        "Tokens": identity.tokens,
        "SigningAttributesOrigin": identity.origin,
    }
    if identity.origin == "AWS_SES":
        lengths = {"NextSigningKeyLength": "RSA_2048_BIT", "CurrentSigningKeyLength": "RSA_2048_BIT"}
        found |= {"SigningHostedZone": ZONE, **lengths}
    return found


def shown(identity):
    return {
        "IdentityType": identity.identity_type,
        "VerifiedForSendingStatus": identity.verified_for_sending_status,
        "DkimAttributes": dkim(identity),
    }


def asked(operation, name):
    state["asked"].append([operation, name])
    identities_go_on.wait(15)
    if state["refused_identities"]:
        raise error(*state["refused_identities"].pop())


def registered(response, name):
    found = response.sesv2_backend.core_backend.email_identities.get(name)
    if found is None:
        raise error("NotFoundException", 404, f"Email identity {name} does not exist.")
    return found


def register(backend, name, attributes):
    identity = models.EmailIdentity(name, None, None, None)
    origin = "EXTERNAL" if "DomainSigningPrivateKey" in attributes else "AWS_SES"
    sign_with(identity, origin, attributes)
    backend.email_identities[name] = identity
    return identity


def create_email_identity(self):
    body = json.loads(self.body)
    name = body["EmailIdentity"]
    asked("CreateEmailIdentity", name)
    backend = self.sesv2_backend.core_backend
    if name in backend.email_identities:
        raise error("AlreadyExistsException", 400, f"Email identity {name} already exist.")
    return json.dumps(shown(register(backend, name, body.get("DkimSigningAttributes") or {})))


def get_email_identity(self):
    name = self.uri_match["EmailIdentity"]
    asked("GetEmailIdentity", name)
    identity = registered(self, name)
    more = {"FeedbackForwardingStatus": True, "Policies": {}, "Tags": [], "VerificationStatus": identity.dkim_status}
    return json.dumps(shown(identity) | more)


def put_email_identity_dkim_signing_attributes(self):
    body, name = json.loads(self.body), self.uri_match["EmailIdentity"]
    asked("PutEmailIdentityDkimSigningAttributes", name)
    identity = registered(self, name)
    sign_with(identity, body["SigningAttributesOrigin"], body.get("SigningAttributes") or {})
    answer = {"DkimStatus": identity.dkim_status, "DkimTokens": identity.tokens}
    if identity.origin == "AWS_SES":
        answer["SigningHostedZone"] = ZONE
    return json.dumps(answer)


def delete_email_identity(self):
    name = self.uri_match["EmailIdentity"]
    asked("DeleteEmailIdentity", name)
    registered(self, name)
    del self.sesv2_backend.core_backend.email_identities[name]
    return json.dumps({})


def signed_request(self):
    """What a signature covers: moto takes the headers of a request without a body for one."""
    if self._method in ("GET", "DELETE"):
        self._data = {}
    return signed(self)


models.SESBackend.send_raw_email = send_raw_email
models.SESBackend.get_send_quota = quota
models.SESBackend._is_verified_address = is_verified
IAMRequestBase._create_aws_request = signed_request
urls.url_paths["{0}/v2/email/identities/(?P<EmailIdentity>[^/]+)/dkim/signing$"] = SESV2Response.dispatch
for method in (
    create_email_identity,
    get_email_identity,
    put_email_identity_dkim_signing_attributes,
    delete_email_identity,
):
    setattr(SESV2Response, method.__name__, method)

port = int(sys.argv[1])
server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
server.start()
endpoint = f"http://127.0.0.1:{port}"
iam = boto3.client("iam", endpoint_url=endpoint)
iam.create_user(UserName="mailwright")
iam.put_user_policy(UserName="mailwright", PolicyName="mail", PolicyDocument=policy("ses:*"))
key = iam.create_access_key(UserName="mailwright")["AccessKey"]
requests.post(f"{endpoint}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()
print(json.dumps({"keyId": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    name, value = command["name"], command.get("value")
    backend = models.ses_backends[ACCOUNT][REGION]
    answer = None
    if name == "verify":
        identity = backend.email_identities.get(value) or register(backend, value, {})
        identity.verified_for_sending_status, identity.dkim_status = True, "SUCCESS"
    elif name == "fail":
        identity = backend.email_identities[value]
        identity.verified_for_sending_status, identity.dkim_status = False, "FAILED"
    elif name == "rights":
        iam_backends[ACCOUNT]["aws"].put_user_policy("mailwright", "mail", policy(value))
    elif name in ("refuse", "refuse_identities"):
        error_name, status, text, count = value
        kept = "refusals" if name == "refuse" else "refused_identities"
        state[kept] = [(error_name, status, text)] * count
    elif name == "hold_identities":
        (identities_go_on.clear if value else identities_go_on.set)()
    elif name == "quota":
        state["quota"] = value
    elif name == "messages":
        answer = [{"from": one.source, "to": one.destinations, "raw": one.raw_data} for one in backend.sent_messages]
    elif name == "identities":
        answer = [
            {
                "name": one.email_identity,
                "verified": one.verified_for_sending_status,
                "status": one.dkim_status,
                "origin": one.origin,
                "selector": one.tokens[0] if one.origin == "EXTERNAL" else None,
                "publicKey": one.public_key,
                "tokens": one.tokens if one.origin == "AWS_SES" else [],
            }
            for one in backend.email_identities.values()
        ]
    elif name == "asked":
        answer = state["asked"]
    print(json.dumps(answer), flush=True)
os._exit(0)
