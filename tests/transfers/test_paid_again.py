"""A payout that was paid, and whose row somebody sets back in the database: nothing signs for it again."""

from __future__ import annotations

import pytest

from merchants.ledger.models import Posting
from payments.chains import registry
from payments.monitoring.alarm_rules import of_rows
from payments.monitoring.states import AlarmKind
from payments.transfers import services
from payments.transfers.execution import rounds
from payments.transfers.models import Payout, Transfer
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus
from tests.transfers.scenes import (
    COIN,
    ETHEREUM,
    SANDBOX,
    ask,
    drive,
    finish,
    fresh,
    hot,
    on_chain,
    reserved,
    set_back,
    somebody,
    stock,
    the_transfer,
    the_wallet,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_paid_payout_that_is_set_back_is_not_paid_again(monkeypatch: pytest.MonkeyPatch, is_guarded: bool) -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    finish(ETHEREUM)
    assert (fresh(payout).status, hot(ETHEREUM)) == (PayoutStatus.PAID, 9 * COIN)
    set_back(payout)
    if not is_guarded:
        monkeypatch.setattr(services, "_note_unreserved", lambda wallet, payouts: [])
    other = ask(ETHEREUM, to=somebody(ETHEREUM, "another"))
    finish(ETHEREUM)
    if is_guarded:
        assert on_chain(ETHEREUM, somebody(ETHEREUM)) == COIN
        assert (fresh(payout).status, fresh(payout).hold_reason) == (PayoutStatus.HELD, HoldReason.SIGNER)
        assert (fresh(other).status, hot(ETHEREUM)) == (PayoutStatus.PAID, 8 * COIN)
        [alarm] = [each for each in of_rows(SANDBOX, ETHEREUM) if each.kind == AlarmKind.SIGNER_REFUSES]
        assert f"{payout.reference} (0 of {COIN})" in alarm.message
        return
    assert on_chain(ETHEREUM, somebody(ETHEREUM)) == 2 * COIN  # the attack: and its booking is an error
    again = Transfer.objects.get(lines__payout=payout, status=TransferStatus.SENT)
    assert again.last_error.startswith("PostingConflict: already in the ledger: payout_paid")
    assert (fresh(payout).status, hot(ETHEREUM)) == (PayoutStatus.SENDING, 8 * COIN)
    assert Posting.objects.filter(kind="payout_paid", reference=str(payout.pk)).count() == 1


def test_no_other_version_is_signed_for_what_is_not_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    stock(ETHEREUM, 10 * COIN)
    payout = ask(ETHEREUM)
    monkeypatch.setattr(rounds.Round, "_send", lambda self: False)
    drive(ETHEREUM)
    transfer = the_transfer()
    Payout.objects.filter(pk=payout.pk).update(amount=2 * COIN)
    signed = rounds.Round(the_wallet(ETHEREUM), registry.chain(SANDBOX, ETHEREUM))._sign_again(
        transfer, list(transfer.envelopes.all())
    )
    assert not services.record_replacement(transfer, signed)
    assert (transfer.envelopes.count(), reserved(payout)) == (1, COIN)
    Payout.objects.filter(pk=payout.pk).update(amount=COIN)
    assert services.record_replacement(transfer, signed)
