"""Every page that exists, with who looks at it and what they do there: tests and screenshots walk these lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import Page

from merchants.request_log.models import LoggedRequest
from merchants.request_log.recording import RECORDER
from payments.models import Discrepancy, Payment
from payments.suspense.payer_proofs import return_link
from tests.browser.link_scenes import link_pages
from tests.browser.people_pages import people_pages
from tests.browser.scenes import Scenes
from tests.factories import api_client, make_key
from tests.networks import STELLAR
from tests.payments.test_giving_back import come
from tests.refunds.filing import preview
from tests.refunds.scenes import wallet
from tests.settlements.page_scenes import make_invoice

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


def every_page_outside(scenes: Scenes) -> list[Stop]:
    """Pages that are not the dashboard of a merchant: of people, of payers, the reference."""
    payments = scenes.payments
    return [
        Stop("log-in", "/login", "nobody"),
        Stop("log-in-refused", "/login", "nobody", _fail_to_log_in),
        *(Stop(name, path, viewer, act, status) for name, path, viewer, act, status in people_pages()),
        Stop("not-found", "/nothing-here", "nobody", status=404),
        Stop("docs", "/docs", "nobody"),
        Stop("docs-installing", "/docs/installing", "nobody"),
        Stop("docs-search", "/docs/search?q=cold+wallet", "nobody"),
        Stop("api-reference", "/docs/api", "nobody"),
        Stop("api-reference-payments", "/docs/api/payments", "nobody", _open_try_it),
        Stop("api-reference-events", "/docs/api/webhook-events", "nobody"),
        Stop("api-reference-signing", "/docs/api/signing", "nobody"),
        Stop("api-reference-errors", "/docs/api/errors", "nobody"),
        *(Stop(f"pay-{state}", f"/pay/{payment.public_id}", "nobody") for state, payment in payments.items()),
        *_payer_claim_pages(scenes),
        *_return_pages(),
        Stop("receipt", f"/pay/{payments['completed'].public_id}/receipt", "nobody"),
        Stop("receipt-check", "/receipts/verify", "nobody"),
        Stop("receipt-check-refused", "/receipts/verify", "nobody", _check_a_receipt),
        Stop("pay-completed-on-paper", f"/pay/{payments['completed'].public_id}", "nobody", _put_on_paper),
        Stop("receipt-on-paper", f"/pay/{payments['completed'].public_id}/receipt", "nobody", _put_on_paper),
    ]


_ASKED = (
    "name=WooCommerce&scopes=payments:write,refunds:write,webhooks:write&state=of-a-session"
    "&redirectUrl=https://a-long-name-of-a-shop.harbour-coffee.example/wp-admin/admin-post.php"
    "&webhookUrl=https://a-long-name-of-a-shop.harbour-coffee.example/wc-api/ballast"
    f"&codeChallenge={'a' * 43}"
)
"""What an application asks a member for."""


def every_page_of_the_dashboard(scenes: Scenes) -> list[Stop]:
    """Pages of a merchant, with what payers see of its refunds and links."""
    payments = scenes.payments
    key_id = scenes.merchant.api_keys.earliest("id").public_id
    return [
        Stop("home", "/dashboard"),
        Stop("home-first-steps", "/dashboard", "newcomer"),
        Stop("first-steps", "/dashboard/first-steps"),
        Stop("palette", "/dashboard", "owner", _search_in_the_palette),
        Stop("payments", "/dashboard/payments"),
        Stop("payments-filtered", "/dashboard/payments?network=polygon&least=50", "owner", _save_the_view),
        Stop("payments-range-refused", "/dashboard/payments?start=2026-03-02&end=2026-03-01"),
        Stop("export", "/dashboard/payments", "owner", _export),
        Stop("home-all-pages", "/dashboard", "owner", _open_the_navigation),
        Stop("payments-none", "/dashboard/payments", "newcomer"),
        Stop("payments-no-match", "/dashboard/payments?status=refunded"),
        *(Stop(f"payment-{state}", f"/dashboard/payments/{payments[state].public_id}") for state in _ON_THE_DASHBOARD),
        *(Stop(*page) for page in link_pages(scenes.merchant)),
        *_decision_pages(scenes),
        *_refund_pages(scenes),
        *_settlement_pages(scenes),
        Stop("quick-start", "/dashboard/developers"),
        Stop("quick-start-python", "/dashboard/developers?language=python", "newcomer"),
        Stop("webhook-bench", "/dashboard/webhooks/bench", "owner", _check_a_signature),
        Stop("webhook-bench-none", "/dashboard/webhooks/bench", "newcomer"),
        Stop("keys", "/dashboard/keys"),
        Stop("keys-none", "/dashboard/keys", "newcomer"),
        Stop("key-form", "/dashboard/keys/new"),
        Stop("key-form-refused", "/dashboard/keys/new", "owner", _ask_for_a_bad_key),
        Stop("key-issued", "/dashboard/keys/new", "beginner", generate_key),
        Stop("key-rotate", f"/dashboard/keys/{key_id}/rotate"),
        Stop("key-delete", f"/dashboard/keys/{key_id}/delete"),
        Stop("connect", f"/dashboard/connect?{_ASKED}"),
        Stop("connect-refused", "/dashboard/connect?name=Shop&redirectUrl=http://shop.example", status=400),
        *_webhook_pages(scenes),
        *_wallet_pages(scenes),
        *_request_pages(scenes),
        Stop("settings", "/dashboard/settings"),
        Stop("branding", "/dashboard/settings/branding"),
        Stop("branding-tried", "/dashboard/settings/branding?accent=%23e0a800&name=Harbour"),
        Stop("policy", "/dashboard/settings/policy"),
        Stop("policy-tried", "/dashboard/settings/policy?payment_tolerance=0.50&late_payments=accept"),
        Stop("policy-refused", "/dashboard/settings/policy?payment_tolerance=9&late_payments=accept", status=400),
        Stop("settings-refused", "/dashboard/settings", "owner", _settle_at_a_bad_time),
        Stop("settings-new", "/dashboard/settings", "newcomer"),
        Stop("home-production", "/dashboard", "beginner", _switch_to_production),
    ]


def _wallet_pages(scenes: Scenes) -> list[Stop]:
    return [
        Stop("wallets", "/dashboard/wallets"),
        Stop("wallets-none", "/dashboard/wallets", "newcomer"),
        Stop("wallet-set", "/dashboard/wallets/set"),
        Stop("wallet-lost", "/dashboard/wallets/lost"),
        Stop("wallet-lost-none", "/dashboard/wallets/lost", "newcomer"),
        Stop("wallet-set-refused", "/dashboard/wallets/set", "owner", _press_main, 200),
        Stop("wallet-prove", f"/dashboard/wallets/{scenes.wallet.public_id}/prove"),
        Stop("wallet-prove-refused", f"/dashboard/wallets/{scenes.wallet.public_id}/prove", "owner", _press_main, 200),
    ]


def _request_pages(scenes: Scenes) -> list[Stop]:
    """The log of API requests, with one that was accepted and one that was refused."""
    key = make_key(scenes.merchant, name="Web shop")
    shop = api_client(key)
    shop.call("GET", f"/payments/{scenes.payments['completed'].public_id}")
    shop.call("POST", "/payments", json_body={"amount": 12.5, "metadata": {"session_token": "a secret"}})
    RECORDER.flush()
    logged = LoggedRequest.objects.of(scenes.merchant, key.key.environment).latest("pk")
    return [
        Stop("requests", "/dashboard/requests"),
        Stop("requests-no-match", "/dashboard/requests?path=nowhere"),
        Stop("requests-none", "/dashboard/requests", "newcomer"),
        Stop("request", f"/dashboard/requests/{logged.public_id}"),
    ]


def _decision_pages(scenes: Scenes) -> list[Stop]:
    found = Discrepancy.objects.filter(merchant=scenes.merchant, status="open").order_by("id")
    surplus, short = found.filter(kind="overpaid")[0], found.filter(kind="underpaid")[0]
    return [
        Stop("decisions", "/dashboard/decisions"),
        Stop("decisions-none", "/dashboard/decisions", "newcomer"),
        Stop("decisions-no-match", "/dashboard/decisions?kind=wrong_network"),
        Stop("decision-accept", f"/dashboard/decisions/{short.public_id}/accept"),
        Stop("decision-accept-refused", f"/dashboard/decisions/{short.public_id}/accept", "owner", _press_main, 200),
        Stop("decision-give-back", f"/dashboard/decisions/{surplus.public_id}/give-back"),
        Stop("payment-late", f"/dashboard/payments/{scenes.payments['late'].public_id}"),
    ]


def _press_main(page: Page) -> None:
    """Press the page's main button and wait for what comes of it."""
    with page.expect_navigation():
        page.locator("main .button--primary").last.click()


