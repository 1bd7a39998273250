"""Damage done past the services is found by reconcile's checks of refunds, each by its own."""

from __future__ import annotations

from datetime import timedelta

import pytest

from config import ids
from merchants.ledger.checking import Scope
from merchants.models import RecordCountDelta
from payments.models import Payment
from payments.transfers.models import Payout
from refunds import invariants
from refunds.models import Refund
from tests.payments.scenes import assert_all_is_well, findings
from tests.refunds.scenes import ask, fresh, paid, paid_by_two, resolve, send
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def test_nothing_is_found_in_any_state() -> None:
    waiting, unresolved, resolved = ask(paid_by_two()), ask(paid()), ask(paid(), "10")
    resolve()
    assert [fresh(each).status for each in (waiting, unresolved, resolved)] == ["requires_action", "pending", "pending"]
    assert_all_is_well()
    send()
    assert_all_is_well()


def test_a_payment_that_does_not_know_its_refund() -> None:
    refund = ask(paid(), "10")
    Payment.objects.filter(pk=refund.payment_id).update(refunded=refund.amount - 1)
    assert [finding.delta for finding in findings(room="refunds")["R1"]] == [-1]


def test_a_payment_that_says_too_much_was_returned() -> None:
    refund = ask(paid(), "10")
    Payment.objects.filter(pk=refund.payment_id).update(returned=5)
    assert [finding.delta for finding in findings(room="refunds")["R1"]] == [5]


def test_a_refund_that_ended_while_its_money_is_reserved() -> None:
    refund = ask(paid(), "10")
    resolve()
    Refund.objects.filter(pk=refund.pk).update(status="completed", ended_at=refund.created_at)
    assert len(findings(room="refunds")["R2"]) == 1


def test_a_payout_called_off_behind_the_refunds_back() -> None:
    refund = ask(paid(), "10")
    resolve()
    Payout.objects.filter(pk=refund.pk).update(status="cancelled")
    assert len(findings(room="refunds")["R2"]) == 1


def test_a_change_nobody_was_told_of() -> None:
    refund = ask(paid(), "10")
    Event.objects.filter(object_id=refund.pk).delete()
    assert len(findings(room="refunds")["R3"]) == 1


def test_a_refund_that_waits_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(paid(), "10")
    ask(paid_by_two(), "10")  # waits for a person, for as long as that takes
    monkeypatch.setattr(invariants, "PENDING_MAX", timedelta(0))
    [finding] = findings(room="refunds")["R4"]
    assert "its sender has not been asked about" in str(finding.actual)
    resolve()
    [finding] = findings(room="refunds")["R4"]
    assert "its payout is ready" in str(finding.actual)


def test_a_counter_that_is_off() -> None:
    refund = ask(paid(), "10")
    RecordCountDelta.objects.filter(kind="refund", merchant_id=refund.merchant_id).delete()
    assert [finding.delta for finding in findings(room="refunds")["R5"]] == [-1]


def test_a_check_of_the_last_minutes_leaves_out_what_is_older() -> None:
    refund = ask(paid(), "10")
    Payment.objects.filter(pk=refund.payment_id).update(refunded=0)
    now = ids.created_at_of(ids.new_uuid())
    for since, found in ((now - timedelta(minutes=5), 1), (now + timedelta(minutes=5), 0)):
        assert len(list(invariants.payments_know_their_refunds(Scope(since=since)))) == found
    assert list(invariants.payments_know_their_refunds(Scope(network="polygon"))) == []
    assert list(invariants.payments_know_their_refunds(Scope(environments=("production",)))) == []
