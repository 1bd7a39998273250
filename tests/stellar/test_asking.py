"""Payments that payers' wallets are asked to sign: as the library would build them, signed, handed in, and seen."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import product

import pytest
from stellar_sdk import (
    Asset,
    IdMemo,
    NoneMemo,
    Payment,
    Preconditions,
    TimeBounds,
    Transaction,
    TransactionEnvelope,
)

from payments.chains.errors import PayerRefused, TransferRefused
from payments.chains.stellar import addresses
from payments.chains.stellar.payer_wallets.payment_request import PaymentRequest, hash_of, is_signed, unsigned
from tests.stellar.network import keys
from tests.stellar.place import USDC, WALLET, XLM, Place, key_of

PAYER = key_of(77)
ISSUER = USDC.contract.partition(":")[2]


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    made.local.fund_native(PAYER.public_key, 10 * XLM)
    made.local.trust(PAYER, "USDC")
    made.local.mint("USDC", PAYER.public_key, 100)
    yield made
    made.stop()


def by_library(asked: PaymentRequest) -> TransactionEnvelope:
    payment = Payment(asked.recipient, Asset(asked.code, asked.issuer), f"{asked.amount / 10**7:.7f}")
    transaction = Transaction(
        source=asked.account,
        sequence=asked.sequence,
        fee=asked.fee,
        operations=[payment],
        memo=NoneMemo() if asked.memo is None else IdMemo(asked.memo),
        preconditions=Preconditions(time_bounds=TimeBounds(0, asked.valid_until)),
    )
    return TransactionEnvelope(transaction, keys.PASSPHRASE)


def signed(raw: bytes) -> bytes:
    """What a wallet makes of it."""
    envelope = TransactionEnvelope.from_xdr(base64.b64encode(raw).decode(), keys.PASSPHRASE)
    envelope.sign(PAYER)
    return base64.b64decode(envelope.to_xdr())


@pytest.mark.parametrize(
    ("code", "memo"), list(product(["USDC", "DAI", "USDT0", "TWELVELETTER"], [None, 0, 4711, (1 << 64) - 1]))
)
def test_what_is_built_by_hand_is_what_the_library_builds(code: str, memo: int | None) -> None:
    asked = PaymentRequest(
        PAYER.public_key, (7 << 32) + 1, 1_000, 1_900_000_000, WALLET.public_key, memo, code, ISSUER, 12_500_001
    )
    raw, library = unsigned(asked), by_library(asked)
    assert base64.b64encode(raw).decode() == library.to_xdr()
    assert hash_of(raw, keys.PASSPHRASE) == library.hash_hex()
    whole = signed(raw)
    assert is_signed(whole, request=raw)
    other = unsigned(PaymentRequest(*(*(getattr(asked, name) for name in asked.__slots__[:-1]), 12_500_002)))
    for wrong in (
        b"",
        raw,
        whole[:-1],
        whole + b"\0",
        other + whole[len(other) :],
        whole.replace(b"\0\0\0\x40", b"\0\0\0\x41"),
    ):
        assert not is_signed(wrong, request=raw)


def test_a_signed_payment_arrives_for_its_payment_and_handing_it_in_again_changes_nothing(place: Place) -> None:
    to = place.chain.deposit_address(7)
    asked = place.chain.wallet_payments.payment_to_sign(PAYER.public_key, to=to, asset=USDC, amount=60)
    place.chain.wallet_payments.hand_in(asked, signed(asked.raw))
    place.chain.wallet_payments.hand_in(asked, signed(asked.raw))
    place.local.close_ledger()
    place.chain.wallet_payments.hand_in(asked, signed(asked.raw))
    [transfer] = place.chain.reading.find_transfers(asked.transaction_hash)
    assert (transfer.amount, transfer.sender, transfer.memo) == (60, PAYER.public_key, to.memo)
    assert place.chain.hot_wallet.pay_back_address(transfer.identity, transfer.sender) is None  # it carried a memo


def test_what_cannot_be_paid_is_said_before_the_wallet_is_asked(place: Place) -> None:
    to = place.chain.deposit_address(7)
    poor, stranger = key_of(78), key_of(79)
    place.local.fund_native(poor.public_key, 10 * XLM)
    for account, amount, words in (
        (PAYER.public_key, 101, "too little USDC"),
        (poor.public_key, 1, "too little USDC"),
        (stranger.public_key, 1, "does not exist"),
        (addresses.mux(PAYER.public_key, 7), 1, "begins with G"),
        ("nonsense", 1, "starts with G or M"),
    ):
        with pytest.raises(PayerRefused, match=words):
            place.chain.wallet_payments.payment_to_sign(account, to=to, asset=USDC, amount=amount)


def test_what_nobody_would_take_is_refused_and_what_may_be_in_a_ledger_is_not(place: Place) -> None:
    to = place.chain.deposit_address(7)
    asked = place.chain.wallet_payments.payment_to_sign(PAYER.public_key, to=to, asset=USDC, amount=60)
    envelope = TransactionEnvelope.from_xdr(base64.b64encode(asked.raw).decode(), keys.PASSPHRASE)
    envelope.sign(key_of(80))
    with pytest.raises(TransferRefused, match="tx_bad_auth"):
        place.chain.wallet_payments.hand_in(asked, base64.b64decode(envelope.to_xdr()))
    with pytest.raises(ValueError, match="not the requested payment"):
        place.chain.wallet_payments.hand_in(asked, asked.raw)
    assert place.chain.reading.find_transfers(asked.transaction_hash) == ()
