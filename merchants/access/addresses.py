"""Address of a client, and membership in a list of IP networks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network


def client_address(request: HttpRequest) -> IPAddress | None:
    """The address of the caller, or None when the server knows none (a unix socket).

    `X-Forwarded-For` counts only as far as the hops that wrote it are in TRUSTED_PROXIES: the last
    address not among them is the caller, so that nobody can choose an address by sending the header.
    """
    address = _parsed(request.META.get("REMOTE_ADDR", ""))
    trusted: tuple[str, ...] = tuple(settings.TRUSTED_PROXIES)
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if not trusted or not forwarded:
        return address
    for hop in reversed(forwarded.split(",")):
        if address is not None and not is_within(address, trusted):
            break
        address = _parsed(hop.strip())
        if address is None:
            break
    return address


def is_from_trusted_proxy(request: HttpRequest) -> bool:
    """True if the peer that sent this request is one of TRUSTED_PROXIES, so that its headers are believed."""
    return is_within(_parsed(request.META.get("REMOTE_ADDR", "")), settings.TRUSTED_PROXIES)


def is_within(address: IPAddress | None, networks: Iterable[str]) -> bool:
    """True if the address is in one of the networks; an unknown address is in none."""
    return address is not None and any(
        address.version == network.version and address in network for network in map(parse_network, networks)
    )


@lru_cache(maxsize=4096)
def parse_network(text: str) -> IPNetwork:
    """The network behind `192.0.2.0/24`, `2001:db8::/32` or a single address; ValueError otherwise."""
    return ip_network(text)


def guesser(address: IPAddress | None) -> str:
    """The name that wrong guesses are counted under: an IPv4 address, or the /64 network of an IPv6 host."""
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return str(address)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> IPAddress | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if not isinstance(address, IPv6Address):
        return address
    return address.ipv4_mapped or IPv6Address(int(address))  # without the zone of `fe80::1%eth0`, which is ours
