"""Every page that exists, with who looks at it and what they do there: the tests and the screenshots walk this list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from playwright.sync_api import Page

from payments.models import Payment
from tests.browser.scenes import Scenes
from tests.refunds.scenes import wallet

Viewer = Literal["nobody", "owner", "newcomer", "beginner"]
_ON_THE_DASHBOARD = ("completed", "created", "pending", "overpaid", "cancelled")


@dataclass(frozen=True)
class Stop:
    """One page of the walk; `act` is done there before it is looked at."""

    name: str
    path: str
    viewer: Viewer = "owner"
    act: Callable[[Page], None] | None = None
    status: int = 200


def every_page(scenes: Scenes) -> list[Stop]:
    payments = scenes.payments
    key_id = scenes.merchant.api_keys.earliest("id").public_id
    return [
        Stop("log-in", "/login", "nobody"),
        Stop("log-in-refused", "/login", "nobody", _fail_to_log_in),
        Stop("not-found", "/nothing-here", "nobody", status=404),
        Stop("api-reference", "/docs/api", "nobody", _wait_for_the_reference),
        Stop("home", "/dashboard"),
        Stop("home-first-steps", "/dashboard", "newcomer"),
        Stop("payments", "/dashboard/payments"),
        Stop("payments-none", "/dashboard/payments", "newcomer"),
        Stop("payments-no-match", "/dashboard/payments?status=refunded"),
        *(Stop(f"payment-{state}", f"/dashboard/payments/{payments[state].public_id}") for state in _ON_THE_DASHBOARD),
        *_refund_pages(scenes),
        *_settlement_pages(scenes),
        Stop("keys", "/dashboard/keys"),
        Stop("keys-none", "/dashboard/keys", "newcomer"),
        Stop("key-form", "/dashboard/keys/new"),
        Stop("key-form-refused", "/dashboard/keys/new", "owner", _ask_for_a_bad_key),
        Stop("key-issued", "/dashboard/keys/new", "beginner", generate_key),
        Stop("key-delete", f"/dashboard/keys/{key_id}/delete"),
        *_webhook_pages(scenes),
        Stop("settings", "/dashboard/settings"),
        Stop("settings-refused", "/dashboard/settings", "owner", _settle_at_a_bad_time),
        Stop("settings-new", "/dashboard/settings", "newcomer"),
        Stop("home-production", "/dashboard", "beginner", _switch_to_production),
        *(Stop(f"pay-{state}", f"/pay/{payment.public_id}", "nobody") for state, payment in payments.items()),
        *_payer_claim_pages(scenes),
        Stop("pay-completed-on-paper", f"/pay/{payments['completed'].public_id}", "nobody", _put_on_paper),
    ]


def _refund_pages(scenes: Scenes) -> list[Stop]:
    refundable = f"/dashboard/payments/{scenes.refunds.refundable.public_id}"
    with_surplus = f"/dashboard/payments/{scenes.refunds.with_surplus.public_id}"
    unpaid = f"/dashboard/payments/{scenes.payments['created'].public_id}"
    claims = scenes.refunds.claims
    return [
        Stop("refunds", "/dashboard/refunds"),
        Stop("refunds-none", "/dashboard/refunds", "newcomer"),
        Stop("refunds-no-match", "/dashboard/refunds?status=completed&end=2020-01-01"),
        *(
            Stop(f"refund-{state}", f"/dashboard/refunds/{each.public_id}")
            for state, each in scenes.refunds.refunds.items()
        ),
        Stop("payment-refundable", refundable),
        Stop("refund-form", f"{refundable}/refund"),
        Stop("refund-form-with-suspense", f"{with_surplus}/refund"),
        Stop("refund-form-refused", f"{refundable}/refund", "owner", _refund_too_much),
        Stop("refund-form-nothing", f"{unpaid}/refund"),
        *(Stop(f"claim-{state}", path, "nobody") for state, path in claims.items()),
        Stop("claim-refused", claims["asks"], "nobody", _give_a_bad_address),
        Stop("claim-confirm", claims["asks_for_a_memo"], "nobody", _give_an_address),
    ]


def _payer_claim_pages(scenes: Scenes) -> list[Stop]:
    created, pending, wrong = (scenes.payments[state] for state in ("created", "pending", "wrong_token"))
    claim = f"/pay/{created.public_id}/claim"
    return [
        Stop("pay-nothing-shows", f"/pay/{created.public_id}", "nobody", _open_claims),
        Stop("pay-claim", claim, "nobody"),
        Stop("pay-claim-refused", claim, "nobody", _look_up_an_address),
        Stop("pay-claim-unknown", claim, "nobody", _look_up("0x" + "ab" * 32)),
        *(
            Stop(f"pay-claim-{state}", f"/pay/{payment.public_id}/claim", "nobody", _look_up(_paid_by(payment)))
            for state, payment in {"confirming": pending, "wrong-token": wrong}.items()
        ),
    ]


def _paid_by(payment: Payment) -> str:
    return payment.deposits.latest("id").transaction_hash


def _look_up(transaction_hash: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.get_by_label("Transaction hash").fill(transaction_hash)
        page.get_by_role("button", name="Look it up").click()
        page.locator(".state__title").wait_for()

    return act


def _look_up_an_address(page: Page) -> None:
    page.get_by_label("Transaction hash").fill("0x52908400098527886E0F7030069857D2E4169EE7")
    page.get_by_role("button", name="Look it up").click()
    page.get_by_text("This is an address.").wait_for()


def _open_claims(page: Page) -> None:
    page.locator("summary", has_text="Paid, but nothing shows?").click()


def _settlement_pages(scenes: Scenes) -> list[Stop]:
    settlements = {state: f"/dashboard/settlements/{each.public_id}" for state, each in scenes.settlements.items()}
    return [
        Stop("settlements", "/dashboard/settlements"),
        Stop("settlements-none", "/dashboard/settlements", "newcomer"),
        Stop("settlements-no-match", "/dashboard/settlements?status=completed&end=2020-01-01"),
        Stop("settle-now", "/dashboard/settlements/now"),
        Stop("settle-now-nothing", "/dashboard/settlements/now", "newcomer"),
        *(Stop(f"settlement-{state}", address) for state, address in settlements.items()),
        Stop("settlement-wallet-refused", settlements["failed"], "owner", _pay_a_bad_wallet, status=200),
    ]


def _webhook_pages(scenes: Scenes) -> list[Stop]:
    endpoints, deliveries = scenes.webhooks.endpoints, scenes.webhooks.deliveries
    enabled = f"/dashboard/webhooks/{endpoints['enabled'].public_id}"
    return [
        Stop("webhooks", "/dashboard/webhooks"),
        Stop("webhooks-none", "/dashboard/webhooks", "newcomer"),
        Stop("webhook-form", "/dashboard/webhooks/new"),
        Stop("webhook-form-refused", "/dashboard/webhooks/new", "owner", _ask_for_a_bad_webhook),
        Stop("webhook-added", "/dashboard/webhooks/new", "beginner", add_webhook),
        Stop("webhook-payments-secret", "/dashboard/webhooks/signing-secret"),
        *(Stop(f"webhook-{state}", f"/dashboard/webhooks/{each.public_id}") for state, each in endpoints.items()),
        Stop("webhook-edit", f"{enabled}/edit"),
        Stop("webhook-rotate", f"{enabled}/rotate"),
        Stop("webhook-rotated", f"{enabled}/rotate", "owner", _rotate),
        Stop("webhook-disable", f"{enabled}/disable"),
        Stop("webhook-delete", f"{enabled}/delete"),
        Stop("deliveries", "/dashboard/deliveries"),
        Stop("deliveries-none", "/dashboard/deliveries", "newcomer"),
        Stop("deliveries-no-match", "/dashboard/deliveries?type=payment.reversed&start=2020-01-01"),
        *(Stop(f"delivery-{state}", f"/dashboard/deliveries/{each.public_id}") for state, each in deliveries.items()),
        Stop("delivery-as-sent", f"/dashboard/deliveries/{deliveries['delivered'].public_id}", "owner", _open_as_sent),
    ]


def log_in(page: Page, email: str, password: str) -> None:
    page.goto("/login")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/dashboard")


def generate_key(page: Page, name: str = "Web shop") -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Generate").click()
    page.get_by_role("heading", name="is ready").wait_for()


def add_webhook(page: Page, url: str = "https://northlight.example/ballast") -> None:
    page.get_by_role("textbox", name="Address").fill(url)
    page.get_by_role("button", name="Add").click()
    page.get_by_role("heading", name="is ready").wait_for()


def _ask_for_a_bad_webhook(page: Page) -> None:
    page.get_by_role("textbox", name="Address").fill("http://10.0.0.8/inside")
    page.get_by_label("Everything").uncheck()
    page.get_by_label("payment.completed").check()
    page.get_by_role("button", name="Add").click()
    page.get_by_text("Must be a public address").wait_for()


def _rotate(page: Page) -> None:
    page.get_by_role("button", name="Make a new secret").click()
    page.get_by_role("heading", name="is ready").wait_for()


def _open_as_sent(page: Page) -> None:
    page.get_by_text("as they are sent and signed").click()


def _refund_too_much(page: Page) -> None:
    page.get_by_label("Amount").fill("5000")
    page.get_by_label("To another address").fill("my wallet")
    page.get_by_role("button", name="Refund", exact=True).click()
    page.locator(".field__error").first.wait_for()


def _give_a_bad_address(page: Page) -> None:
    page.get_by_label("Your address").fill("0x52908400098527886e0F7030069857D2E4169EE7")
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("was probably mistyped").wait_for()


def _give_an_address(page: Page) -> None:
    page.get_by_label("Your address").fill(wallet())
    page.get_by_label("Memo").fill("7341")
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("It goes to this address").wait_for()


def _pay_a_bad_wallet(page: Page) -> None:
    page.get_by_label("Another wallet").fill("my wallet")
    page.get_by_role("button", name="Pay this wallet instead").click()
    page.locator(".field__error").wait_for()


def _settle_at_a_bad_time(page: Page) -> None:
    page.get_by_label("How often").select_option("monthly")
    page.get_by_label("On day").fill("32")
    page.get_by_label("Time zone").fill("Moon/Base")
    page.get_by_role("button", name="Save").click()
    page.locator(".field__error").first.wait_for()


def _put_on_paper(page: Page) -> None:
    page.emulate_media(media="print")


def _wait_for_the_reference(page: Page) -> None:
    page.get_by_text("Create a payment", exact=True).wait_for()


def _switch_to_production(page: Page) -> None:
    page.get_by_role("button", name="Production").click()
    page.get_by_text("Sandbox: no real money").wait_for(state="detached")


def _fail_to_log_in(page: Page) -> None:
    page.get_by_label("E-mail address").fill("jo@harbourcoffee.example")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()


def _ask_for_a_bad_key(page: Page) -> None:
    page.get_by_label("Allowed IP addresses").fill("the office")
    page.get_by_role("button", name="Generate").click()
    page.get_by_text("is not an IP address").wait_for()
