"""What is said of a pasted request: whether it verifies, and if not, why."""

from __future__ import annotations

import pytest

from webhooks.endpoints.secrets import new_secret
from webhooks.endpoints.signing import signature_of
from webhooks.endpoints.verifying import Pasted, examine

NOW = 1_795_000_000
ID = "evt_01kfjhr3c8e4bs0dz6wd5n5yry"
SECRET, PREVIOUS, OTHER, UNKNOWN = (new_secret() for _ in range(4))
SENT = b'{"id":"evt_01kfjhr3c8e4bs0dz6wd5n5yry"}'
REWRITTEN = b'{"id": "evt_01kfjhr3c8e4bs0dz6wd5n5yry"}'


def pasted(secret: str = SECRET, *, age: int = 0, signed: bytes = SENT, body: bytes = SENT, **changed: str) -> Pasted:
    timestamp = NOW - age
    signature = signature_of(secret, message_id=ID, timestamp=timestamp, body=signed)
    fields = {"message_id": ID, "timestamp": str(timestamp), "signature": signature} | changed
    return Pasted(**fields, body=body)


@pytest.mark.parametrize(
    ("given", "sent", "verifies", "words"),
    [
        (pasted(), SENT, True, "It verifies"),
        (pasted(), None, True, "It verifies"),
        (pasted(PREVIOUS), SENT, True, "It verifies"),
        (pasted(age=300), SENT, True, "It verifies"),
        (pasted(age=301), SENT, False, "301 seconds old"),
        (pasted(age=-301), SENT, False, "301 seconds ahead"),
        (pasted(body=SENT + b"\n"), SENT, False, "spaces or line breaks"),
        (pasted(body=REWRITTEN), SENT, False, "the 39 bytes that were sent, not these 40. They differ from byte 7 "),
        (pasted(body=SENT[:-1]), SENT, False, "differ from byte 39 on"),
        (pasted(OTHER), SENT, False, "the secret of another webhook, https://other.example/"),
        (pasted(UNKNOWN), SENT, False, "Either the secret is wrong, or the timestamp is from another attempt"),
        (pasted(timestamp=str(NOW - 1)), SENT, False, "the timestamp is from another attempt"),
        (pasted(UNKNOWN), None, False, "we sent nothing with this webhook-id"),
        (pasted(UNKNOWN, body=b"{}"), SENT, False, "the signature matches neither"),
        (pasted(signature="K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="), SENT, False, "must begin with “v1,”"),
        (pasted(timestamp="2027-01-31"), SENT, False, "must be a number of seconds"),
    ],
)  # fmt: skip
def test_a_finding_says_what_is_wrong(given: Pasted, sent: bytes | None, verifies: bool, words: str) -> None:
    others = {"https://other.example/": [OTHER]}
    found = examine(given, secrets=[SECRET, PREVIOUS], others=others, sent=sent, now=NOW)
    assert found.verifies is verifies
    assert words in found.words
