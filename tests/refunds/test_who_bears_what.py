"""What a refund gives back is the quoted coins, whatever they are worth by then; and that is said before it is made."""

from __future__ import annotations

from decimal import Decimal
from html import unescape

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments.rates.models import CurrentRate
from payments.rates.quoting import forget_rates
from refunds import wording
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.payments.scenes import discrepancy, units
from tests.refunds.filing import preview as preview_of
from tests.refunds.scenes import ask, paid

pytestmark = pytest.mark.django_db


def a_coin_is_worth(dollars: str, settings: Settings) -> None:
    settings.RATE_SOURCES = ["kraken", "coinbase", "bitstamp"]
    known = {"sources": ["kraken", "coinbase"], "observed_at": timezone.now(), "agreed_at": timezone.now()}
    for base, quote, rate in (("USDC", "USD", dollars), ("USD", "EUR", "0.8")):
        CurrentRate.objects.update_or_create(base=base, quote=quote, defaults={"rate": Decimal(rate), **known})
    forget_rates()


@pytest.mark.parametrize("later", ["0.50", "2"])
def test_the_payer_gets_the_quoted_coins_whatever_they_are_worth_by_then(later: str, settings: Settings) -> None:
    a_coin_is_worth("1", settings)
    payment = paid(amount="100", currency="EUR")
    assert payment.due == units(payment, "125")
    a_coin_is_worth(later, settings)
    half, rest = ask(payment, "50.00"), ask(payment)
    assert (half.amount, rest.amount) == (units(payment, "62.5"), units(payment, "62.5"))
    forget_rates()


@pytest.mark.parametrize(("policy", "fee"), [("kept", wording.FEE_KEPT), ("returned", wording.FEE_RETURNED)])
def test_form_file_preview_and_refund_say_who_bears_what(policy: str, fee: str, settings: Settings) -> None:
    settings.FEE_ON_REFUNDS = policy
    member = make_member(make_merchant("Harbour Coffee"))
    client, payment = browser_of(member), paid(merchant=member.merchant)

    def shown(path: str) -> str:
        return unescape(client.get(path, follow=True).text)

    form = shown(f"/dashboard/payments/{payment.public_id}/refund")
    preview = shown(f"/dashboard/refunds/file/{preview_of(payment, amount='10').public_id}")
    for page in (form, preview):
        assert [str(words) in page for words in (wording.QUOTED, fee, wording.NO_FEE)] == [True, True, False]
    refund = ask(payment, "10")
    facts = "".join(shown(f"/dashboard/refunds/{refund.public_id}").split())
    assert f"Fee</dt><dd>{'Refunded' if policy == 'returned' else 'Kept'}" in facts
    assert refund.returns_fee == (policy == "returned")


def test_money_that_waits_for_a_decision_has_no_fee_to_give_back(settings: Settings) -> None:
    settings.FEE_ON_REFUNDS = "returned"
    member = make_member(make_merchant("Harbour Coffee"))
    payment = paid(received=["125"], merchant=member.merchant)
    form = browser_of(member).get(f"/dashboard/payments/{payment.public_id}/refund").text
    assert str(wording.NO_FEE) in unescape(form)
    assert not ask(payment, discrepancy=discrepancy(payment)).returns_fee
