"""Random messages and forgeries, to be verified by the public library of Standard Webhooks, unmodified."""

from __future__ import annotations

import base64
import random

from standardwebhooks import Webhook, WebhookVerificationError

from config import ids
from config.api.renderers import render_json
from webhooks.endpoints.secrets import new_secret
from webhooks.endpoints.signing import signed_headers

WORDS = ["Grüße", "日本", "\u2028", "\U0001f600", '"quoted"', "back\\slash", "new\nline", "<&>", "", " ", "0.10"]

Message = tuple[bytes, dict[str, str]]


def random_value(chance: random.Random, depth: int = 0) -> object:
    kind = chance.randrange(8 if depth < 3 else 5)
    match kind:
        case 0:
            return chance.choice([True, False, None])
        case 1:
            return chance.randrange(-(2**53), 2**53)
        case 2 | 3:
            return "".join(chance.choices(WORDS, k=chance.randrange(6)))
        case 4:
            return chance.random()
        case 5:
            return [random_value(chance, depth + 1) for _ in range(chance.randrange(5))]
    return {f"{chance.choice(WORDS)}{n}": random_value(chance, depth + 1) for n in range(chance.randrange(6))}


def random_body(chance: random.Random) -> bytes:
    return render_json({"id": ids.EVENT.encode(ids.new_uuid()), "data": {"object": random_value(chance)}})


def changed_byte(data: bytes, place: int) -> bytes:
    """The same text but for one ASCII character, so that it still decodes."""
    place = next(at % len(data) for at in range(place, place + len(data)) if data[at % len(data)] < 0x80)
    other = b"x" if data[place] != ord("x") else b"y"
    return data[:place] + other + data[place + 1 :]


def other_signature(signature: str, place: int) -> str:
    digest = bytearray(base64.b64decode(signature.removeprefix("v1,")))
    digest[place % len(digest)] ^= 1 << place % 8
    return f"v1,{base64.b64encode(bytes(digest)).decode()}"


def mutations(message: Message, chance: random.Random) -> dict[str, Message]:
    """Ten forgeries of one message."""
    body, headers = message
    place = chance.randrange(10**6)
    signature, timestamp = headers["webhook-signature"].split(" ")[0], int(headers["webhook-timestamp"])

    def with_header(name: str, value: str) -> Message:
        return body, {**headers, name: value}

    strangers = signed_headers([new_secret()], message_id=headers["webhook-id"], timestamp=timestamp, body=body)
    return {
        "another body": (changed_byte(body, place), headers),
        "a longer body": (body + b" ", headers),
        "a shorter body": (body[:-1], headers),
        "another id": with_header("webhook-id", ids.EVENT.encode(ids.new_uuid())),
        "another time": with_header("webhook-timestamp", str(timestamp + 1)),
        "an old time, signed anew by nobody": with_header("webhook-timestamp", str(timestamp - 301)),
        "another signature": with_header("webhook-signature", other_signature(signature, place)),
        "another version": with_header("webhook-signature", signature.replace("v1,", "v2,")),
        "a stranger's secret": with_header("webhook-signature", strangers["webhook-signature"]),
        "no signature": with_header("webhook-signature", ""),
    }


def verifies(secret: str, message: Message) -> bool:
    body, headers = message
    try:
        Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return False
    return True
