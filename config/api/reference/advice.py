"""What a program does about an error of each type. Backticks are code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Advice(NamedTuple):
    """What to do, and whether the same request may be sent again."""

    words: str
    repeat: str


ADVICE: Final[Mapping[str, Advice]] = {
    "invalid_request_error": Advice(
        "The request is wrong, or what it asks for is not possible now. Nothing was done. `param` names the field at "
        "fault, `errors` all of them. Correct the program, or show `message` to whoever entered the value.",
        "Not as it is. After a correction the same `Idempotency-Key` may be used.",
    ),
    "authentication_error": Advice(
        "The keys or the signature are wrong. Stop and tell a person: no later request will succeed either.",
        "No. A signature is made anew for each try.",
    ),
    "permission_error": Advice(
        "The keys are right, and may not do this: by their scope, by the caller's address, or because the merchant is "
        "suspended. Change the key pair on the dashboard.",
        "No.",
    ),
    "not_found_error": Advice(
        "This merchant has no such record in this environment. The id may be of the other environment, or of another "
        "kind of record.",
        "No.",
    ),
    "idempotency_error": Advice(
        "The `Idempotency-Key` is in use, or belongs to another request.",
        "409 yes, after `Retry-After` and with the same key. 400 with another key.",
    ),
    "rate_limit_error": Advice(
        "Too many requests. Nothing was done.",
        "Yes, after the seconds of `Retry-After`, with the same `Idempotency-Key`.",
    ),
    "api_error": Advice(
        "Something is wrong on our side, and the work may have been done all the same: without an `Idempotency-Key` "
        "look before you send it again. Quote the `requestId` if it stays.",
        "Yes, with the same `Idempotency-Key`, after `Retry-After` or with waits that double.",
    ),
}
