"""What is said of what only stellar knows: memos that disagree, balances set aside, clawbacks, two hashes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from payments.chains import registry
from payments.chains.protocol.transfers import FoundTransaction, IdleKind, NonDeposit
from payments.chains.simulated import control
from payments.checkout.claims import answer_payer
from payments.claims import claims
from payments.claims.explanation import ClaimExplanation, explain
from payments.deposits.models import ScanCursor
from payments.models import Payment
from tests.payments.claiming import message, said
from tests.payments.scenes import POLYGON, SANDBOX, STELLAR, make_payment, mine_and_watch, part_of

pytestmark = pytest.mark.django_db


def explained(payment: Payment, found: FoundTransaction, *, asked: str = "") -> ClaimExplanation:
    """What is said once the network has told of this transaction, for the hash that somebody asked about."""
    return explain(claims._facts(payment, asked or found.transaction_hash, [(payment.network, found)]))


def test_the_muxed_address_counts_and_the_memo_beside_it_is_told() -> None:
    payment, other = make_payment(STELLAR), make_payment(STELLAR)
    named = control.pay_together(STELLAR, [replace(part_of(payment, "100"), memo=other.memo)])
    mine_and_watch(STELLAR)
    assert said(payment, named)[0] == "credited"
    assert f"Its memo is {other.memo}, but the muxed address it was sent to says {payment.memo}" in message(
        payment, named
    )
    assert said(other, named)[0] == "other_memo"
    assert "Its memo is this payment's, but the muxed address" in message(other, named)


def test_coins_of_the_house_from_before_a_payment_are_not_read_again_for_its_payer() -> None:
    """They may be in the ledger from before it was read: a payer who names them would have them there twice."""
    payment = make_payment(STELLAR)
    part = replace(part_of(payment, "100"), memo=None, recipient=payment.deposit_address)
    mine_and_watch(STELLAR)
    named = control.pay_together(STELLAR, [part])
    control.mine(STELLAR)
    found = registry.chain(SANDBOX, STELLAR).reading.find_transaction(named)
    assert found is not None
    ScanCursor.objects.update(read_until=timezone.now() + timedelta(days=1), finalized_height=found.height)
    assert explained(payment, found).to_be_read_again == (STELLAR,)
    before = replace(found.transfers[0], block_time=timezone.now() - timedelta(days=1))
    explanation = explained(payment, replace(found, transfers=(before,)))
    assert (explanation.code, explanation.to_be_read_again) == ("no_memo", ())


KINDS: list[tuple[IdleKind, bool, str, str]] = [
    ("claimable_balance", True, "claimable_balance", "was set aside, not paid"),
    ("account_merge", True, "account_merge", "Your account was merged into this one"),
    ("clawback", False, "clawback", "This is not a payment"),
    ("", True, "native_coin", "but it is the wrong coin"),
]


@pytest.mark.parametrize(("kind", "is_ours", "code", "title"), KINDS)
def test_what_is_no_payment_has_words_of_its_own(kind: IdleKind, is_ours: bool, code: str, title: str) -> None:
    payment = make_payment(STELLAR)
    coin = registry.asset(SANDBOX, STELLAR, "USDC").contract
    stranger = coin.rpartition(":")[2]
    ends = (stranger, payment.deposit_address) if is_ours else (payment.deposit_address, stranger)
    contract = coin if kind in ("claimable_balance", "clawback") else ""
    found = FoundTransaction("ab" * 32, "included", 7, idle=(NonDeposit(contract, 10**7, *ends, None, kind),))
    explanation = explained(payment, found)
    assert (explanation.code, explanation.to_be_read_again) == (code, ())
    assert title in answer_payer(payment, explanation).state.title


@pytest.mark.parametrize(("network", "is_told"), [(STELLAR, True), (POLYGON, False)])
def test_why_a_transaction_failed_follows_the_family(network: str, is_told: bool) -> None:
    payment = make_payment(network)
    explanation = explained(payment, FoundTransaction("ab" * 32, "failed", 7))
    for words in (explanation.message, answer_payer(payment, explanation).state.detail):
        assert ("coin was one of another issuer" in words) == is_told


def test_a_deposit_is_found_by_either_hash_of_its_transaction() -> None:
    payment = make_payment(STELLAR)
    outer = control.pay_together(STELLAR, [part_of(payment, "100")])
    mine_and_watch(STELLAR)
    found = registry.chain(SANDBOX, STELLAR).reading.find_transaction(outer)
    assert found is not None
    explanation = explained(payment, found, asked="cd" * 32)
    assert (explanation.code, explanation.to_be_read_again) == ("credited", ())
