"""`manage.py run_settlements`, and the tasks that do its work all the time."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from config.celery import app
from payments.models import BalanceChange
from payments.transfers.models import Payout
from settlements import tasks
from settlements.models import Settlement, SettlementRun
from tests.factories import make_merchant, suspend
from tests.settlements.scenes import ETHEREUM, PRODUCTION, SANDBOX, STELLAR, WALLETS, earn, make_merchant_who

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> list[str]:
    """What it says, line by line, with one blank between words."""
    output = StringIO()
    call_command("run_settlements", *arguments, stdout=output, no_color=True)
    return [" ".join(line.split()) for line in output.getvalue().splitlines()]


def test_now_settles_everybody_who_has_money() -> None:
    one, other, _ = make_merchant("One"), make_merchant_who(settlement_frequency="manual"), make_merchant("Poor")
    earn(one, "10")
    earn(one, "2", wallet=WALLETS[STELLAR])
    earn(other, "20", network=STELLAR)
    said = run("--now")
    first, second = Settlement.objects.order_by("network")
    assert f"sandbox One ethereum 10.000000 USDC {first.public_id} to {WALLETS[ETHEREUM]}" in said
    assert f"sandbox {other.name} stellar 20.000000 USDC {second.public_id} to {WALLETS[STELLAR]}" in said
    assert "sandbox One ethereum 2.000000 USDC carried over: wallet_invalid" in said
    assert said[-1] == "2 runs, 2 settlements"
    assert set(SettlementRun.objects.values_list("requested_by", flat=True)) == {"manage.py run_settlements"}
    assert run("--now")[-1] == "1 runs, 0 settlements"


def test_it_can_be_limited_to_a_merchant_and_an_environment() -> None:
    one, other = make_merchant(), make_merchant()
    for merchant in (one, other):
        earn(merchant, "10")
    earn(one, "10", environment=PRODUCTION)
    assert run("--now", "--merchant", one.public_id, "--env", SANDBOX)[-1] == "1 runs, 1 settlements"
    assert [(each.merchant, each.environment) for each in SettlementRun.objects.all()] == [(one, SANDBOX)]


def test_a_suspended_merchant_is_not_settled() -> None:
    merchant = make_merchant()
    earn(merchant, "10")
    suspend(merchant)
    assert run("--now") == ["0 runs, 0 settlements"]


def test_without_now_it_runs_what_is_due() -> None:
    merchant = make_merchant()
    earn(merchant, "10")
    assert run() == ["0 runs, 0 settlements"]
    type(merchant).objects.filter(pk=merchant.pk).update(created_at=timezone.now() - timedelta(days=2))
    assert run("--env", SANDBOX) == ["1 runs, 0 settlements"]  # the money came after the last midnight


def test_an_unknown_merchant_is_refused() -> None:
    with pytest.raises(CommandError, match="There is no merchant mer_nobody"):
        run("--merchant", "mer_nobody")


def test_a_run_that_cannot_be_made_is_told_and_holds_up_nobody() -> None:
    broken, sound = make_merchant(), make_merchant()
    BalanceChange.objects.filter(pk=earn(broken, "10").pk).update(amount=20_000_000)
    earn(sound, "10")
    with pytest.raises(CommandError, match="1 runs could not be made"):
        run("--now")
    assert [each.merchant for each in Settlement.objects.all()] == [sound]


def test_the_worker_runs_what_is_due_and_takes_it_on() -> None:
    earn(make_merchant(), "10")
    assert {"settlements.run_due", "settlements.advance_due"} <= set(app.conf.beat_schedule)
    tasks.run_due()
    assert not Settlement.objects.exists()
    run("--now")
    tasks.advance_due()
    assert Payout.objects.get().reference == Settlement.objects.get().public_id
