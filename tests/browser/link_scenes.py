"""Payment links in every state, and the pages that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

from django.utils import timezone
from playwright.sync_api import Page

from config.environments import Environment
from merchants.models import Merchant
from payments.checkout.simulator import simulate_payment
from payments.links.models import PaymentLink
from payments.links.services import NewLink, begin_payment, create_link, update_link
from payments.services import choose
from tests.payments.choosing import make_open
from tests.payments.scenes import WALLETS

LinkPage = tuple[str, str, Literal["nobody", "owner", "newcomer"], Callable[[Page], None] | None]


def make_link(merchant: Merchant, *, amount: str | None = "48.50", **fields: Any) -> PaymentLink:
    asked: dict[str, Any] = {
        "description": "Sunset tour of the harbour, one seat",
        "currency": "EUR",
        "wallets": WALLETS,
        **fields,
    }
    request = NewLink(amount=None if amount is None else Decimal(amount), **asked)
    return create_link(merchant=merchant, environment=Environment.SANDBOX, request=request)


def link_pages(merchant: Merchant) -> Iterator[LinkPage]:
    """Name, path, who looks, and what is done there."""
    tour = make_link(merchant, max_uses=40, note="Printed for the pier", metadata={"tour": "sunset"})
    donation = make_link(
        merchant, amount=None, description="Keep the lighthouse lit", min_amount=Decimal(5), max_amount=Decimal(500)
    )
    gone = make_link(merchant, max_uses=1, wallets={"polygon": WALLETS["polygon"]}, coins=["USDC"])
    closed = update_link(make_link(merchant, description="Last winter’s calendar"), {"enabled": False})
    over = make_link(merchant, expires_at=timezone.now() + timedelta(hours=1))
    PaymentLink.objects.filter(pk=over.pk).update(expires_at=timezone.now())
    begun = begin_payment(tour, form_id="begun", network="polygon", coin="USDC")
    simulate_payment(begin_payment(tour, form_id="paid", network="ethereum", coin="DAI"), "exact")

    own = f"/dashboard/links/{tour.public_id}"
    yield "take-payment", "/dashboard/payments/new", "owner", None
    yield "take-payment-new", "/dashboard/payments/new", "newcomer", None
    yield "take-payment-refused", "/dashboard/payments/new", "newcomer", _press("Take the payment")
    yield "show-to-payer", f"/dashboard/payments/{begun.public_id}/show", "owner", None
    yield "links", "/dashboard/links", "owner", None
    yield "links-none", "/dashboard/links", "newcomer", None
    yield "links-no-match", "/dashboard/links?q=nothing+like+it", "owner", None
    yield "link-form", "/dashboard/links/new", "owner", None
    yield "link-form-refused", "/dashboard/links/new", "newcomer", _press("Create the link")
    yield "link", own, "owner", None
    yield "link-open-amount", f"/dashboard/links/{donation.public_id}", "owner", None
    yield "link-disabled", f"/dashboard/links/{closed.public_id}", "owner", None
    yield "link-edit", f"{own}/edit", "owner", None
    yield "link-poster", f"{own}/poster", "owner", None
    yield "payer-link", f"/link/{tour.code}", "nobody", None
    yield "payer-link-open-amount", f"/link/{donation.code}", "nobody", None
    yield "payer-link-bad-amount", f"/link/{donation.code}", "nobody", _enter("1,000.00")
    yield "payer-link-one-coin", f"/link/{gone.code}", "nobody", None
    yield "payer-link-again", f"/link/{tour.code}?instead_of={begun.public_id}", "nobody", None
    yield "payer-link-disabled", f"/link/{closed.code}", "nobody", None
    yield "payer-link-expired", f"/link/{over.code}", "nobody", None
    yield "payer-link-begun-elsewhere", f"/link/{gone.code}", "nobody", _begin_meanwhile(gone)
    yield "pay-choice", f"/pay/{make_open(merchant=merchant).public_id}", "nobody", None
    chosen = choose(make_open(merchant=merchant), network="polygon", coin="USDT")
    yield "pay-choose-again", f"/pay/{chosen.public_id}/choose", "nobody", None
    by_memo = choose(make_open(merchant=merchant), network="stellar", coin="USDC")
    yield "pay-from-exchange", f"/pay/{by_memo.public_id}", "nobody", _open("I pay from an exchange")
    yield "pay-of-link", f"/pay/{begun.public_id}", "nobody", _open("Pay with another coin or network?")


def _press(name: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.get_by_role("button", name=name).click()
        page.locator(".field__error").first.wait_for()

    return act


def _enter(amount: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.get_by_label("Amount in EUR").fill(amount)
        page.get_by_label("USDC on Polygon").check()
        page.get_by_role("button", name="Continue to payment").click()
        page.locator(".field__error").first.wait_for()

    return act


def _begin_meanwhile(link: PaymentLink) -> Callable[[Page], None]:
    """In another tab the payer has chosen already."""

    def act(page: Page) -> None:
        tab = page.context.new_page()
        tab.goto(page.url)
        tab.get_by_role("button", name="Continue to payment").click()
        tab.locator("[data-checkout]").wait_for()
        tab.close()
        page.get_by_role("button", name="Continue to payment").click()
        page.get_by_text("You have already started this payment").wait_for()

    return act


def _open(summary: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_text(summary).click()
