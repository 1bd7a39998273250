"""The hosted payment page: what a payer sees in each state, and what nobody may see there."""

from __future__ import annotations

import base64
import dataclasses
import re
from datetime import timedelta
from html import unescape
from io import BytesIO
from typing import Any

import pytest
import zxingcpp
from django.test import Client
from django.utils import timezone
from PIL import Image
from stellar_sdk.sep.stellar_uri import PayStellarUri

from config import ids
from merchants.models import Branding
from payments.chains import registry
from payments.chains.simulated.networks import PASSPHRASE
from payments.checkout.payer import Notice, PayerView, State, look_at
from payments.checkout.paying import HowToPay, WalletTransfer
from payments.checkout.simulator import simulate_payment
from payments.models import Deposit, Payment
from payments.services import cancel_payment
from tests.dashboard.paying import make, page_of, view_of
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    confirm,
    end_window,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    pay_without_memo,
)

pytestmark = pytest.mark.django_db

SHOP = "https://shop.example/thanks?order=4711"


def status_of(payment: Payment) -> dict[str, Any]:
    reply: dict[str, Any] = Client().get(f"/pay/{payment.public_id}/status").json()
    return reply


def decoded(data_uri: str) -> str:
    image = Image.open(BytesIO(base64.b64decode(data_uri.removeprefix("data:image/png;base64,"))))
    [code] = zxingcpp.read_barcodes(image.convert("L"))
    text: str = code.text
    return text


def test_nothing_but_the_allowed_fields_leaves() -> None:
    allowed: dict[type, set[str]] = {
        PayerView: {
            "id", "sandbox", "payee", "status", "state", "notices", "fiat_amount", "amount", "coin", "coin_name",
            "network", "how_to_pay", "expires_at", "seconds_left", "poll_seconds", "receipt", "details",
            "redirect_url", "redirect_host", "purpose", "items", "is_paid", "help_url", "has_receipt", "again_url",
            "choice",
        },
        State: {"title", "detail", "tone", "icon", "waiting", "confirmations", "required"},
        Notice: {"title", "words"},
        HowToPay: {
            "amount", "address", "memo", "muxed", "issuer", "qr", "qr_has_amount", "payment_uri", "wallet",
            "exchange_names",
        },
        WalletTransfer: {
            "family", "chain_id", "passphrase", "network", "token", "recipient", "units", "native", "rpc_url", "seen",
        },
    }  # fmt: skip
    for kind, names in allowed.items():
        assert {field.name for field in dataclasses.fields(kind)} == names


@pytest.mark.parametrize("path", ["/pay/{}", "/pay/{}/status"])
def test_secrets_and_metadata_stay_inside(path: str) -> None:
    payment = make(
        metadata={"orderId": "order-4711", "note": "for their eyes only"},
        redirect_url=SHOP,
        webhook_url="https://hooks.example/secret-path",
    )
    for state in (payment, pay_and_confirm(payment)):
        text = unescape(Client().get(path.format(state.public_id)).text)
        for secret in (
            "order-4711",
            "orderId",
            "for their eyes only",
            "hooks.example",
            payment.merchant.email,
            payment.merchant.public_id,
            str(payment.merchant_id),
            payment.merchant_wallet,
            payment.rate_source,
            "tolerance",
        ):
            assert secret not in text


def test_the_template_is_given_the_view_and_nothing_else() -> None:
    response = Client().get(f"/pay/{make().public_id}")
    assert isinstance(response.context["payment"], PayerView)


@pytest.mark.parametrize("path", ["/pay/{}", "/pay/{}/status"])
def test_the_page_is_private_to_whoever_has_its_address(path: str) -> None:
    response = Client().get(path.format(make().public_id))
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert "noindex" in response.headers["X-Robots-Tag"]
    assert not response.cookies
    assert "unsafe" not in response.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/pay/{}", "/pay/{}/status"])
def test_unknown_ids_are_not_found_and_nothing_is_posted(path: str) -> None:
    for text in (ids.PAYMENT.encode(ids.new_uuid()), "pay_1", "ref_" + "0" * 26, "%00"):
        assert Client().get(path.format(text)).status_code == 404
    assert Client().post(path.format(make().public_id)).status_code == 405


