"""Rules for the URL of an endpoint. Pure.

This check gives early errors; the address behind a name is checked when it is called.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from config.api.fields import http_url_problem
from config.environments import Environment
from webhooks.endpoints.addresses import is_forbidden, parse_address

_STANDARD_PORTS = {"https": 443, "http": 80}
_UNPRIVILEGED_PORT = 1024
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")


def url_problem(
    url: str, *, environment: str, production_ports: Collection[int], allow_loopback: bool = False
) -> str | None:
    """The reason nothing would be sent to this URL, as a sentence; None when it may be tried.

    `production_ports` are allowed in production beside 443. Loopback can be allowed in the sandbox only.
    """
    in_production = environment == Environment.PRODUCTION
    if problem := http_url_problem(url, https_only=in_production):
        return problem
    parts = urlsplit(url)
    port = parts.port or _STANDARD_PORTS[parts.scheme]
    if in_production and port != _STANDARD_PORTS["https"] and port not in production_ports:
        return f"Must use port {_listed({443, *production_ports})} in production."
    if not in_production and port < _UNPRIVILEGED_PORT and port not in _STANDARD_PORTS.values():
        return "Must use port 443, port 80, or one from 1024 on."
    host, allow_loopback = (parts.hostname or "").removesuffix("."), allow_loopback and not in_production
    if _leads_inside(host, allow_loopback=allow_loopback):
        own = " Of this machine, http://localhost with a port from 1024 on is called." if allow_loopback else ""
        return f"Must be a public address: nothing is sent to local, private or reserved ones.{own}"
    if port < _UNPRIVILEGED_PORT and _leads_inside(host, allow_loopback=False):
        return f"This is port {port} of this machine. Did you mean another, as in http://localhost:3000{parts.path}?"
    return None


def is_loopback(host: str) -> bool:
    """True if the host is the very machine of whoever opens it."""
    address = parse_address(host)
    return host == "localhost" or host.endswith(".localhost") or (address is not None and address.is_loopback)


def _leads_inside(host: str, *, allow_loopback: bool) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return not allow_loopback
    if "%" in host:  # an address with a zone
        return True
    address = parse_address(host)
    if address is not None:
        return is_forbidden(address, allow_loopback=allow_loopback)
    # 0x7f.1, 0177.0.0.1 and 2130706433 are IPv4 addresses to a resolver; no real name ends in a number.
    return _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]) is not None


def _listed(ports: Collection[int]) -> str:
    return " or ".join(map(str, sorted(ports)))
