"""Which addresses a webhook may be given: public ones, in every spelling, on ports that make sense."""

from __future__ import annotations

import pytest

from config.environments import Environment
from webhooks.endpoints.targets import url_problem

SANDBOX, PRODUCTION = Environment

INSIDE = "Must be a public address: nothing is sent to local, private or reserved ones."


def problem(url: str, environment: str = SANDBOX, *, ports: tuple[int, ...] = (), allow_loopback: bool = False) -> str:
    return url_problem(url, environment=environment, production_ports=ports, allow_loopback=allow_loopback) or ""


@pytest.mark.parametrize("environment", Environment)
@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.com",
        "https://shop.example.com:443/webhooks?shop=1",
        "https://93.184.216.34/webhooks",
        "https://[2606:2800:220:1::1]/webhooks",
        "https://xn--bcher-kva.example/",
        "https://1.example.com/",
        "https://localhost.example.com/",
    ],
)
def test_public_addresses_may_be_called(url: str, environment: str) -> None:
    assert problem(url, environment) == ""


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "shop.localhost",
        "127.0.0.1",
        "127.1",
        "127.0.0.1.",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",  # noqa: S104
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "1.2.3.256",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[fe80::1]",
        "[fec0::1]",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[ff02::1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2001::1]",
        "[2001:db8::1]",
        "[100::1]",
    ],
)
def test_addresses_inside_are_refused_in_every_spelling(host: str) -> None:
    for environment in Environment:
        assert problem(f"https://{host}/", environment) == INSIDE, environment


@pytest.mark.parametrize("host", ["[fe80::1%25eth0]", "[2606:2800:220:1::1%25eth0]", "[2606:2800:220:1::1%eth0]"])
def test_an_address_of_one_network_card_is_refused(host: str) -> None:
    assert problem(f"https://{host}/") != ""


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8080", "127.9.9.9:1024", "[::1]:9000", "localhost:1024", "shop.localhost:8080", "localhost.:8080"],
)
def test_loopback_may_be_allowed_in_the_sandbox_alone(host: str) -> None:
    assert problem(f"http://{host}/", allow_loopback=True) == ""
    assert problem(f"http://{host}/") == INSIDE
    assert problem(f"https://{host}/", PRODUCTION, ports=(8080, 9000, 1024), allow_loopback=True) == INSIDE


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]", "2130706433", "0"])
def test_allowing_loopback_allows_nothing_else(host: str) -> None:
    own = " Of this machine, http://localhost with a port from 1024 on is called."
    assert problem(f"http://{host}/", allow_loopback=True) == INSIDE + own


@pytest.mark.parametrize(
    ("url", "environment", "allowed"),
    [
        ("https://shop.example.com:443/", PRODUCTION, True),
        ("https://shop.example.com:8443/", PRODUCTION, False),
        ("https://shop.example.com:80/", PRODUCTION, False),
        ("https://shop.example.com:22/", PRODUCTION, False),
        ("http://shop.example.com/", SANDBOX, True),
        ("http://shop.example.com:443/", SANDBOX, True),
        ("https://shop.example.com:1024/", SANDBOX, True),
        ("https://shop.example.com:65535/", SANDBOX, True),
        ("https://shop.example.com:1023/", SANDBOX, False),
        ("http://shop.example.com:25/", SANDBOX, False),
    ],
)
def test_ports(url: str, environment: str, allowed: bool) -> None:
    assert (problem(url, environment) == "") is allowed


def test_production_may_name_further_ports() -> None:
    assert problem("https://shop.example.com:8443/", PRODUCTION, ports=(8443,)) == ""
    assert problem("https://shop.example.com:9443/", PRODUCTION, ports=(8443,)) == (
        "Must use port 443 or 8443 in production."
    )


@pytest.mark.parametrize(
    "url",
    [
        "shop.example.com",
        "ftp://shop.example.com/",
        "file:///etc/passwd",
        "gopher://shop.example.com/",
        "https://",
        "https:///path",
        "https://user@shop.example.com/",
        "https://user:password@shop.example.com/",
        "https://shop.example.com:0/",
        "https://shop.example.com:65536/",
        "https://shop.example.com:/",
        "https://shop.example.com:port/",
        "https://shop.example.com\\@10.0.0.1/",
        "https://shop.example.com/a b",
        "https://shop.example.com/\r\nHost: inside",
        "https://bücher.example/",
        "https://127。0。0。1/",
        "https://[127.0.0.1]/",
        "https://" + "a" * 2000 + ".example.com/",
    ],
)
def test_what_is_no_http_address_is_refused(url: str) -> None:
    for environment in Environment:
        assert problem(url, environment) != ""


def test_production_is_called_by_https_alone() -> None:
    assert problem("http://shop.example.com/", PRODUCTION) == "Must begin with https:// in production."