def test_a_new_payment_says_exactly_what_to_send_and_where() -> None:
    payment = make(amount="48.50", currency="EUR")
    page, how = page_of(payment), view_of(payment).how_to_pay
    assert how is not None
    for words in (
        "Waiting for your payment",
        "Harbour Coffee",
        "48.50 EUR",
        "USDC on Polygon (simulated)",
        f'data-copy="{how.amount}"',
        f'data-copy="{payment.deposit_address}"',
        f'href="{payment.payment_uri}"',
        "Test payment: no real money",
        "Enter the amount yourself",
    ):
        assert words in page
    assert decoded(how.qr) == payment.deposit_address
    assert "The memo is required" not in page


def test_the_code_with_the_amount_is_a_second_choice() -> None:
    payment = make(POLYGON)
    page, how = page_of(payment), view_of(payment).how_to_pay
    assert how is not None
    assert decoded(how.qr_with_amount) == how.payment_uri == payment.payment_uri
    assert page.index(how.qr) < page.index(how.qr_with_amount)
    assert re.search(r'id="qr-address"\s+autocomplete="off"\s+checked', page)
    assert "MetaMask, Rainbow and Coinbase Wallet can read this code" in page
    assert f"your wallet must show {how.amount} USDC and this address" in page


def test_no_wallet_is_asked_to_pay_on_a_simulated_network() -> None:
    for network in (ETHEREUM, STELLAR):
        payment = make(network)
        how = view_of(payment).how_to_pay
        assert how is not None
        assert how.wallet is None
        assert "data-wallet" not in page_of(payment)


def test_stellar_insists_on_the_memo() -> None:
    payment = make(STELLAR)
    page, how = page_of(payment), view_of(payment).how_to_pay
    assert how is not None
    assert "The memo is required" in page
    assert "Without this memo your payment cannot be recognised." in page
    issuer = registry.asset(SANDBOX, STELLAR, "USDC").contract.partition(":")[2]
    for value in (payment.deposit_address, payment.memo, payment.muxed_address, issuer):
        assert f'data-copy="{value}"' in page
    assert re.search(r'id="qr-amount"\s+autocomplete="off"\s+checked', page)
    assert decoded(how.qr) == decoded(how.qr_with_amount) == payment.payment_uri
    assert decoded(how.qr_of_address) == payment.deposit_address


@pytest.mark.parametrize("coin", ["USDC", "USDT", "DAI"])
@pytest.mark.parametrize("paid", ["", "40.5"])
def test_every_link_of_stellar_is_read_by_the_library_as_the_page_says(coin: str, paid: str) -> None:
    payment = make(STELLAR, coin=coin, amount="100")
    if paid:
        payment = pay_and_confirm(payment, paid)
    how = view_of(payment).how_to_pay
    assert how is not None
    read = PayStellarUri.from_uri(how.payment_uri)
    assert (read.destination, read.asset_code, read.asset_issuer) == (payment.deposit_address, coin, how.issuer)
    assert (read.memo_type, read.memo) == ("MEMO_ID", int(payment.memo))
    assert (str(read.amount), read.network_passphrase) == (how.amount.rstrip("0").rstrip("."), PASSPHRASE)
    assert decoded(how.qr) == how.payment_uri
    assert f'href="{how.payment_uri}"' in page_of(payment)


def test_confirmations_are_counted_down() -> None:
    payment = make(ETHEREUM)
    pay(payment)
    mine_and_watch(ETHEREUM)
    state = view_of(payment).state
    assert state.title == "Payment seen, confirming"
    assert state.detail == "Seen in block 1. 1 of 3 confirmations, about 10 s left."
    assert (state.confirmations, state.required) == (1, 3)
    assert '<progress class="state__progress"' in page_of(payment)
    assert status_of(payment)["confirmations"] == 1
    mine_and_watch(ETHEREUM)
    assert status_of(payment)["confirmations"] == 2


def test_counting_on_finality_says_what_it_waits_for() -> None:
    payment = make(ETHEREUM, amount="5000")
    pay(payment)
    mine_and_watch(ETHEREUM)
    assert view_of(payment).state.detail.endswith("1 of 1 confirmations, waiting for the network to make it final.")


