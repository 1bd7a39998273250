"""IP addresses Ballast may call for a merchant: public ones, and none that leads into our own network. Pure."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

# `ipaddress.is_global` is no help: it calls NAT64, 6to4 and multicast addresses global, and all of them can lead to
# an inner address. IPv4: the registry of special-purpose addresses (RFC 6890 and its successors), and multicast.
_FORBIDDEN_4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local; clouds serve their metadata here
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# IPv6: nothing outside of global unicast (so no loopback, mapped, NAT64, local or multicast address), and inside it
# nothing that contains another address or leads nowhere.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_FORBIDDEN_6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo, ORCHID and other protocol assignments
        "2001:db8::/32",
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",
        "3ffe::/16",
        "3fff::/20",
    )
)
_LOOPBACK_4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_6 = IPv6Address("::1")


def is_forbidden(address: IPv4Address | IPv6Address, *, allow_loopback: bool = False) -> bool:
    """True if nothing may be sent there. Loopback can be allowed, for tests on one machine."""
    if isinstance(address, IPv4Address):
        if allow_loopback and address in _LOOPBACK_4:
            return False
        return any(address in network for network in _FORBIDDEN_4)
    if allow_loopback and address == _LOOPBACK_6:
        return False
    return address not in _GLOBAL_UNICAST or any(address in network for network in _FORBIDDEN_6)


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address that this is, in its one canonical kind of spelling; None for a name, and for an address of one
    network card (`fe80::1%eth0`)."""
    try:
        return None if "%" in text else ip_address(text.strip("[]"))
    except ValueError:
        return None
