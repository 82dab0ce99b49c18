"""Serves Amazon S3 by moto, with a bucket, on a port of 127.0.0.1 that is the first argument.

Signatures are checked: requests need the key that is printed first, as {"keyId", "secret"}. Then each line of the input
is answered with the objects of the bucket: [{"name", "size", "type"}]. It ends with its input.
"""

import json
import os
import sys

# requests beyond those of this script need a signature that is right
os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none", AWS_DEFAULT_REGION="us-east-1")

import boto3
import requests
from moto.server import ThreadedMotoServer

BUCKET = "pictures"
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}

port = int(sys.argv[1])
server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
server.start()
endpoint = f"http://127.0.0.1:{port}"
iam = boto3.client("iam", endpoint_url=endpoint)
iam.create_user(UserName="mailwright")
iam.put_user_policy(UserName="mailwright", PolicyName="pictures", PolicyDocument=json.dumps(EVERYTHING))
key = iam.create_access_key(UserName="mailwright")["AccessKey"]
s3 = boto3.client(
    "s3",
    endpoint_url=endpoint,
    aws_access_key_id=key["AccessKeyId"],
    aws_secret_access_key=key["SecretAccessKey"],
)
s3.create_bucket(Bucket=BUCKET)
requests.post(f"{endpoint}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()
print(json.dumps({"keyId": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
for _ in sys.stdin:
    objects = []
    for found in s3.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        try:
            head = s3.head_object(Bucket=BUCKET, Key=found["Key"])
        except s3.exceptions.ClientError:
            continue  # removed meanwhile
        objects.append({"name": found["Key"], "size": head["ContentLength"], "type": head["ContentType"]})
    print(json.dumps(objects), flush=True)
os._exit(0)
