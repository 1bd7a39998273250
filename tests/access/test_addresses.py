"""Whose address a request is counted under, and which networks an address is inside."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from django.test import RequestFactory, override_settings

from merchants.access.addresses import client_address, guesser, is_within

PROXIES = ["10.0.0.0/8", "2001:db8:ffff::/48"]


def caller(remote: str, forwarded: str | None = None) -> str:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return str(client_address(RequestFactory(headers=headers).get("/", REMOTE_ADDR=remote)))


@pytest.mark.parametrize(
    ("remote", "forwarded", "expected"),
    [
        ("192.0.2.1", None, "192.0.2.1"),
        ("192.0.2.1", "198.51.100.9", "192.0.2.1"),  # not a proxy of ours: what it forwards is only a claim
        ("10.1.1.1", "198.51.100.9", "198.51.100.9"),
        ("10.1.1.1", "1.1.1.1, 198.51.100.9", "198.51.100.9"),  # the caller wrote the first entry itself
        ("10.1.1.1", "1.1.1.1, 198.51.100.9, 10.2.2.2", "198.51.100.9"),
        ("10.1.1.1", "10.3.3.3, 10.2.2.2", "10.3.3.3"),
        ("10.1.1.1", "198.51.100.9, nonsense", "None"),
        ("10.1.1.1", "", "10.1.1.1"),
        ("2001:db8:ffff::1", "2001:db8::9", "2001:db8::9"),
        ("::ffff:192.0.2.1", None, "192.0.2.1"),
        ("fe80::1%eth0", None, "fe80::1"),  # PostgreSQL has no zones
        ("", None, "None"),
        ("", "198.51.100.9", "198.51.100.9"),
    ],
)
@override_settings(TRUSTED_PROXIES=PROXIES)
def test_only_what_trusted_proxies_forwarded_is_believed(remote: str, forwarded: str | None, expected: str) -> None:
    assert caller(remote, forwarded) == expected


@override_settings(TRUSTED_PROXIES=[])
def test_without_trusted_proxies_the_header_counts_for_nothing() -> None:
    assert caller("10.1.1.1", "198.51.100.9") == "10.1.1.1"


@pytest.mark.parametrize(
    ("address", "networks", "inside"),
    [
        ("192.0.2.7", ["192.0.2.0/24"], True),
        ("192.0.3.7", ["192.0.2.0/24"], False),
        ("192.0.2.7", ["2001:db8::/32", "192.0.2.7/32"], True),
        ("2001:db8::1", ["192.0.2.0/24", "2001:db8::/32"], True),
        ("2001:db9::1", ["2001:db8::/32"], False),
        ("192.0.2.7", [], False),
    ],
)
def test_an_address_is_inside_a_network_of_its_own_kind(address: str, networks: list[str], inside: bool) -> None:
    assert is_within(ip_address(address), networks) is inside


def test_an_unknown_address_is_inside_nothing() -> None:
    assert not is_within(None, ["0.0.0.0/0", "::/0"])


def test_guesses_are_counted_per_ipv4_address_and_per_ipv6_subnet() -> None:
    assert guesser(ip_address("192.0.2.7")) == "192.0.2.7"
    assert guesser(ip_address("2001:db8:1:2:3::4")) == guesser(ip_address("2001:db8:1:2::9")) == "2001:db8:1:2::/64"
