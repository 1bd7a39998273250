"""Payments made of payment links: what the payer chooses, how the stock of uses holds, what expires."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.pages.samples import SANDBOX_WALLET
from merchants.models import LatePayments
from payments.chains.simulated.networks import address_named
from payments.dashboard.decisions.rows import decision_row
from payments.links import services
from payments.links.models import PaymentLink
from payments.links.services import LinkNotActive, update_link
from payments.links.states import LinkState
from payments.links.uses import holding_a_use, payment_under_way, uses_taken
from payments.models import Payment
from payments.rates.quoting import RateUnavailable
from payments.services import PaymentNotCancellable, cancel_payment
from payments.states import PaymentStatus
from payments.terms import WalletNotAllowed
from tests.factories import make_merchant, suspend
from tests.payments.linking import begin, make_link
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    WALLETS,
    assert_all_is_well,
    confirm,
    discrepancy,
    end_window,
    make_merchant_who,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
)
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def test_a_payment_of_a_link_is_an_ordinary_payment_of_what_the_payer_chose() -> None:
    link = make_link(metadata={"tour": "sunset"}, redirect_url="https://shop.example/thanks", expires_in=900)
    assert not Payment.objects.exists()
    payment = begin(link, POLYGON, "DAI")
    assert (payment.network, payment.cryptocurrency, payment.due) == (POLYGON, "DAI", 100 * 10**18)
    assert payment.merchant_wallet == WALLETS[POLYGON]
    assert payment.metadata == {"tour": "sunset"}
    assert payment.redirect_url == "https://shop.example/thanks"
    assert payment.expires_at - payment.created_at == timedelta(seconds=900)
    event = Event.objects.get(object_id=payment.pk)
    assert (event.type, event.payload["paymentLink"]) == ("payment.created", link.public_id)
    assert pay_and_confirm(payment).status == PaymentStatus.COMPLETED
    assert_all_is_well()


def test_a_form_that_is_sent_again_makes_no_second_payment() -> None:
    link = make_link()
    first = begin(link, form_id="a form")
    assert begin(link, form_id="a form") == first
    other = begin(link, POLYGON, form_id="a form")  # the payer went back and chose another network
    assert other != first
    assert begin(link, form_id="another form") not in (first, other)
    assert Payment.objects.count() == 3


def test_one_payment_whose_coin_the_payer_chooses_is_made_once() -> None:
    """Two tabs: the second to choose is told that the payment has begun."""
    link = make_link(max_uses=1)
    assert payment_under_way(link) is None
    first = begin(link)
    with pytest.raises(LinkNotActive) as refused:
        begin(link, POLYGON)
    assert refused.value.state is LinkState.USED_UP
    assert list(Payment.objects.all()) == [first]
    assert payment_under_way(link) == first


def test_another_coin_cancels_the_payment_that_waits_for_money() -> None:
    link = make_link(max_uses=1)
    first = begin(link)
    second = begin(link, POLYGON, instead_of=first)
    assert now(first).status == PaymentStatus.CANCELLED
    assert payment_under_way(link) == second


def test_a_payment_that_money_was_seen_for_is_not_exchanged_for_another() -> None:
    link = make_link(max_uses=1)
    first = begin(link)
    pay(first)
    mine_and_watch(ETHEREUM)
    with pytest.raises(PaymentNotCancellable):
        begin(link, POLYGON, instead_of=first)
    assert list(Payment.objects.all()) == [now(first)]
    assert confirm(first).status == PaymentStatus.COMPLETED


def test_uses_are_held_by_payments_that_wait_and_that_were_paid() -> None:
    link = make_link(max_uses=3)
    waiting, paid, expired = begin(link), begin(link), begin(link)
    with pytest.raises(LinkNotActive):
        begin(link)
    pay_and_confirm(paid)
    end_window(expired)
    cancel_payment(waiting)
    assert (now(expired).status, now(paid).status) == (PaymentStatus.EXPIRED, PaymentStatus.COMPLETED)
    assert holding_a_use(link) == 1
    begin(link)
    begin(link)
    with pytest.raises(LinkNotActive):
        begin(link)
    assert uses_taken([link, make_link()]) == {link.pk: 3}


@pytest.mark.parametrize(("max_uses", "status"), [(1, PaymentStatus.EXPIRED), (None, PaymentStatus.COMPLETED)])
def test_late_money_waits_for_a_decision_where_its_use_may_be_somebody_elses(
    max_uses: int | None, status: PaymentStatus
) -> None:
    merchant = make_merchant_who(late_payments=LatePayments.ACCEPT)
    payment = begin(make_link(merchant, max_uses=max_uses))
    end_window(payment)
    assert pay_and_confirm(payment).status == status
    assert_all_is_well()


def test_a_decision_says_that_it_can_sell_more_than_the_link_has() -> None:
    for max_uses, says_so in ((2, True), (None, False)):
        merchant = make_merchant_who(late_payments=LatePayments.HOLD)
        payment = begin(make_link(merchant, max_uses=max_uses))
        end_window(payment)
        pay_and_confirm(payment)
        row = decision_row(discrepancy(now(payment)))
        assert ("it may now be paid more than 2 times" in row.if_accepted) is says_so


NOT_ACTIVE: list[tuple[dict[str, Any], LinkState]] = [
    ({"enabled": False}, LinkState.DISABLED),
    ({"expires_at": timedelta()}, LinkState.EXPIRED),
]


@pytest.mark.parametrize(("fields", "state"), NOT_ACTIVE, ids=lambda each: str(each))
def test_a_link_that_is_out_of_use_makes_no_payment(fields: dict[str, Any], state: LinkState) -> None:
    link = make_link()
    values = {k: timezone.now() + v if isinstance(v, timedelta) else v for k, v in fields.items()}
    PaymentLink.objects.filter(pk=link.pk).update(**values)
    with pytest.raises(LinkNotActive) as refused:
        begin(link)
    assert refused.value.state is state
    assert not Payment.objects.exists()


def test_a_link_of_a_merchant_who_is_no_customer_any_more_makes_no_payment() -> None:
    link = make_link()
    suspend(link.merchant)
    link.merchant.refresh_from_db()
    with pytest.raises(LinkNotActive):
        begin(link)


OPEN: dict[str, Any] = {"amount": None, "min_amount": Decimal(5), "max_amount": Decimal("20.50")}


@pytest.mark.parametrize("amount", ["4.99", "20.51", "7.123", None])
def test_an_amount_outside_the_limits_is_refused_at_its_field(amount: str | None) -> None:
    link = make_link(**OPEN)
    with pytest.raises(InvalidParameter) as refused:
        begin(link, amount=None if amount is None else Decimal(amount))
    assert refused.value.param == "amount"
    assert not Payment.objects.exists()


@pytest.mark.parametrize("amount", ["5", "20.50"])
def test_an_amount_at_the_limits_is_taken(amount: str) -> None:
    payment = begin(make_link(**OPEN), amount=Decimal(amount))
    assert payment.fiat_amount == Decimal(amount) * 100


def test_a_fixed_amount_is_not_the_payers_to_choose() -> None:
    assert begin(make_link(), amount=Decimal("0.01")).fiat_amount == 10_000


@pytest.mark.parametrize(("network", "coin"), [(STELLAR, "USDC"), (ETHEREUM, "DAI"), ("bitcoin", "USDC")])
def test_a_coin_or_network_that_is_not_offered_is_refused(network: str, coin: str) -> None:
    link = make_link(wallets={ETHEREUM: WALLETS[ETHEREUM]}, coins=["USDC"])
    with pytest.raises(InvalidParameter) as refused:
        begin(link, network, coin)
    assert refused.value.param == "choice"
    assert not Payment.objects.exists()


def test_without_a_rate_nothing_is_made_and_the_form_can_be_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_rate(**_: Any) -> None:
        raise RateUnavailable

    link = make_link(max_uses=1)
    with monkeypatch.context() as patch:
        patch.setattr(services, "create_payment", no_rate)
        with pytest.raises(RateUnavailable):
            begin(link, form_id="a form")
    assert holding_a_use(link) == 0
    assert begin(link, form_id="a form").status == PaymentStatus.CREATED


def test_a_wallet_that_came_off_the_allow_list_is_paid_nothing_more() -> None:
    link = make_link()
    chosen = link.merchant.settings.get(environment=SANDBOX)
    chosen.wallet_allow_list = [address_named(ETHEREUM, "the merchant's new wallet")]
    chosen.save()
    with pytest.raises(WalletNotAllowed):
        begin(link)


WRONG: list[tuple[dict[str, Any], str | None]] = [
    ({"wallets": {}}, "merchantWallets"),
    ({"wallets": {ETHEREUM: "0x12"}}, "merchantWallets.ethereum"),
    ({"wallets": {POLYGON: WALLETS[STELLAR]}}, "merchantWallets.polygon"),
    ({"amount": "1.005"}, "amount"),
    ({"min_amount": Decimal(1)}, "minAmount"),
    ({"amount": None, "min_amount": Decimal(9), "max_amount": Decimal(8)}, "maxAmount"),
    ({"environment": Environment.PRODUCTION, "wallets": {ETHEREUM: WALLETS[ETHEREUM]}}, "merchantWallets.ethereum"),
    ({"environment": Environment.PRODUCTION, "wallets": {ETHEREUM: SANDBOX_WALLET}}, "merchantWallets.ethereum"),
    ({"expires_at": timezone.now() - timedelta(seconds=1)}, "expiresAt"),
]


@pytest.mark.parametrize(("fields", "param"), WRONG, ids=lambda each: str(each)[:40])
def test_a_link_that_could_not_be_paid_is_not_made(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(DomainError) as refused:
        make_link(make_merchant(), **fields)
    assert refused.value.param == param
    assert not PaymentLink.objects.exists()


def test_a_change_leaves_earlier_payments_as_they_are() -> None:
    link = make_link(max_uses=2, metadata={"tour": "noon"})
    before = begin(link)
    link = update_link(link, {"metadata": {"tour": "sunset"}, "max_uses": 1, "expires_in": 120})
    assert now(before).metadata == {"tour": "noon"}
    with pytest.raises(LinkNotActive):  # fewer than there were: it is used up
        begin(link)
    update_link(link, {"max_uses": None})
    assert begin(link).expires_in == 120
