"""Checks of the public address as a payer's browser comes to it: name, TLS, answer, and what the proxy passes on."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest

from config.doctor.registry import Asked, Finding, ask_elsewhere, fail, ok, register, warn, without

PROBE_HEADER: Final = "X-Ballast-Probe"
PROBE_PATH: Final = "/health/live"
_PROBE_IS_FOR_SECONDS: Final = 300
_MADE_UP: Final = "203.0.113.77"
"""An address of no machine, which a stranger could claim to come from."""

TIMEOUT_SECONDS: Final = 8.0
CERTIFICATE_WARNS_DAYS, CERTIFICATE_FAILS_DAYS = 14, 3
"""Certificates of Let's Encrypt are renewed 30 days before their end."""

PUBLIC, TLS, PROXY = "public address", "certificate", "proxy headers"


def probe() -> str:
    """A header by which the web process recognises a request of doctor."""
    return TimestampSigner(salt="ballast.doctor").sign("probe")


def is_probe(request: HttpRequest) -> bool:
    """True for a request that somebody with SECRET_KEY has signed within the last minutes."""
    signed = request.headers.get(PROBE_HEADER, "")
    if not signed or not settings.SECRET_KEY:
        return False
    try:
        TimestampSigner(salt="ballast.doctor").unsign(signed, max_age=_PROBE_IS_FOR_SECONDS)
    except BadSignature:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: Mapping[str, Any]
    from_here: str
    """The address that this machine sent the request from."""
    peer: str
    days_left: float | None
    """Of the certificate; None without TLS."""


@register(PUBLIC, reads_database=False)
def check_public_address(asked: Asked) -> Iterator[Finding]:
    """One request to PUBLIC_URL. It shows the name, the certificate, the answer, and what the proxy passes on."""
    url = urlsplit(settings.PUBLIC_URL)
    try:
        found = {str(each[4][0]) for each in socket.getaddrinfo(url.hostname, url.port or 443, type=socket.SOCK_STREAM)}
    except OSError as error:
        yield fail(
            PUBLIC,
            f"The name {url.hostname} is not found: {error}.",
            "Correct the DNS entry at your registrar, or PUBLIC_URL. Payers cannot open a payment's page.",
        )
        return
    try:
        reply = _fetch(probe() if not without("SECRET_KEY") else "")
    except ssl.SSLCertVerificationError as error:
        yield ok(PUBLIC, f"{url.hostname} is {', '.join(sorted(found))}.")
        yield fail(
            TLS,
            f"Browsers refuse it: {error.verify_message}.",
            "Renew the certificate (certbot renew, or look why Caddy could not), with the whole chain and this host "
            "name, then reload the proxy.",
        )
        return
    except (OSError, HTTPException) as error:
        yield fail(
            PUBLIC,
            f"{settings.PUBLIC_URL} does not answer: {str(error) or type(error).__name__}.",
            "See that the proxy and the web processes run and that the firewall lets port 443 in. A network that does "
            "not lead back to its own public address needs this name in its own DNS.",
        )
        return
    if reply.status != 200 or reply.body.get("status") != "ok":
        yield fail(
            PUBLIC,
            f"{settings.PUBLIC_URL}{PROBE_PATH} answers {reply.status}, and not as Ballast does.",
            "502 to 504: start the web processes. 400: add the host to ALLOWED_HOSTS. 404, or another page: let the "
            "proxy lead every path of this host to Ballast.",
        )
    else:
        inside = "" if any(ip_address(each).is_global for each in found) else ", an address inside this network only"
        yield ok(PUBLIC, f"{settings.PUBLIC_URL} answers at {', '.join(sorted(found))}{inside}.")
    yield _of_certificate(reply)
    yield _of_proxy(reply)


def _fetch(signed: str) -> _Reply:
    url = urlsplit(settings.PUBLIC_URL)
    host = str(url.hostname)
    connection = (
        HTTPSConnection(host, url.port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context())
        if url.scheme == "https"
        else HTTPConnection(host, url.port, timeout=TIMEOUT_SECONDS)
    )
    with closing(connection):
        connection.connect()
        ours, theirs = connection.sock.getsockname()[0], connection.sock.getpeername()[0]
        days_left = None
        if isinstance(connection.sock, ssl.SSLSocket):
            until = ssl.cert_time_to_seconds(str((connection.sock.getpeercert() or {})["notAfter"]))
            days_left = (datetime.fromtimestamp(until, UTC) - datetime.now(UTC)).total_seconds() / 86_400
        headers = {"Accept": "application/json", "X-Forwarded-For": _MADE_UP}
        connection.request("GET", PROBE_PATH, headers=headers | ({PROBE_HEADER: signed} if signed else {}))
        reply = connection.getresponse()
        content = reply.read(10_000)
    try:
        body = json.loads(content)
    except ValueError:
        body = {}
    return _Reply(reply.status, body if isinstance(body, dict) else {}, ours, theirs, days_left)


def _of_certificate(reply: _Reply) -> Finding:
    if reply.days_left is None:
        if settings.IN_PRODUCTION:
            return fail(TLS, "The public address has no TLS.", "Set PUBLIC_URL to its https address.")
        return ok(TLS, f"None: {settings.PUBLIC_URL} is not https, which is enough to try Ballast out.")
    text = f"It ends in {reply.days_left:.0f} days."
    advice = "Renew the certificate now (certbot renew, or look why Caddy could not), then reload the proxy."
    if reply.days_left < CERTIFICATE_FAILS_DAYS:
        return fail(TLS, text, advice)
    if reply.days_left < CERTIFICATE_WARNS_DAYS:
        return warn(TLS, text, advice)
    return ok(TLS, text)


def _of_proxy(reply: _Reply) -> Finding:
    """What the web process saw of the request, by its own word."""
    if missing := without("SECRET_KEY"):
        return ask_elsewhere(PROXY, missing)
    seen = reply.body.get("seen")
    if not isinstance(seen, dict):
        return fail(
            PROXY,
            f"{settings.PUBLIC_URL} does not recognise this installation.",
            "The web processes have another SECRET_KEY, another clock or another version than the one doctor runs "
            "with; or the name leads to another installation. Give all the same settings and restart them.",
        )
    client, peer = str(seen.get("client")), str(seen.get("peer"))
    where = "docs/installing.md, “The reverse proxy”, has the lines"
    if seen.get("isForwarded") and not seen.get("isTrusted"):
        return fail(
            PROXY,
            f"The proxy at {peer} is not in TRUSTED_PROXIES: its headers are not believed.",
            f"Add its network to TRUSTED_PROXIES, and restart the web processes. {where}.",
        )
    if settings.PUBLIC_URL.startswith("https://") and not seen.get("isSecure"):
        return fail(
            PROXY,
            "The web process takes the request for http: log-ins and pages redirect for ever.",
            f"Let the proxy set X-Forwarded-Proto to https, and name it in TRUSTED_PROXIES. {where}.",
        )
    if client == _MADE_UP:
        return fail(
            PROXY,
            "Anybody can choose the address they come from: the proxy passes X-Forwarded-For on as it was sent.",
            f"Let the proxy replace X-Forwarded-For by the caller's address. {where}.",
        )
    if client != reply.from_here and client == peer and settings.IN_PRODUCTION:
        return fail(
            PROXY,
            f"Every caller looks like the proxy, {peer}: request limits and allowed networks of keys count it.",
            f"Let the proxy set X-Forwarded-For to the caller's address. {where}.",
        )
    return ok(PROXY, f"The web process sees {'https' if seen.get('isSecure') else 'http'}, and the caller as {client}.")
