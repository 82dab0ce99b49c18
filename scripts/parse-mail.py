#!/usr/bin/env python3
"""Takes the message on standard input apart with Python's `email` package and prints it as JSON.

    {"headers": [[name, value]], "defects": [text], "part": PART}

where PART is {"type", "disposition", "filename", "contentId", "encoding"} with "parts" when it is a multipart, "text"
when it is text and "base64" otherwise. Header values are decoded (RFC 2047) and unfolded.
"""

import base64
import json
import sys
from email import message_from_bytes
from email.policy import SMTP


def describe(part):
    described = {
        "type": part.get_content_type(),
        "disposition": part.get_content_disposition(),
        "filename": part.get_filename(),
        "contentId": part.get("content-id"),
        "encoding": part.get("content-transfer-encoding"),
    }
    if part.is_multipart():
        described["parts"] = [describe(inner) for inner in part.iter_parts()]
    elif part.get_content_maintype() == "text" and part.get_content_disposition() is None:
        described["text"] = part.get_content()
    else:
        described["base64"] = base64.b64encode(part.get_payload(decode=True)).decode()
    return described


def defects(part):
    found = [f"{type(defect).__name__}: {defect}" for defect in part.defects]
    for name, value in part.items():
        found += [f"{name}: {type(defect).__name__}: {defect}" for defect in value.defects]
    if part.is_multipart():
        for inner in part.iter_parts():
            found += defects(inner)
    return found


def main() -> None:
    message = message_from_bytes(sys.stdin.buffer.read(), policy=SMTP)
    print(
        json.dumps(
            {
                "headers": [[name, str(value)] for name, value in message.items()],
                "defects": defects(message),
                "part": describe(message),
            }
        )
    )


if __name__ == "__main__":
    main()