def test_short_money_asks_for_the_rest() -> None:
    payment = pay_and_confirm(make(STELLAR, amount="100"), "40.5")
    view = view_of(payment)
    assert view.state.title == "59.50 USDC is still missing"
    assert "40.50 USDC of 100.00 USDC has arrived." in view.state.detail
    assert view.how_to_pay is not None
    assert view.how_to_pay.amount == "59.50"
    assert "amount=59.5&" in view.how_to_pay.payment_uri
    assert decoded(view.how_to_pay.qr) == view.how_to_pay.payment_uri
    assert "Send the rest, exactly" in page_of(payment)


def test_what_is_asked_for_is_never_less_than_what_is_missing() -> None:
    payment = make(POLYGON, coin="DAI", amount="100")
    pay_and_confirm(payment, "40.0000000000000001")
    how = view_of(payment).how_to_pay
    assert how is not None
    assert how.amount == "60.00"


def test_the_second_half_on_its_way_is_not_asked_for_again() -> None:
    payment = pay_and_confirm(make(ETHEREUM, amount="100"), "40")
    pay(payment, "10")
    mine_and_watch(ETHEREUM)
    how = view_of(payment).how_to_pay
    assert how is not None
    assert how.amount == "50.00"


def test_the_time_left_is_what_the_network_has_needed_lately() -> None:
    for _ in range(5):
        pay(make(ETHEREUM))
    mine_and_watch(ETHEREUM, 10)
    for deposit in Deposit.objects.filter(network=ETHEREUM):
        assert deposit.credited_at
        Deposit.objects.filter(pk=deposit.pk).update(seen_at=deposit.credited_at - timedelta(seconds=95))
    payment = make(ETHEREUM)
    pay(payment)
    mine_and_watch(ETHEREUM)
    assert view_of(payment).state.detail.endswith("confirmations, about 2 min left.")


def test_a_paid_payment_thanks_and_shows_the_way_back() -> None:
    payment = make(redirect_url=SHOP)
    transaction_hash = pay(payment)
    confirm(payment)
    page = page_of(payment)
    assert "Paid. Thank you! " in page  # heard as two sentences, seen as a headline
    assert transaction_hash in page
    assert f'href="/pay/{payment.public_id}/receipt"' in page
    way_back = re.search(r'<a class="button[^>]*href="([^"]*)"\s+rel="noopener noreferrer">\s*([^<]*?)\s*</a>', page)
    assert way_back
    assert way_back.groups() == (SHOP, "Back to shop.example")
    assert "Open in wallet" not in page
    assert payment.deposit_address not in page
    assert view_of(payment).poll_seconds == 0


@pytest.mark.parametrize("status", ["partially_refunded", "refunded"])
def test_who_has_paid_goes_back_and_keeps_the_receipt_after_a_refund(status: str) -> None:
    payment = pay_and_confirm(make(redirect_url=SHOP))
    Payment.objects.filter(pk=payment.pk).update(status=status, refunded=1, returned=1)
    page = page_of(payment)
    assert "Back to shop.example" in page
    assert f'href="/pay/{payment.public_id}/receipt"' in page


@pytest.mark.parametrize("state", ["expired", "cancelled"])
def test_who_has_not_paid_finds_the_shop_and_its_help_but_not_the_page_for_success(state: str) -> None:
    payment = make(redirect_url=SHOP)
    assert "shop.example" not in page_of(payment)
    Branding.objects.create(merchant=payment.merchant, support="help@shop.example")
    end_window(payment) if state == "expired" else cancel_payment(payment)
    assert now(payment).status == state
    page = page_of(payment)
    assert SHOP.split("?")[0] not in page
    assert re.search(r'href="https://shop.example/"\s+rel="noopener noreferrer">\s*Back to shop.example', page)
    assert re.search(
        rf'href="mailto:help@shop.example\?subject={payment.public_id}"[^>]*>\s*Contact Harbour Coffee', page
    )


def test_an_address_that_is_none_of_the_web_is_no_way_back() -> None:
    payment = pay_and_confirm(make(redirect_url="javascript:alert(document.domain)"))
    assert "javascript:" not in page_of(payment)


