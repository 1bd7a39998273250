"""Makes a payment of 25 EUR; prints its id and the page for the payer."""

import json
import os
import uuid
from urllib.request import Request, urlopen

order = {
    "amount": 25,
    "currency": "EUR",
    "cryptocurrency": "USDC",
    "network": "polygon",
    "merchantWallet": "0x5a5A5a5a5A5a5a5a5a5A5a5A5A5a5a5A5A5A5A5A",
    "metadata": {"order": "1007"},
}
request = Request(
    "https://pay.example.com/sandbox/v1/payments",
    data=json.dumps(order).encode(),
    headers={
        "Authorization": "Bearer pk_test_your_public_key",
        "X-Api-Secret": os.environ["BALLAST_SECRET_KEY"],
        "Content-Type": "application/json",
        "Idempotency-Key": str(uuid.uuid4()),  # the same for every try of one order
    },
)
with urlopen(request) as reply:
    payment = json.load(reply)
print(payment["id"])
print(payment["url"])  # send the payer there