def _upload_a_bad_file(page: Page) -> None:
    content = b"payment,amount\npay_1,5\npay_2,five\n"
    page.locator("input[type=file]").set_input_files({"name": "refunds.csv", "mimeType": "text/csv", "buffer": content})
    _press_main(page)


def _refund_pages(scenes: Scenes) -> list[Stop]:
    refundable = f"/dashboard/payments/{scenes.refunds.refundable.public_id}"
    with_surplus = f"/dashboard/payments/{scenes.refunds.with_surplus.public_id}"
    unpaid = f"/dashboard/payments/{scenes.payments['created'].public_id}"
    claims = scenes.refunds.claims
    batch = preview(scenes.payments["completed"], scenes.payments["overpaid"])
    return [
        Stop("refunds", "/dashboard/refunds"),
        Stop("refunds-file", "/dashboard/refunds/file"),
        Stop("refunds-file-refused", "/dashboard/refunds/file", "owner", _upload_a_bad_file, 200),
        Stop("refunds-file-preview", f"/dashboard/refunds/file/{batch.public_id}"),
        Stop("refunds-file-running", f"/dashboard/refunds/file/{batch.public_id}", "owner", _press_main, 200),
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


def _return_pages() -> list[Stop]:
    """Where the sender of money of no payment asks it back: the address, the message to sign, and a wrong signature."""
    path, other = (urlsplit(return_link(come(STELLAR))).path for _ in range(2))
    return [
        Stop("return", path, "nobody"),
        Stop("return-sign", path, "nobody", _ask_it_back),
        Stop("return-refused", path, "nobody", _sign_wrongly),
        Stop("return-asked", other, "nobody", _sign_with_the_simulated_wallet),
    ]


def _ask_it_back(page: Page) -> None:
    page.get_by_label("Your address on Stellar").fill(wallet(STELLAR))
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("Sign this message").wait_for()


def _sign_wrongly(page: Page) -> None:
    _ask_it_back(page)
    page.get_by_label("Signature").fill("nonsense")
    page.get_by_role("button", name="Get it back").click()
    page.locator(".field__error").wait_for()


def _sign_with_the_simulated_wallet(page: Page) -> None:
    if page.get_by_text("We are checking your request").count():
        return  # at another width before
    _ask_it_back(page)
    page.get_by_role("button", name="Sign with the simulated wallet").click()
    page.get_by_text("We are checking your request").wait_for()


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
        Stop("statements", "/dashboard/statements"),
        Stop("statement-of-a-month", "/dashboard/statements/month"),
        Stop("invoices", "/dashboard/invoices"),
        Stop("invoices-none", "/dashboard/invoices", "newcomer"),
        Stop("invoice", f"/dashboard/invoices/{make_invoice(scenes.merchant).public_id}"),
        Stop("billing", "/dashboard/invoices/billing"),
        Stop("billing-refused", "/dashboard/invoices/billing", "newcomer", _press_main, 200),
        Stop("statement-of-a-month-none", "/dashboard/statements/month", "newcomer"),
        Stop("settle-now", "/dashboard/settlements/now"),
        Stop("settle-now-nothing", "/dashboard/settlements/now", "newcomer"),
        *(Stop(f"settlement-{state}", address) for state, address in settlements.items()),
        Stop("settlement-statement", f"{settlements['completed']}/print"),
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
        Stop("webhook-recover", f"{enabled}/recover"),
        Stop("webhook-recover-disabled", f"/dashboard/webhooks/{endpoints['disabled'].public_id}/recover"),
        Stop("webhook-recover-refused", f"{enabled}/recover?since=2999-01-01T00:00", status=400),
        Stop("webhook-disable", f"{enabled}/disable"),
        Stop("webhook-delete", f"{enabled}/delete"),
        Stop("deliveries", "/dashboard/deliveries"),
        Stop("deliveries-none", "/dashboard/deliveries", "newcomer"),
        Stop("deliveries-no-match", "/dashboard/deliveries?type=payment.reversed&start=2020-01-01"),
        *(Stop(f"delivery-{state}", f"/dashboard/deliveries/{each.public_id}") for state, each in deliveries.items()),
        Stop("delivery-as-sent", f"/dashboard/deliveries/{deliveries['delivered'].public_id}", "owner", _open_as_sent),
    ]


