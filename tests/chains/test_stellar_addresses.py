"""StrKey, muxed accounts and memo ids, against the vectors of SEP-23."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments.chains.errors import InvalidAddress
from payments.chains.stellar import addresses

ACCOUNT = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
KEY = bytes.fromhex("3f0c34bf93ad0d9971d04ccc90f705511c838aad9734a4a2fb0d7a03fc7fe89a")
MUXED = {
    0: "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ",
    1234: "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAE2JUG6",
    9223372036854775808: "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK",
}

# The invalid test cases of SEP-23, those of other kinds of key included.
INVALID = [
    "GAAAAAAAACGC6",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUR",
    "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZA",
    "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUACUSI",
    "G47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVP2I",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLKA",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAAV75I",
    "M47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUK===",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUO",
    "PA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAOQCAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4Z2PQ",
    "BAAD6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGR4TV",
    "BAAT6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGXACA",
]


def test_an_account_and_its_key_say_the_same() -> None:
    assert addresses.encode_account(KEY) == ACCOUNT
    assert addresses.parse(ACCOUNT) == ACCOUNT
    assert addresses.split(ACCOUNT) == (ACCOUNT, None)


@pytest.mark.parametrize(("identifier", "address"), MUXED.items())
def test_a_muxed_address_is_an_account_and_an_id(identifier: int, address: str) -> None:
    assert addresses.mux(ACCOUNT, identifier) == address
    assert addresses.parse(address) == address
    assert addresses.split(address) == (ACCOUNT, identifier)


@pytest.mark.parametrize("text", INVALID)
def test_the_invalid_vectors_of_sep_23_are_refused(text: str) -> None:
    with pytest.raises(InvalidAddress):
        addresses.parse(text)


MISTYPED = "The address's checksum does not match: it was probably mistyped. Copy it again from the wallet."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{ACCOUNT[:-1]}A", MISTYPED),
        (ACCOUNT.replace("Q3GL", "QZGL"), MISTYPED),
        (ACCOUNT.lower(), "Stellar addresses are written in capital letters only."),
        (f"{ACCOUNT} ", "The address has spaces around it."),
        (ACCOUNT[:-1], "An address that starts with G has 56 characters, not 55."),
        (MUXED[0][:56], "An address that starts with M has 69 characters, not 56."),
        (f"{ACCOUNT[:-1]}1", "“1” cannot stand in an address: only A to Z and 2 to 7 can."),
        (f"{ACCOUNT[:-1]}é".upper(), "“É” cannot stand in an address: only A to Z and 2 to 7 can."),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "An address of this network starts with G or M."),
        ("", "An address of this network starts with G or M."),
        ("HELLO", "An address of this network starts with G or M."),
        (
            "CA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUWDA",
            "This is a contract (C…). Payments go to accounts only: give an address that starts with G or M.",
        ),
        (
            "LA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUPJN",
            "This is a liquidity pool, not an account. An account's address starts with G or M.",
        ),
    ],
)
def test_a_bad_address_is_refused_with_its_own_sentence(text: str, message: str) -> None:
    with pytest.raises(InvalidAddress) as refusal:
        addresses.parse(text)
    assert str(refusal.value) == message


@pytest.mark.parametrize("spelling", [str.upper, str.lower])
def test_a_secret_key_is_refused_with_a_warning_and_never_repeated(spelling: type[str]) -> None:
    secret = "SBGWSG6BTNCKCOB3DIFBGCVMUPQFYPA2G4O34RMTB343OYPXU5DJDVMN"
    with pytest.raises(InvalidAddress) as refusal:
        addresses.parse(spelling(secret))
    assert "Never paste a secret key anywhere" in str(refusal.value)
    assert secret[:8].lower() not in str(refusal.value).lower()


def test_an_id_beyond_64_bits_is_refused() -> None:
    for identifier in (-1, 2**64):
        with pytest.raises(ValueError, match="unsigned 64-bit"):
            addresses.mux(ACCOUNT, identifier)


@given(st.binary(min_size=32, max_size=32), st.integers(0, addresses.MAXIMUM_ID))
def test_every_key_and_id_come_back(key: bytes, identifier: int) -> None:
    account = addresses.encode_account(key)
    assert addresses.split(addresses.mux(account, identifier)) == (account, identifier)


@given(st.integers(0, 55), st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
def test_one_mistyped_character_is_noticed(place: int, character: str) -> None:
    if ACCOUNT[place] == character:
        return
    with pytest.raises(InvalidAddress):
        addresses.parse(ACCOUNT[:place] + character + ACCOUNT[place + 1 :])


@pytest.mark.parametrize(
    ("memo", "reference"),
    [
        ("2597417259462400", "2597417259462400"),
        (" 2597417259462400 ", "2597417259462400"),
        ("002597417259462400", "2597417259462400"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709551616"),
        ("order 17", "order 17"),
        ("１２", "１２"),
        ("  ", None),
        ("", None),
        (None, None),
    ],
)
def test_a_reference_has_one_spelling(memo: str | None, reference: str | None) -> None:
    assert addresses.normalise_memo(memo) == reference


def sequence_of(memo: int, key: bytes = b"") -> int:
    """The number of the payment that has this memo id: the inverse of `memo_of`."""
    if not addresses.FIRST_MEMO <= memo <= addresses.LAST_MEMO:
        raise ValueError("no payment has such a memo id")
    place = _unpermute(memo - addresses.FIRST_MEMO, key)
    while place >= addresses._MEMO_COUNT:
        place = _unpermute(place, key)
    return place


def _unpermute(number: int, key: bytes) -> int:
    left, right = number >> addresses._HALF_BITS, number & addresses._HALF_MASK
    for position in reversed(addresses._ROUNDS):
        left, right = right ^ addresses._scramble(position, left, key), left
    return left << addresses._HALF_BITS | right


MEMO_KEY = bytes(range(32))


@pytest.mark.parametrize("key", [b"", MEMO_KEY])
@given(sequence=st.integers(0, addresses.LAST_MEMO - addresses.FIRST_MEMO))
def test_the_memo_of_a_payment_leads_back_to_its_number(key: bytes, sequence: int) -> None:
    memo = addresses.memo_of(sequence, key)
    assert 10**9 <= memo <= 2**53 - 1
    assert sequence_of(memo, key) == sequence


def test_with_a_key_nobody_counts_payments_by_their_memos() -> None:
    memos = [addresses.memo_of(sequence, MEMO_KEY) for sequence in range(1, 14)]
    assert not {sequence_of(memo) for memo in memos} & set(range(10**6))
    assert not {sequence_of(memo, MEMO_KEY[::-1]) for memo in memos} & set(range(10**6))
    assert memos[:2] == [7489626995533727, 3512915036728489]  # never change


@given(st.integers(addresses.FIRST_MEMO, addresses.LAST_MEMO))
def test_every_memo_belongs_to_exactly_one_payment(memo: int) -> None:
    assert addresses.memo_of(sequence_of(memo)) == memo


def test_neighbours_do_not_look_alike() -> None:
    memos = [addresses.memo_of(sequence) for sequence in range(2_000)]
    assert len(set(memos)) == 2_000
    together = [(one, other) for one, other in pairwise(memos) if abs(one - other) < 10**9]
    assert together == []


def test_memos_never_change() -> None:
    """Payers may use an old memo again, and a lost database is rebuilt by counting."""
    assert [addresses.memo_of(sequence) for sequence in (0, 1, 2, 10**6)] == [
        6863569896339495,
        1920901977841082,
        6823492591280769,
        8816512863664037,
    ]


@pytest.mark.parametrize("sequence", [-1, addresses.LAST_MEMO - addresses.FIRST_MEMO + 1])
def test_numbers_without_a_memo_are_refused(sequence: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        addresses.memo_of(sequence)
