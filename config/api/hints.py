"""Guesses what a caller meant by a wrong URL, word or id."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from django.http import HttpRequest
from django.urls import Resolver404, resolve

from config import ids
from config.errors import NotFound

API_BASES: tuple[str, ...] = ("/v1", "/sandbox/v1")
_PREFIX = re.compile(r"/*(?:api/+)?(?P<sandbox>sandbox(?:/+|$))?(?:api/+)?(?:v[0-9.]+(?:/+|$))?", re.IGNORECASE)
_RESOURCES = (
    "payments",
    "discrepancies",
    "quote",
    "refunds",
    "settlements",
    "webhooks",
    "events",
    "deliveries",
    "requests",
    "merchant",
    "balance",
    "payment-links",
)
_OTHERS_WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("paid", "succeeded", "success", "successful", "confirmed", "captured"), ("completed", "exact")),
    **dict.fromkeys(("unpaid", "new", "open", "waiting", "awaiting_payment"), ("created",)),
    **dict.fromkeys(("processing", "confirming", "in_progress"), ("processing", "pending")),
    **dict.fromkeys(("partial", "partially_paid", "short"), ("underpaid",)),
    **dict.fromkeys(("timeout", "timed_out", "abandoned"), ("expired",)),
    **dict.fromkeys(("voided", "void"), ("cancelled",)),
    **dict.fromkeys(("matic", "pol"), ("polygon",)),
    **dict.fromkeys(("eth", "erc20", "mainnet"), ("ethereum",)),
    "xlm": ("stellar",),
    "tether": ("USDT",),
}
"""Names other gateways and wallets use, and the words of ours that may be meant, the likeliest first."""
_OTHERS_NOUNS: Mapping[str, str] = {
    **dict.fromkeys(("charge", "payment_intent", "checkout", "checkout.session", "invoice", "order"), "payment"),
    **dict.fromkeys(("payout", "transfer"), "settlement"),
}
_INSTEAD: tuple[tuple[str, str], ...] = (
    (
        r"\w+ (charges|payment_intents|checkouts?|checkout/sessions|orders|transactions)(/.*)?",
        "Payments are at {base}/payments.",
    ),
    (r"\w+ (payouts|transfers)(/.*)?", "Payouts to your wallets are at {base}/settlements."),
    (r"\w+ (logs|request-logs)(/.*)?", "The log of your requests is at {base}/requests."),
    (r"\w+ customers(/.*)?", "No customers are kept here: name yours in a payment's metadata."),
    (r"\w+ (prices|rates|exchange-rates)(/.*)?", "What a price comes to is at {base}/quote?amount=25.50&currency=EUR."),
    (r"POST payments/[^/]+/(confirm|capture)", "Nothing is confirmed or captured here: a payment completes by itself."),
    (r"\w+ payments/[^/]+/refunds?", "A refund is made by POST {base}/refunds with paymentId."),
    (r"DELETE payments/(?P<id>[^/]+)", "To end it while nothing was paid: POST {base}/payments/{id}/cancel."),
    (r"DELETE refunds/(?P<id>[^/]+)", "To end it before it is sent: POST {base}/refunds/{id}/cancel."),
    (r"DELETE payment-links/(?P<id>[^/]+)", 'To end it: PATCH with {{"enabled": false}}.'),
    (r"OPTIONS .*", "The API is for servers: a page in a browser would show everybody the secret key."),
)
"""What stands where others have it, or does what was meant: a method and the path after `/v1`, and a sentence."""
_MAX_CHARACTERS = 200


def right_addresses(path: str, *, is_sandbox: bool | None = None) -> list[str]:
    """The URLs of the API that a wrong path may have been meant for: none, or one for each environment.

    `is_sandbox` is the environment of the caller's key, where that is known and the path does not name one.
    """
    if len(path) > _MAX_CHARACTERS or not path.isprintable() or not (found := _PREFIX.match(path)):
        return []
    segments = [segment for segment in path[found.end() :].split("/") if segment]
    if not segments:
        return []
    meant = difflib.get_close_matches(segments[0].lower(), _RESOURCES, n=1, cutoff=0.75)
    tail = "/".join([*(meant or segments[:1]), *segments[1:]])
    if found["sandbox"] or path.startswith("/v1/"):
        is_sandbox = bool(found["sandbox"])
    bases = API_BASES if is_sandbox is None else (API_BASES[is_sandbox],)
    return [address for base in bases if (address := f"{base}/{tail}") != path and _leads_somewhere(address)]


def instead_of(method: str | None, path: str, *, is_sandbox: bool | None = None) -> str:
    """A sentence, after a space, about what does what a wrong request was meant to do; empty for most."""
    if len(path) > _MAX_CHARACTERS or not path.isprintable() or not (found := _PREFIX.match(path)):
        return ""
    base = API_BASES[bool(found["sandbox"] or (is_sandbox and not path.startswith("/v1/")))]
    called = f"{method} {path[found.end() :].strip('/')}"
    for pattern, sentence in _INSTEAD:
        if meant := re.fullmatch(pattern, called):
            return f" {sentence.format(base=base, **meant.groupdict())}"
    return ""


def _leads_somewhere(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def is_program(request: HttpRequest) -> bool:
    """True if the client wants JSON: it sends keys or JSON, or accepts JSON and no HTML."""
    accepted: str = request.META.get("HTTP_ACCEPT", "")
    return (
        sends_keys(request)
        or request.content_type == "application/json"
        or ("application/json" in accepted and "text/html" not in accepted)
    )


def sends_keys(request: HttpRequest) -> bool:
    return "HTTP_X_API_SECRET" in request.META or "HTTP_AUTHORIZATION" in request.META


def close_to(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant: what others call so, or one that is written alike; None when none is."""
    by_plain_word = {each.casefold(): each for each in known}
    if len(word) > _MAX_CHARACTERS:
        return None
    for meant in _meant_by_others(word.casefold()):
        if meant.casefold() in by_plain_word:
            return by_plain_word[meant.casefold()]
    return next((by_plain_word[each] for each in difflib.get_close_matches(word.casefold(), by_plain_word, n=1)), None)


