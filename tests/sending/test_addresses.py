from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import aiohttp
import pytest
from yarl import URL

from tests.sending.receivers import Shop
from tests.sending.spies import answer_names, post_all, watch_connections
from webhooks.endpoints.addresses import is_forbidden, parse_address

# A literal in brackets, a number in any base, a name: what stands between `http://` and the port. All lead inside.
SPELLINGS = (
    # this machine
    "127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "127.0.0.1.", "127.0.0.1..", "127.1", "127.0.1",
    "127.1.", "2130706433", "2130706434", "0x7f000001", "0X7F000001", "0x7f.0.0.1", "0x7f.1", "0x7F.0X0.0x0.0x1",
    "017700000001", "0177.0.0.1", "0177.0.1", "0177.1", "00177.0000.000.01", "0177.0x0.0.1", "127.0.0.0x1",
    "127.0.0x1", "0", "0x0", "00", "0.0.0.0", "0.0.0.0.", "0.0",  # noqa: S104
    "0.1.2.3", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0.0.0.1]", "[0::1]",
    # this machine inside another address
    "[::ffff:127.0.0.1]", "[::FFFF:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:0001]", "[::127.0.0.1]",
    "[::7f00:1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]",
    "[64:ff9b:1:ffff::169.254.169.254]", "[2002:7f00:1::]", "[2002:7f00:0001:0:0:0:0:1]", "[2002:a9fe:a9fe::1]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]", "[2001:0000::7f00:1]",
    # networks inside
    "10.0.0.1", "10.255.255.255", "0xa000001", "012.0.0.1", "167772161", "172.16.0.1", "172.31.255.255", "192.168.0.1",
    "192.168.257", "0xc0.0xa8.1", "100.64.0.1", "100.127.255.255", "1681915905", "169.254.169.254", "2852039166",
    "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "[::ffff:169.254.169.254]", "[::ffff:10.0.0.1]",
    "[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[fe80::1%25lo]", "[::1%25lo]", "[fec0::1]", "[fc00::1]",
    "[fd00:ec2::254]", "[fdff::1]",
    # nobody in particular
    "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1",
    "198.51.100.7", "203.0.113.9", "192.88.99.1", "[ff02::1]", "[ff0e::1]", "[2001:db8::1]", "[3fff::1]",
    "[100::1]", "[5f00::1]", "[2001:20::1]", "[3ffe::1]",
    # names
    "localhost", "LOCALHOST", "LocalHost", "localhost.", "localhost..", "inside.example", "Inside.Example.",
    "six.inside.example", "mapped.inside.example", "metadata.inside.example", "mixed.inside.example",
    "mixed6.inside.example", "zone.inside.example",
    # tricks
    "127.0.0.1%2e", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "localhost%00.example.com", "localhost%2e", "loc%61lhost",
    "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "localhost\u3002", "0x7f。1", "٠x7f.1",
    "example.com@127.0.0.1", "user:secret@127.0.0.1", "example.com%40127.0.0.1", "example.com:80@127.0.0.1",
    "example.com#@127.0.0.1", "example.com\\@127.0.0.1", "127.0.0.1\t", " 127.0.0.1", "127.0.0.1%20", "127.0.0.1%09",
)  # fmt: skip

NAMES = {
    "inside.example": ["127.0.0.1"],
    "six.inside.example": ["::1"],
    "mapped.inside.example": ["::ffff:127.0.0.1"],
    "metadata.inside.example": ["169.254.169.254"],
    "mixed.inside.example": ["93.184.215.14", "127.0.0.1"],
    "mixed6.inside.example": ["2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::1"],
    "zone.inside.example": ["fe80::1%lo"],
}


def answers(host: str) -> Iterable[str] | None:
    """Names that lead inside; what has neither a letter beyond `x` and hexadecimal digits is left to the system."""
    name = host.lower().rstrip(".")
    if name in NAMES:
        return NAMES[name]
    if name == "localhost":
        return ["127.0.0.1", "::1"]
    if set(name) <= set("0123456789abcdefx.:%"):
        return None
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def urls(port: int) -> list[str]:
    return [f"http://{spelling}:{port}/hook" for spelling in SPELLINGS]


def test_no_spelling_of_a_forbidden_address_is_ever_dialled(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(set(SPELLINGS)) == len(SPELLINGS) >= 80
    answer_names(monkeypatch, answers)
    dialled = watch_connections(monkeypatch)

    replies = post_all(urls(shop.port))

    assert dialled == []
    assert shop.arrivals == []
    assert [reply.status_code for reply in replies] == [None] * len(SPELLINGS)
    assert all(reply.error for reply in replies)


def test_standard_ports_are_guarded_as_well(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_names(monkeypatch, answers)
    dialled = watch_connections(monkeypatch)

    replies = post_all([f"{scheme}://{spelling}/" for spelling in SPELLINGS for scheme in ("http", "https")])

    assert dialled == []
    assert all(reply.status_code is None for reply in replies)


def test_a_client_without_the_guard_does_get_inside(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the same spellings, by the same library as it comes."""
    answer_names(monkeypatch, answers)
    watch_connections(monkeypatch)

    async def run() -> None:
        timeout = aiohttp.ClientTimeout(total=60)
        async with aiohttp.ClientSession(timeout=timeout) as session:

            async def post(url: str) -> None:
                try:
                    async with session.post(URL(url, encoded=True)):
                        pass
                except (aiohttp.ClientError, OSError, ValueError):
                    pass

            await asyncio.gather(*map(post, urls(shop.port)))

    asyncio.run(run())

    assert len(shop.arrivals) >= 10


def test_loopback_and_nothing_else_can_be_allowed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    answer_names(monkeypatch, answers)
    dialled = watch_connections(monkeypatch)

    post_all(urls(shop.port), allow_loopback=True)

    hosts = {ip_address(host) for host, *_ in dialled}
    inside = {host for host in hosts if is_forbidden(host)}
    assert {IPv4Address("127.0.0.1"), IPv6Address("::1")} <= inside
    assert {host for host in inside if host not in IPv4Network("127.0.0.0/8")} == {IPv6Address("::1")}


@pytest.mark.parametrize(
    "text",
    ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "192.169.0.1", "169.253.255.255", "223.255.255.1",
     "2606:4700:4700::1111", "2a00:1450:4001:82a::200e", "2001:4860:4860::8888", "2001:200::1", "2003::1"],
)  # fmt: skip
def test_public_addresses_are_allowed(text: str) -> None:
    assert not is_forbidden(ip_address(text))


@pytest.mark.parametrize("text", ["fe80::1%eth0", "2606:4700:4700::1111%eth0", "example.com", "", "127.1", "0x7f01"])
def test_only_canonical_literals_are_addresses(text: str) -> None:
    assert parse_address(text) is None
