"""EIP-55 spelling and CREATE2 addresses, against the vectors of the EIPs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments.chains.errors import InvalidAddress
from payments.chains.evm import addresses

CHECKSUMMED = [
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
]
GOOD = CHECKSUMMED[4]


@pytest.mark.parametrize("address", CHECKSUMMED)
def test_the_vectors_of_eip_55_keep_their_spelling(address: str) -> None:
    assert addresses.parse(address) == address
    assert addresses.encode(addresses.decode(address)) == address


@pytest.mark.parametrize("address", CHECKSUMMED)
def test_spellings_without_a_checksum_get_one(address: str) -> None:
    assert addresses.parse(address.lower()) == address
    assert addresses.parse("0x" + address[2:].upper()) == address
    assert addresses.parse(address.upper()) == address


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed",
            (
                "The mix of upper and lower case does not match the address's checksum (first at character 40): "
                "it was probably mistyped. Copy it again from the wallet."
            ),
        ),
        ("0x" + "00" * 20, "This is the zero address: money sent there is lost."),
        (GOOD[2:], "An address of this network starts with 0x."),
        ("", "An address of this network starts with 0x."),
        (
            "alice.eth",
            "Names are not resolved: send the address that the name stands for. It starts with 0x.",
        ),
        (GOOD[:-1], "An address has 40 characters after 0x, this one has 39."),
        (GOOD + "00", "An address has 40 characters after 0x, this one has 42."),
        ("0x" + "g" * 40, "“g” cannot stand in an address: only 0 to 9 and a to f can."),
        ("0x" + "０" * 40, "“０” cannot stand in an address: only 0 to 9 and a to f can."),
        ("0x" + "1_" * 20, "“_” cannot stand in an address: only 0 to 9 and a to f can."),
        (f" {GOOD}", "The address has spaces around it."),
        (f"{GOOD}\n", "The address has spaces around it."),
    ],
)
def test_a_bad_address_is_refused_with_its_own_sentence(text: str, message: str) -> None:
    with pytest.raises(InvalidAddress) as refusal:
        addresses.parse(text)
    assert str(refusal.value) == message


@given(st.binary(min_size=20, max_size=20).filter(any), st.data())
def test_one_changed_case_is_noticed(raw: bytes, data: st.DataObject) -> None:
    address = addresses.encode(raw)
    letters = [place for place in range(2, 42) if address[place].isalpha()]
    if not letters:
        return
    place = data.draw(st.sampled_from(letters))
    changed = address[:place] + address[place].swapcase() + address[place + 1 :]
    if changed[2:] in (changed[2:].lower(), changed[2:].upper()):
        return
    with pytest.raises(InvalidAddress):
        addresses.parse(changed)


@pytest.mark.parametrize(
    ("deployer", "salt", "creation_code", "address"),
    [
        ("0x" + "00" * 20, 0, "00", "0x4D1A2e2bB4F88F0250f26Ffff098B0b30B26BF38"),
        ("0xdeadbeef00000000000000000000000000000000", 0, "00", "0xB928f69Bb1D91Cd65274e3c79d8986362984fDA3"),
        (
            "0xdeadbeef00000000000000000000000000000000",
            0xFEED << 144,
            "00",
            "0xD04116cDd17beBE565EB2422F2497E06cC1C9833",
        ),
        ("0x" + "00" * 20, 0, "deadbeef", "0x70f2b2914A2a4b783FaEFb75f459A580616Fcb5e"),
        (
            "0x00000000000000000000000000000000deadbeef",
            0xCAFEBABE,
            "deadbeef",
            "0x60f3f640a8508fC6a86d45DF051962668E1e8AC7",
        ),
        (
            "0x00000000000000000000000000000000deadbeef",
            0xCAFEBABE,
            "deadbeef" * 11,
            "0x1d8bfDC5D46DC4f61D6b6115972536eBE6A8854C",
        ),
        ("0x" + "00" * 20, 0, "", "0xE33C0C7F7df4809055C3ebA6c09CFe4BaF1BD9e0"),
    ],
)
def test_the_vectors_of_eip_1014_come_out(deployer: str, salt: int, creation_code: str, address: str) -> None:
    code_hash = addresses.keccak256(bytes.fromhex(creation_code))
    assert addresses.create2_address(deployer=deployer, salt=salt, creation_code_hash=code_hash) == address


def test_a_clone_is_the_create2_address_of_its_eip_1167_creation_code() -> None:
    factory, implementation = CHECKSUMMED[0], CHECKSUMMED[1]
    code = "602d3d8160093d39f3363d3d373d3d3d363d73" + implementation[2:] + "5af43d82803e903d91602b57fd5bf3"
    code_hash = addresses.keccak256(bytes.fromhex(code))
    for salt in (0, 1, 2**256 - 1):
        expected = addresses.create2_address(deployer=factory, salt=salt, creation_code_hash=code_hash)
        assert addresses.clone_address(factory=factory, implementation=implementation, salt=salt) == expected


def test_deposit_addresses_never_change() -> None:
    """Money already sent to an address is found again only while the same number gives the same address."""
    found = addresses.clone_address(factory=CHECKSUMMED[0], implementation=CHECKSUMMED[1], salt=12345)
    assert found == "0x530a930BF52d0e8a1a9E46CacB8b6730B95084AC"