def _meant_by_others(word: str) -> Iterator[str]:
    """Words of ours for a status, a network or a coin, or for the name of an event, whose last part is a status."""
    noun, dot, status = word.rpartition(".")
    for meant in (*_OTHERS_WORDS.get(status, ()), status):
        yield f"{_OTHERS_NOUNS.get(noun, noun)}{dot}{meant}"


def no_such(kind: ids.PublicId, text: str, *, param: str | None = None) -> NotFound:
    """The refusal of an id that names nothing the caller may see."""
    return NotFound(f"No such {kind.noun}.{about_id(kind, text) or _form_of(kind, text)}", param=param)


def _form_of(kind: ids.PublicId, text: str) -> str:
    """A sentence, after a space, about an id that has the form of none; otherwise empty."""
    if kind.decode(text) is not None:
        return ""
    if text.startswith(f"{kind.prefix}_"):
        length = len(kind.encode(ids.new_uuid()))
        return f" An id of this kind has {length} characters, this one has {len(text)}." if len(text) != length else ""
    form = f" Ids of {kind.noun}s begin with {kind.prefix}_."
    return (
        f"{form} Your order's number is found by GET /payments?metadata[order]=1007." if kind is ids.PAYMENT else form
    )


def about_id(wanted: ids.PublicId, text: str) -> str:
    """A sentence, after a space, when the id is of another kind than `wanted`; otherwise empty."""
    other = next((kind for kind in ids.KINDS if kind is not wanted and kind.decode(text) is not None), None)
    if other is None:
        is_upper_case = wanted.decode(text.lower()) is not None and text != text.lower()
        return " Ids are written in lower case." if is_upper_case else ""
    sentence = (
        f" {other.prefix}_… is the id of {_a(other.noun)}; that of {_a(wanted.noun)} begins with {wanted.prefix}_."
    )
    return f"{sentence} An event has it in data.object.id." if other is ids.EVENT else sentence


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