def test_a_surplus_is_told() -> None:
    payment = pay_and_confirm(make(amount="100"), "125")
    view = view_of(payment)
    assert view.state.title == "Paid. Thank you!"
    assert [notice.title for notice in view.notices] == ["You sent 25.00 USDC too much"]


def test_an_expired_payment_takes_no_more_money() -> None:
    payment = end_window(make())
    page = page_of(payment)
    assert "This payment has expired" in page
    assert "Do not send money to its address any more." in page
    assert payment.deposit_address not in page


def test_a_window_that_has_just_ended_warns_before_the_chain_is_read() -> None:
    payment = make()
    Payment.objects.filter(pk=payment.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    view = view_of(payment)
    assert view.state.title == "The time to pay is over"
    assert view.how_to_pay is None
    assert view.seconds_left == 0


def test_late_money_is_acknowledged() -> None:
    payment = end_window(make(amount="100"))
    pay_and_confirm(payment)
    view = view_of(payment)
    assert view.state.title == "This payment has expired"
    assert [notice.title for notice in view.notices] == ["100.00 USDC arrived late"]


def test_too_little_in_the_end_says_where_the_money_is() -> None:
    payment = pay_and_confirm(make(amount="100"), "40")
    end_window(payment)
    view = view_of(payment)
    assert view.state.title == "Less than the full amount arrived in time"
    assert "It is safe." in view.state.detail
    assert view.how_to_pay is None
    assert view.notices == ()


def test_a_cancelled_payment_says_so() -> None:
    payment = cancel_payment(make())
    assert "Harbour Coffee cancelled it." in page_of(payment)


@pytest.mark.parametrize(
    ("coin", "network", "title"),
    [
        ("USDT", "", "100.00 USDT arrived, but it is the wrong coin"),
        ("", ETHEREUM, "100.00 USDC arrived on the wrong network"),
    ],
)
def test_money_that_went_astray_is_found(coin: str, network: str, title: str) -> None:
    payment = make(POLYGON, amount="100")
    pay_and_confirm(payment, "100", coin=coin, network=network)
    view = view_of(payment)
    assert (view.state.title, view.notices) == (title, ())
    assert "To pay, send 100.00 USDC on Polygon (simulated) to the address below." in view.state.detail
    assert view.how_to_pay is not None
    assert view.how_to_pay.amount == "100.00"


def test_nobody_is_told_of_money_without_a_memo() -> None:
    payment = make(STELLAR, amount="100")
    pay_without_memo(payment, "100")
    confirm(payment)
    assert view_of(payment).notices == ()


def test_the_revision_changes_with_what_is_shown_and_not_with_the_clock() -> None:
    payment = make(ETHEREUM)
    full = Payment.objects.select_related("merchant").get(pk=payment.pk)
    at = timezone.now()
    assert look_at(full, at).revision == look_at(full, at + timedelta(seconds=7)).revision
    seen = [view_of(payment).revision]
    simulate_payment(payment, "exact")
    for _ in range(3):
        mine_and_watch(ETHEREUM)
        seen.append(view_of(payment).revision)
    assert len(set(seen)) == 4
    assert status_of(payment)["revision"] == seen[-1]
    assert status_of(payment)["status"] == "completed"


def test_refunds_are_told() -> None:
    """Refunds come from another part of Ballast; their words are ready."""
    payment = pay_and_confirm(make(amount="100"))
    full = Payment.objects.select_related("merchant").get(pk=payment.pk)
    full.refunded = full.due
    for status, title in {"refunded": "Refunded", "partially_refunded": "Partly refunded"}.items():
        full.status = status
        view = look_at(full, timezone.now())
        assert view.state.title == title
        assert view.state.detail.startswith("100.00 USDC")
        assert ("Refunded", "100.00 USDC") in view.receipt


def test_without_scripts_there_is_a_way_to_look_again() -> None:
    payment = make()
    page = Client().get(f"/pay/{payment.public_id}").text
    noscript = re.search(r"<noscript>(.*?)</noscript>", page, re.DOTALL)
    assert noscript
    assert f'href="/pay/{payment.public_id}"' in noscript[1]
    assert f"until {payment.expires_at:%H:%M} UTC" in page