def log_in(page: Page, email: str, password: str, *, leads_to: str = "/dashboard") -> None:
    page.goto("/login")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in", exact=True).click()
    wait_for_path(page, leads_to)


def wait_for_path(page: Page, path: str) -> None:
    """Wait until the page at this path has loaded, whatever its address says after a `?`."""
    page.wait_for_url(lambda address: urlsplit(address).path == path)


def content_of(page: Page) -> str:
    """The page's HTML once it has loaded: what an action waits for may stand in a page of which half has come."""
    page.wait_for_load_state()
    return page.content()


def generate_key(page: Page, name: str = "Web shop") -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Everything the API can do").check()
    page.get_by_role("button", name="Create").click()
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
    page.get_by_role("button", name="Create a new secret").click()
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
    page.get_by_role("textbox", name="Memo").fill("7341")
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("The money goes to this address").wait_for()


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


def _open_the_navigation(page: Page) -> None:
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Settings").wait_for()


def _search_in_the_palette(page: Page) -> None:
    page.keyboard.press("/")
    page.get_by_role("combobox", name="A page, or any text").fill("1250.00")
    page.get_by_role("option", name="1,250.00 EUR").first.wait_for()


def _save_the_view(page: Page) -> None:
    page.get_by_text("Save this view").click()
    page.get_by_label("Name of the view").fill("Polygon, large")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Polygon, large").wait_for()


