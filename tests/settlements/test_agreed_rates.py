"""Which rate other coins are converted at, and who bears a move of it while a settlement waits."""

from __future__ import annotations

from decimal import Decimal
from html import unescape

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.ledger.chart import AccountKind
from payments.monitoring.accounting.result import months_between, result_csv, result_of
from payments.rates.models import CurrentRate
from payments.rates.quoting import forget_rates
from settlements import services
from settlements.exports.formats import statement_record
from settlements.plans.reading import statement_of
from settlements.records import preview_record, settlement_record
from settlements.states import SettlementProblem, SettlementStatus
from settlements.wording import RATE_OF
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.payments.scenes import findings
from tests.settlements.scenes import (
    ETHEREUM,
    SANDBOX,
    WALLETS,
    advance,
    assert_all_is_well,
    books,
    carried,
    earn,
    on_chain,
    pay_out,
    settle,
    settle_one,
    stock_treasury,
)
from tests.settlements.test_paying import waits

pytestmark = pytest.mark.django_db

COMPLETED = SettlementStatus.COMPLETED


def dai_is_worth(dollars: str) -> None:
    CurrentRate.objects.filter(base="DAI").update(rate=Decimal(dollars))
    forget_rates()


@pytest.mark.usefixtures("rates")
@pytest.mark.parametrize(("later", "spread"), [("0.5", -49_850_150), ("1.001", 199_801), ("0.999", None)])
def test_a_rate_that_was_agreed_when_it_was_made_is_the_houses_to_bear(
    later: str, spread: int | None, settings: Settings
) -> None:
    settings.CONVERSION_RATE = "when_made"
    merchant = make_merchant()
    earn(merchant, "100", "DAI")
    settlement = settle_one(merchant)
    assert (settlement.amount, settlement.converted_at) == (99_800_199, None)
    told = {"rate": "0.998001998001", "source": "kraken, coinbase", "quotedAt": settlement.coins[0]["quotedAt"]}
    assert settlement_record(settlement)["exchangeRate"] == {"DAI": told}

    assert waits(advance(settlement), SettlementProblem.INSUFFICIENT_LIQUIDITY)
    settings.CONVERSION_RATE = "when_paid"  # what was agreed stays agreed
    dai_is_worth(later)
    stock_treasury("1000")
    paid = pay_out(settlement)
    assert (paid.status, paid.amount, paid.coins[0]["rate"]) == (COMPLETED, 99_800_199, told["rate"])
    assert on_chain(ETHEREUM, WALLETS[ETHEREUM]) == 99_800_199
    held = books()
    assert (held.get("USDC spread"), held.get("USDC treasury")) == (spread, 900_199_801)
    this_month = months_between(timezone.now().date(), timezone.now().date())
    said = {row.kind: row.amount for row in result_of(SANDBOX, this_month) if row.is_result and row.asset == "USDC"}
    assert said.get(AccountKind.SPREAD) == spread
    lines = [line for line in "".join(result_csv(SANDBOX, this_month)).splitlines() if ",result,spread," in line]
    assert len(lines) == (spread is not None)
    assert_all_is_well()


@pytest.mark.usefixtures("rates")
def test_an_agreed_rate_does_not_wait_for_another_one_and_without_one_nothing_is_agreed(settings: Settings) -> None:
    settings.CONVERSION_RATE = "when_made"
    merchant = make_merchant()
    stock_treasury("1000")
    earn(merchant, "100", "DAI")
    settlement = settle_one(merchant)
    CurrentRate.objects.filter(base="DAI").delete()
    forget_rates()
    assert pay_out(settlement).status == COMPLETED
    assert "USDC spread" not in books()

    earn(merchant, "50", "DAI")
    run = settle(merchant)
    assert carried(run) == [("DAI", "50000000000000000000", "rate_unavailable")]
    assert not run.settlements.exists()
    assert_all_is_well()


@pytest.mark.usefixtures("rates")
@pytest.mark.parametrize("moment", ["when_paid", "when_made"])
def test_preview_and_page_say_who_bears_a_move_of_the_rate(moment: str, settings: Settings) -> None:
    settings.CONVERSION_RATE = moment
    member = make_member(make_merchant())
    earn(member.merchant, "100", "DAI")
    chosen = member.merchant.settings.get(environment=SANDBOX)
    now = timezone.now()
    told = preview_record(services.preview(member.merchant, chosen, now), period_start=now, environment=SANDBOX)
    assert told["rateMoment"] == moment
    assert told["settlements"][0]["exchangeRate"]["DAI"]["rate"] == "0.998001998001"
    settlement = settle_one(member.merchant)
    assert (
        statement_record(statement_of(settlement))["rateMoment"]
        == settlement_record(settlement)["rateMoment"]
        == moment
    )
    earn(member.merchant, "100", "DAI")
    client = browser_of(member)
    for path in ("settlements", "settlements/now", f"settlements/{settlement.public_id}"):
        assert str(RATE_OF[moment]) in unescape(client.get(f"/dashboard/{path}").text), path


def test_a_spread_that_is_not_what_the_rates_say_is_found(settings: Settings, rates: None) -> None:
    settings.CONVERSION_RATE = "when_made"
    merchant = make_merchant()
    stock_treasury("1000")
    earn(merchant, "100", "DAI")
    settlement = settle_one(merchant)
    dai_is_worth("0.5")
    settlement = pay_out(settlement)
    settlement.coins[0]["marketRate"] = "0.6"
    settlement.save()
    (found,) = findings()["S10"]
    assert (found.expected, found.actual, found.asset) == (60_000_000 - 99_800_199, -49_850_150, "USDC")
