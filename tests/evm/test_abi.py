"""Calls are laid out, and answers read, as the library that knows every type does."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from payments.chains.evm import abi, addresses

numbers = st.integers(0, 2**256 - 1)
accounts = st.binary(min_size=20, max_size=20).map(addresses.encode)


@given(numbers, accounts, st.lists(numbers, max_size=5), st.binary(max_size=100))
def test_arguments_are_laid_out_as_the_library_lays_them_out(
    number: int, account: str, several: list[int], text: bytes
) -> None:
    expected = encode(["uint256", "uint256[]", "address", "bytes", "uint256"], [number, several, account, text, 1])
    assert abi.encode(number, several, account, text, 1) == expected


@given(numbers, accounts)
def test_words_are_read_back(number: int, account: str) -> None:
    data = abi.encode(account, number)
    assert (abi.address(data), abi.uint(data, 1)) == (account, number)


def test_well_known_names_have_their_well_known_codes() -> None:
    assert abi.selector("transfer(address,uint256)").hex() == "a9059cbb"
    assert (
        abi.topic("Transfer(address,address,uint256)")
        == "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    )


def test_what_is_not_there_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="no word 0"):
        abi.uint(b"")
    with pytest.raises(ValueError, match="no word 1"):
        abi.uint(bytes(63), 1)
    with pytest.raises(ValueError, match="larger than an address"):
        abi.address(b"\x01" + bytes(31))
    for impossible in (-1, 2**256):
        with pytest.raises(OverflowError):
            abi.encode(impossible)


@given(st.text(max_size=80))
def test_a_reason_is_told(text: str) -> None:
    data = abi.selector("Error(string)") + encode(["string"], [text])
    assert abi.reason(data) == text


def test_a_reason_that_is_no_text_is_shown_as_it_is() -> None:
    assert abi.reason(b"") == ""
    assert abi.reason(bytes.fromhex("4e487b71")) == "0x4e487b71"
