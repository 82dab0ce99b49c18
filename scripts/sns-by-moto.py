"""Publishes texts by moto, which imitates Amazon SNS, and prints what it sends to a subscriber.

Input: a JSON array of texts. Output: a JSON array of {"message", "certificate"}: the signed message, and the
certificate that is at its SigningCertURL.
"""

import http.server
import json
import os
import sys
import threading

import boto3
import requests
from moto import mock_aws

TOPIC = "mail"
REGION = "eu-west-1"


class Subscriber(http.server.BaseHTTPRequestHandler):
    received = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.received.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@mock_aws
def publish(texts, endpoint):
    sns = boto3.client("sns", region_name=REGION)
    topic = sns.create_topic(Name=TOPIC)["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=endpoint)
    for text in texts:
        sns.publish(TopicArn=topic, Message=text)
    certificates = (requests.get(message["SigningCertURL"], timeout=10).text for message in Subscriber.received)
    return [{"message": m, "certificate": c} for m, c in zip(Subscriber.received, certificates, strict=True)]


os.environ.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none")
server = http.server.HTTPServer(("127.0.0.1", 0), Subscriber)
threading.Thread(target=server.serve_forever, daemon=True).start()
published = publish(json.load(sys.stdin), f"http://127.0.0.1:{server.server_port}/")
print(json.dumps(published))
