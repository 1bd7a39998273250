"""Reads a payment by its id. Deliver goods when its status is `completed`."""

import json
import os
import sys
from urllib.request import Request, urlopen

request = Request(
    "https://pay.example.com/sandbox/v1/payments/" + sys.argv[1],
    headers={
        "Authorization": "Bearer pk_test_your_public_key",
        "X-Api-Secret": os.environ["BALLAST_SECRET_KEY"],
    },
)
with urlopen(request) as reply:
    payment = json.load(reply)
print(payment["status"], payment["amountReceived"], payment["cryptocurrency"])
