"""Payouts to addresses that a list names: held with the evidence, and released by two."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from merchants.models import User
from payments.chains.protocol.oracles import Verdicts
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.sending import Sending
from payments.chains.stellar.addresses import mux
from payments.monitoring.alarm_rules import of_rows
from payments.monitoring.states import AlarmKind
from payments.screening import matching
from payments.suspense import review
from payments.suspense.review import NothingHeld
from payments.transfers.execution import rounds
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.payouts import approve_payout
from payments.transfers.states import HoldReason, PayoutStatus
from tests.factories import make_user
from tests.screening.scenes import put_in_force, release
from tests.transfers.scenes import ETHEREUM, SANDBOX, STELLAR, ask, drive, finish, fresh, somebody, stock

pytestmark = pytest.mark.django_db


def alarms(network: str) -> list[str]:
    return [each.message for each in of_rows(SANDBOX, network) if each.kind == AlarmKind.SCREENED]


def try_again(payout: Payout) -> Payout:
    Payout.objects.filter(pk=payout.pk, next_attempt_at__isnull=False).update(next_attempt_at=payout.created_at)
    drive(payout.network)
    return fresh(payout)


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_a_payout_to_a_listed_address_waits_for_two_operators(network: str, tmp_path: Path) -> None:
    listed, other = somebody(network), somebody(network, "another")
    to = mux(listed, 7) if network == STELLAR else listed
    kept = put_in_force(tmp_path, listed.lower() if network == ETHEREUM else listed)
    stock(network, 5 * 10**7)
    held, free = ask(network, to=to), ask(network, to=other)
    finish(network)
    held, free = fresh(held), fresh(free)
    assert (held.status, held.hold_reason, free.status) == ("held", HoldReason.REVIEW, "paid")
    assert all(word in held.evidence for word in (listed, kept.sha256, "ofac.csv", "Invented PERSON", "CYBER2"))
    assert [held.evidence in each and held.reference in each for each in alarms(network)] == [True]

    for operator in (make_user(is_staff=True, is_superuser=True), make_user(is_staff=True, is_superuser=True)):
        approve_payout(held, by=operator)  # an approval is for an amount, and releases nothing
    assert try_again(held).status == PayoutStatus.HELD
    assert release(held, people=1) == ["waiting"]
    assert try_again(held).status == PayoutStatus.HELD
    put_in_force(tmp_path)  # it is named no longer, and stays held
    assert try_again(held).status == PayoutStatus.HELD
    assert release(held, people=1) == ["done"]
    put_in_force(tmp_path, listed)
    finish(network)
    assert (fresh(held).status, alarms(network)) == ("paid", [])
    with pytest.raises(NothingHeld):
        release(held)


def test_a_payout_whose_recipient_has_changed_is_released_no_longer(tmp_path: Path) -> None:
    put_in_force(tmp_path, somebody(ETHEREUM))
    stock(ETHEREUM, 5 * 10**7)
    payout = ask(ETHEREUM)
    drive(ETHEREUM)
    assert release(payout)[-1] == "done"
    Payout.objects.filter(pk=payout.pk).update(amount=2)
    assert try_again(payout).hold_reason == HoldReason.REVIEW


@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_list_that_comes_while_a_payout_is_signed_holds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_guarded: bool
) -> None:
    stock(ETHEREUM, 5 * 10**7)
    payout, sign = ask(ETHEREUM), Sending.sign

    def sign_as_the_list_comes(sending: Sending, *asked: Any, **named: Any) -> Any:
        put_in_force(tmp_path, somebody(ETHEREUM))
        return sign(sending, *asked, **named)

    monkeypatch.setattr(Sending, "sign", sign_as_the_list_comes)
    if not is_guarded:
        monkeypatch.setattr("payments.transfers.services.note_evidence", lambda payouts: None)
    drive(ETHEREUM)
    assert (fresh(payout).status == PayoutStatus.HELD) is is_guarded
    assert (fresh(payout).hold_reason == HoldReason.REVIEW) is is_guarded


class Oracle:
    """Names every account, or gives no answer."""

    address = "0x1"

    def __init__(self, *, answers: bool) -> None:
        self._answers = answers

    def verdicts(self, accounts: Sequence[str]) -> Verdicts:
        return Verdicts(1, dict.fromkeys(accounts, True) if self._answers else {})


@pytest.mark.parametrize("answers", [True, False])
def test_what_was_signed_and_never_sent_is_signed_anew_only_as_the_oracle_allows(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    stock(ETHEREUM, 5 * 10**7)
    payout = ask(ETHEREUM)
    with monkeypatch.context() as patched:
        patched.setattr(rounds.Round, "_send", lambda self: False)
        drive(ETHEREUM)
    Envelope.objects.update(signed_at=timezone.now() - timedelta(hours=1))
    with monkeypatch.context() as patched:
        patched.setattr(SimulatedChain, "oracle", Oracle(answers=answers))
        drive(ETHEREUM)
    assert (Envelope.objects.count(), Transfer.objects.get().sent_at) == (1, None)
    reason = HoldReason.REVIEW if answers else HoldReason.NETWORK
    assert reason.label in Transfer.objects.get().last_error
    if answers:
        review.compare_due()
        assert release(payout)[-1] == "done"
    Transfer.objects.update(next_step_at=timezone.now())
    finish(ETHEREUM)
    assert fresh(payout).status == "paid"


def test_a_release_ends_the_alarm_for_good_once_it_is_sent_and_not_before(tmp_path: Path) -> None:
    put_in_force(tmp_path, somebody(ETHEREUM))
    stock(ETHEREUM, 5 * 10**7)
    sent, held = ask(ETHEREUM), ask(ETHEREUM)
    drive(ETHEREUM)
    release(sent)
    finish(ETHEREUM)
    release(held)
    User.objects.update(is_staff=False)
    assert try_again(held).hold_reason == HoldReason.REVIEW
    assert [held.reference in each for each in alarms(ETHEREUM)] == [True]


def test_what_was_sent_before_raises_an_alarm_and_stays_sent(tmp_path: Path) -> None:
    stock(ETHEREUM, 5 * 10**7)
    sent = ask(ETHEREUM)
    finish(ETHEREUM)
    held = ask(ETHEREUM)
    put_in_force(tmp_path, somebody(ETHEREUM))
    assert review.compare_due() == 2
    drive(ETHEREUM)
    assert (fresh(sent).status, fresh(held).hold_reason) == ("paid", HoldReason.REVIEW)
    assert len(alarms(ETHEREUM)) == 2
    assert release(sent)[-1] == "done"
    assert [held.reference in each for each in alarms(ETHEREUM)] == [True]


def test_without_a_list_nothing_more_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def queries() -> int:
        finish(ETHEREUM)
        ask(ETHEREUM)
        with CaptureQueriesContext(connection) as asked:
            drive(ETHEREUM)
        return len(asked)

    stock(ETHEREUM, 5 * 10**7)
    drive(ETHEREUM)
    with_screening = queries()
    for place in ("transfers.payouts", "transfers.execution.rounds"):
        monkeypatch.setattr(f"payments.{place}.with_lists", lambda rows: rows)
    assert with_screening == queries()
    assert matching.evidence_of([]) == {}