def _export(page: Page) -> None:
    page.get_by_role("button", name="Export as CSV").click()
    page.get_by_text("payments are written.").wait_for()


def _put_on_paper(page: Page) -> None:
    page.emulate_media(media="print")


def _check_a_receipt(page: Page) -> None:
    page.fill("[name=text]", "{}")
    _press_main(page)


def _check_a_signature(page: Page) -> None:
    pasted = {"webhook-id": "evt_1", "webhook-timestamp": "1795000000", "webhook-signature": "v1", "Body": "{}"}
    for label, text in pasted.items():
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Check it").click()
    page.get_by_text("It does not verify").wait_for()


def _open_try_it(page: Page) -> None:
    page.get_by_text("Try it in the sandbox").first.click()
    page.get_by_role("button", name="Send").first.wait_for()


def _switch_to_production(page: Page) -> None:
    page.get_by_role("button", name="Business and environment").click()
    page.get_by_role("button", name="Production", exact=True).click()
    page.get_by_text("Sandbox: no real money").wait_for(state="detached")


def _fail_to_log_in(page: Page) -> None:
    page.get_by_label("E-mail address").fill("jo@harbourcoffee.example")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_role("alert").wait_for()


def _ask_for_a_bad_key(page: Page) -> None:
    page.get_by_label("Allowed IP addresses").fill("the office")
    page.get_by_role("button", name="Create").click()
    page.get_by_text("is not an IP address").wait_for()
