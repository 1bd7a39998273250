"""Envelopes as the library that everybody else uses reads them."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64encode
from datetime import UTC, datetime

import pytest
from stellar_sdk import (
    FeeBumpTransactionEnvelope,
    HashMemo,
    IdMemo,
    Keypair,
    NoneMemo,
    Payment,
    TextMemo,
    TransactionBuilder,
    TransactionEnvelope,
)

from config.money import Asset
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.stellar import addresses
from payments.chains.stellar.keys import envelopes

PASSPHRASE = "A network of tests ; 2026"
WALLET, CHANNEL, ISSUER, RECIPIENT = (Keypair.from_raw_ed25519_seed(bytes([number] * 32)) for number in (1, 2, 3, 4))
USDC = Asset("stellar", "USDC", 7, f"USDC:{ISSUER.public_key}")
VALID_UNTIL = datetime(2026, 5, 1, 12, tzinfo=UTC)


def signed(
    *recipients: str, memo: str | None = None, memo_type: str = "", channel: Keypair = WALLET
) -> envelopes.Signed:
    source = None if channel is WALLET else WALLET.public_key
    payouts = [PayoutInstruction(USDC, 12_345_678 + place, to, memo) for place, to in enumerate(recipients)]
    return envelopes.sign(
        [envelopes.payment(payout, source=source) for payout in payouts],
        passphrase=PASSPHRASE,
        source=channel,
        signers=[WALLET],
        sequence=77,
        fee_per_operation=200,
        valid_until=VALID_UNTIL,
        memo=memo,
        memo_type=memo_type,
    )


def as_others_read(raw: bytes) -> TransactionEnvelope | FeeBumpTransactionEnvelope:
    return TransactionBuilder.from_xdr(b64encode(raw).decode(), PASSPHRASE)


@pytest.mark.parametrize(
    ("memo", "memo_type", "expected"),
    [
        ("42", "", IdMemo(42)),
        ("42", "id", IdMemo(42)),
        ("42", "text", TextMemo("42")),
        ("0042", "text", TextMemo("0042")),
        ("order 42", "text", TextMemo("order 42")),
        ("order 42", "", TextMemo("order 42")),
    ],
)
def test_a_memo_has_the_type_that_was_said(memo: str, memo_type: str, expected: IdMemo | TextMemo) -> None:
    found = as_others_read(signed(RECIPIENT.public_key, memo=memo, memo_type=memo_type).raw)
    assert isinstance(found, TransactionEnvelope)
    assert found.transaction.memo == expected
    with pytest.raises(ValueError, match="whole number"):
        signed(RECIPIENT.public_key, memo="order 42", memo_type="id")


def test_an_envelope_says_who_pays_whom_until_when_and_is_signed_by_both() -> None:
    muxed = addresses.mux(RECIPIENT.public_key, 42)
    made = signed(RECIPIENT.public_key, muxed, channel=CHANNEL)
    found = as_others_read(made.raw)
    assert isinstance(found, TransactionEnvelope)
    said = found.transaction
    assert (said.source.account_id, said.sequence, said.fee) == (CHANNEL.public_key, 77, made.fee)
    assert made.fee == 2 * 200
    assert said.preconditions is not None
    assert said.preconditions.time_bounds is not None
    assert said.preconditions.time_bounds.max_time == VALID_UNTIL.timestamp()
    paid = [each for each in said.operations if isinstance(each, Payment)]
    assert [(each.destination.universal_account_id, each.amount, each.source) for each in paid] == [
        (RECIPIENT.public_key, "1.2345678", paid[0].source),
        (muxed, "1.2345679", paid[0].source),
    ]
    assert paid[0].source is not None
    assert paid[0].source.account_id == WALLET.public_key
    assert {(each.asset.code, each.asset.issuer) for each in paid} == {("USDC", ISSUER.public_key)}
    assert found.hash_hex() == made.transaction_hash
    for key, signature in zip((CHANNEL, WALLET), found.signatures, strict=True):
        key.verify(found.hash(), signature.signature)


def test_a_wallet_that_is_its_own_channel_signs_once() -> None:
    found = as_others_read(signed(RECIPIENT.public_key).raw)
    assert len(found.signatures) == 1


@pytest.mark.parametrize(
    ("memo", "written"),
    [
        (None, NoneMemo()),
        ("42", IdMemo(42)),
        (" 042 ", IdMemo(42)),
        (str(2**64 - 1), IdMemo(2**64 - 1)),
        (str(2**64), TextMemo(str(2**64))),
        ("order 17", TextMemo("order 17")),
        ("٣", TextMemo("٣")),
        ("é" * 14, TextMemo("é" * 14)),
    ],
)
def test_a_number_is_a_memo_id_and_anything_else_a_text(memo: str | None, written: object) -> None:
    made = signed(RECIPIENT.public_key, memo=memo)
    found = as_others_read(made.raw)
    assert isinstance(found, TransactionEnvelope)
    assert found.transaction.memo == written
    assert envelopes.read(made.raw, passphrase=PASSPHRASE).memo == addresses.normalise_memo(memo)


def test_a_memo_that_does_not_fit_is_refused() -> None:
    assert not envelopes.fits_memo("é" * 15)
    with pytest.raises(ValueError, match="at most 28 bytes"):
        signed(RECIPIENT.public_key, memo="é" * 15)


def test_a_fee_bump_keeps_what_it_pays_for_and_is_paid_by_the_wallet() -> None:
    inner = signed(RECIPIENT.public_key, RECIPIENT.public_key, channel=CHANNEL)
    once = envelopes.bump(inner.raw, passphrase=PASSPHRASE, payer=WALLET, fee_per_operation=2_000)
    twice = envelopes.bump(once.raw, passphrase=PASSPHRASE, payer=WALLET, fee_per_operation=20_000)
    for made, fee in ((once, 3 * 2_000), (twice, 3 * 20_000)):
        found = as_others_read(made.raw)
        assert isinstance(found, FeeBumpTransactionEnvelope)
        assert (found.transaction.fee, found.transaction.fee_source.account_id) == (fee, WALLET.public_key)
        assert found.transaction.inner_transaction_envelope.hash_hex() == inner.transaction_hash
        assert found.hash_hex() == made.transaction_hash
        WALLET.verify(found.hash(), found.signatures[0].signature)
        read = envelopes.read(made.raw, passphrase=PASSPHRASE)
        assert (read.inner_hash, read.sequence, read.source) == (inner.transaction_hash, 77, CHANNEL.public_key)
        assert (read.fee, read.operations, read.valid_until) == (fee, 3, VALID_UNTIL)
        assert read.is_bumped
        assert [each.source for each in read.payments] == [WALLET.public_key] * 2
    plain = envelopes.read(inner.raw, passphrase=PASSPHRASE)
    assert (plain.fee, plain.operations, plain.is_bumped) == (400, 2, False)
    assert len({inner.transaction_hash, once.transaction_hash, twice.transaction_hash}) == 3


def test_a_full_envelope_carries_a_hundred_payments() -> None:
    made = signed(*[RECIPIENT.public_key] * 100, channel=CHANNEL)
    read = envelopes.read(made.raw, passphrase=PASSPHRASE)
    assert (len(read.payments), read.operations, made.fee) == (100, 100, 20_000)


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"\x00" * 200])
def test_other_bytes_are_no_envelope(raw: bytes) -> None:
    with pytest.raises(ValueError, match="no envelope"):
        envelopes.read(raw, passphrase=PASSPHRASE)


def test_other_memos_than_ours_are_read_as_none() -> None:
    found = as_others_read(signed(RECIPIENT.public_key).raw)
    assert isinstance(found, TransactionEnvelope)
    found.transaction.memo = HashMemo(b"\x01" * 32)
    assert envelopes.read(found.to_xdr_object().to_xdr_bytes(), passphrase=PASSPHRASE).memo is None


def test_a_wrong_key_is_refused_without_being_repeated() -> None:
    secret = WALLET.secret
    assert envelopes.keypair(f" {secret}\n").public_key == WALLET.public_key
    with pytest.raises(envelopes.KeyRefused) as refusal:
        envelopes.keypair(secret[:-1] + "A")
    assert secret[:-1] not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_processes_that_send_nothing_do_without_the_library() -> None:
    script = (
        "import os, sys; os.environ.update(BALLAST_MODE='test', DJANGO_SETTINGS_MODULE='config.settings');"
        "import django; django.setup(); import payments.chains.registry, config.urls;"
        "print([name for name in sys.modules if name.startswith('stellar_sdk')])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
