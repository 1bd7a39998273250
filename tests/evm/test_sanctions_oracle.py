"""A contract that names sanctioned accounts, queried on a real node: what comes from them and leaves for them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments.chains.evm import abi
from payments.chains.evm.nodes.oracle import SanctionsOracle
from payments.models import Deposit, Payment
from payments.monitoring.alarm_rules import of_rows
from payments.monitoring.states import AlarmKind
from payments.suspense import review
from payments.transfers.models import Payout
from payments.transfers.states import HoldReason
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.evm.shop import PRODUCTION, somebody
from tests.evm.street import Street, now
from tests.evm.test_contract_accounts import deploy_code
from tests.networks import POLYGON, with_set
from tests.screening.scenes import release

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

ORACLE = "60003560e01c63df592f7d1460175760243560043555005b6004355460005260206000f3"
"""Returns what is stored of an account for `isSanctioned(address)`; any other function stores it."""


@pytest.fixture
def oracle(street: Street, settings: Settings) -> str:
    found = deploy_code(street.node, ORACLE)
    settings.NETWORK_SETTINGS = with_set(POLYGON, oracle=found)
    return found


def name(street: Street, oracle: str, account: str, *, named: bool = True) -> None:
    street.node.succeed(street.node.accounts[9], oracle, abi.call("set(address,uint256)", account, int(named)))


def refund(payment: Payment, destination: str) -> Payout:
    request = NewRefund(amount=Decimal(1), destination=destination)
    return Payout.objects.get(reference=create_refund(payment=payment, request=request, requested_by="m").public_id)


def drive(street: Street, payout: Payout) -> Payout:
    Payout.objects.filter(pk=payout.pk, next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
    street.shop.drive()
    return Payout.objects.get(pk=payout.pk)


def alarms() -> list[str]:
    return [each.message for each in of_rows(PRODUCTION, POLYGON) if each.kind == AlarmKind.SCREENED]


def test_the_function_is_the_published_one() -> None:
    assert abi.selector("isSanctioned(address)").hex() == "df592f7d"


def test_a_deposit_of_a_named_sender_is_held_until_two_release_it(street: Street, oracle: str) -> None:
    name(street, oracle, street.mainnet._payer)
    payment = street.paid()
    deposit = Deposit.objects.get()
    assert (payment.status, payment.status_reasons, deposit.booked_to) == ("created", ["review"], "suspense:review")
    assert deposit.evidence.startswith(f"{deposit.sender} is named by oracle of polygon ({oracle}) [block ")
    name(street, oracle, street.mainnet._payer, named=False)
    other = street.paid()  # named no longer: what comes now is not held, what is held stays so
    assert (other.status, now(payment).status) == ("completed", "created")
    assert release(deposit) == ["waiting", "done"]
    street.let_blocks_pass()
    assert now(payment).status == "completed"


def test_a_payout_to_a_named_recipient_waits_for_two_operators(street: Street, oracle: str) -> None:
    [payment] = street.shop.earn(1)
    named, other = somebody("a sanctioned person"), somebody("another person")
    name(street, oracle, named)
    held = drive(street, refund(payment, named))
    assert (held.status, held.hold_reason) == ("held", HoldReason.REVIEW)
    assert oracle in held.evidence
    free = drive(street, refund(payment, other))
    assert (free.status, free.evidence) == ("sending", "")
    street.let_blocks_pass()
    street.shop.drive()
    name(street, oracle, named, named=False)
    assert drive(street, held).status == "held"
    assert release(held) == ["waiting", "done"]
    assert drive(street, held).status == "sending"


@pytest.mark.parametrize("is_contract", [True, False])
def test_no_answer_lets_deposits_count_and_payouts_wait(street: Street, settings: Settings, is_contract: bool) -> None:
    silent = deploy_code(street.node, "600260005260206000f3") if is_contract else somebody("no contract")
    settings.NETWORK_SETTINGS = with_set(POLYGON, oracle=silent)
    [payment] = street.shop.earn(1)
    deposit, payout = Deposit.objects.get(), drive(street, refund(payment, somebody("a person")))
    assert (payment.status, deposit.evidence) == ("completed", "")
    assert deposit.screen_at is not None
    assert (payout.status, payout.hold_reason, payout.evidence) == ("held", HoldReason.NETWORK, "")
    Deposit.objects.update(seen_at=timezone.now() - timedelta(minutes=11), screen_at=timezone.now())
    assert ["gives no answer about senders of 1 deposits" in each for each in alarms()] == [True]
    settings.NETWORK_SETTINGS = with_set(POLYGON, oracle="")
    assert alarms() == []

    oracle = deploy_code(street.node, ORACLE)
    name(street, oracle, street.mainnet._payer)
    settings.NETWORK_SETTINGS = with_set(POLYGON, oracle=oracle)
    street.let_blocks_pass()
    assert review.compare_due() == 1
    assert (now(payment).status, Deposit.objects.get().screen_at) == ("completed", None)
    assert ["named by oracle of polygon" in each for each in alarms()] == [True]
    assert drive(street, payout).status == "sending"


def test_after_a_day_without_an_answer_two_people_decide(street: Street, settings: Settings) -> None:
    settings.NETWORK_SETTINGS = with_set(POLYGON, oracle=somebody("no contract"))
    [payment] = street.shop.earn(1)
    payout = drive(street, refund(payment, somebody("a person")))
    long_ago = timezone.now() - timedelta(days=1)
    Deposit.objects.update(seen_at=long_ago, screen_at=long_ago)
    Payout.objects.update(held_since=long_ago)
    street.let_blocks_pass()
    deposit, payout = Deposit.objects.get(), drive(street, payout)
    assert (deposit.screen_at, payout.hold_reason) == (None, HoldReason.REVIEW)
    for row in (deposit, payout):
        assert "gave no answer within a day" in row.evidence
        assert release(row) == ["waiting", "done"]
    assert drive(street, payout).status == "sending"
    assert alarms() == []


def test_the_oracle_is_queried_outside_of_database_transactions(
    street: Street, oracle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []
    verdicts = SanctionsOracle.verdicts

    def watched(self: SanctionsOracle, accounts: list[str]) -> object:
        inside.append(connection.in_atomic_block)
        return verdicts(self, accounts)

    monkeypatch.setattr(SanctionsOracle, "verdicts", watched)
    [payment] = street.shop.earn(1)
    drive(street, refund(payment, somebody("a person")))
    assert inside == [False, False]
