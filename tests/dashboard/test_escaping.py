"""Whatever text gets in, it comes out as text: no payload becomes an element, an attribute or a script of a page."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from django.test import Client
from django.utils import timezone

from merchants.models import ApiKey, Member, Merchant, User
from merchants.request_log.models import LoggedRequest
from merchants.roles import Role
from payments.chains.simulated import control
from payments.dashboard.exports.services import request_export, write_exports
from payments.dashboard.search.filters import PaymentFilter
from payments.dashboard.views import save_view
from payments.links.models import PaymentLink
from payments.merchant_wallets.models import MerchantWallet
from payments.models import Discrepancy, Payment
from refunds.destination_links import destination_link_url
from refunds.models import Refund, RefundBatch
from settlements.models import Settlement
from tests.dashboard.addresses import DOWNLOADS, READS, Records, log_a_request, waiting_wallet
from tests.dashboard.conftest import browser_of
from tests.factories import make_key, make_member
from tests.long_form import IS_LONG
from tests.payments.linking import begin, make_link
from tests.payments.scenes import POLYGON, STELLAR, discrepancy, make_payment, pay_and_confirm
from tests.refunds.filing import preview
from tests.refunds.scenes import ask, paid_by_two, resolve
from tests.settlements.page_scenes import earn_and_settle, fail, make_invoice
from tests.webhooks.scenes import make_all_due, send_due
from tests.worlds import populated_once
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.schedule import Reply
from webhooks.services import register_endpoint, send_test

ANYWHERE = "'\"></script><script>alert(1)</script>"
"""Becomes a script wherever a page has it unescaped: in text, in either kind of attribute, in a script."""
TEMPLATE = "{{ settings.SECRET_KEY }}{% now 'Y' %}"
PAYLOADS = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<script>alert(1)</script>",
    '" autofocus onfocus="alert(1)',
    "</title><svg onload=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<style>*{display:none}</style>",
    "<base href=//evil.example>",
    "<iframe srcdoc='<b>x</b>'></iframe>",
    "<!-- --><noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "</textarea><form action=//evil.example>",
)
LATER = (TEMPLATE, *PAYLOADS) if IS_LONG else (TEMPLATE,)
EACH_PAYLOAD = [ANYWHERE, *(pytest.param(payload, marks=pytest.mark.slow) for payload in LATER)]
HARMLESS_LINKS = ("/", "#", "?", "https://", "http://", "ethereum:", "web+stellar:", "mailto:?subject=")


class Suspect(HTMLParser):
    """Collects what no page of ours has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in {"base", "style", "object", "embed"}:
            self.found.append(tag)
        if tag == "iframe" and not (values.get("src") or "").startswith("/dashboard/settings/branding/preview?"):
            self.found.append("iframe")
        if tag == "script" and not (values.get("src") or "").startswith("/static/"):
            self.found.append("script")
        if tag == "img" and not (values.get("src") or "").startswith("data:image/png;base64,"):
            self.found.append("img")
        if tag == "form" and not (values.get("action") or "/").startswith("/"):
            self.found.append("form")
        for name, value in values.items():
            ours = name == "autofocus" and tag == "input" and values.get("name") == "email"
            if not ours and (name.startswith("on") or name in {"style", "autofocus", "srcdoc"}):
                self.found.append(f"{tag} {name}")
            if name == "href" and not (value or "").startswith(HARMLESS_LINKS):
                self.found.append(f"{tag} href={value}")


def suspects(page: str) -> list[str]:
    parser = Suspect()
    parser.feed(page)
    parser.close()
    return parser.found


def test_the_parser_would_notice() -> None:
    for payload in (PAYLOADS[0], PAYLOADS[1], "<script>alert(1)</script>"):
        assert suspects(payload)
    for payload in (ANYWHERE, ANYWHERE[:30]):  # fields of 30 characters are the shortest that hold it
        for place in ("{}", '<p title="{}">', "<p title='{}'>", "<script src=/static/a.js>const a = '{}'</script>"):
            assert suspects(place.format("")) == []
            assert "script" in suspects(place.format(payload))


@populated_once
def make_what_is_shown() -> tuple[Member, ApiKey, Settlement, Payment, Discrepancy]:
    """A settlement that failed, a payment that was paid, and a surplus that waits."""
    member = make_member()
    key = make_key(member.merchant, name="key").key
    settlement = fail(earn_and_settle(member.merchant, coin="DAI", network=STELLAR), "destination_invalid")
    paid = pay_and_confirm(make_payment(POLYGON, merchant=member.merchant, redirect_url="https://a.example/"))
    surplus = discrepancy(pay_and_confirm(make_payment(POLYGON, merchant=member.merchant), "125"))
    return member, key, settlement, paid, surplus


@pytest.mark.long
@pytest.mark.parametrize("payload", EACH_PAYLOAD)
def test_a_payload_in_every_field_stays_text(payload: str, db: None) -> None:
    member, key, settlement, paid, surplus = make_what_is_shown()
    client = browser_of(member)
    # Written past the services, which would refuse some of these: pages must not depend on that.
    Merchant.objects.filter(pk=member.merchant_id).update(name=payload, email=payload)
    User.objects.filter(pk=member.user_id).update(name=payload)
    member.refresh_from_db()
    type(key).objects.filter(pk=key.pk).update(name=payload, scopes=[payload[:30]], allowed_networks=[payload[:50]])
    make_hostile(settlement, payload)
    created = make_payment(
        POLYGON,
        merchant=member.merchant,
        metadata={payload: payload},
        redirect_url=f"https://shop.example/{payload}",
        webhook_url=f"https://shop.example/{payload}",
    )
    link = make_hostile_link(member.merchant, payload)
    begun = begin(link, POLYGON)
    wallet = waiting_wallet(member.merchant)
    MerchantWallet.objects.update(
        address=payload[:80], label=payload[:60], signed_text=payload, signature=payload[:200]
    )
    member.merchant.settings.update(wallet_allow_list=[payload[:80]])
    Payment.objects.filter(pk=created.pk).update(rate_source=payload, merchant_wallet=payload[:80])
    Payment.objects.filter(pk=paid.pk).update(redirect_url=f"https://a.example/{payload}")

    endpoint, delivery = make_hostile_delivery(member.merchant, payload)

    refund = make_hostile_refund(paid, payload)
    merchant, filters = created.merchant, PaymentFilter(q=payload)
    environment = created.environment
    save_view(merchant=merchant, environment=environment, user=member.user, name=payload[:40], filters=filters)
    export = request_export(merchant=merchant, environment=environment, requested_by=member.user, filters=filters)
    write_exports()
    batch = preview(paid)
    RefundBatch.objects.filter(pk=batch.pk).update(uploaded_by=payload[:120], confirmed_at=timezone.now())
    batch.rows.update(problem=payload, destination=payload[:80], reason=payload)
    colleague = make_member(member.merchant, role=Role.SUPPORT)
    User.objects.filter(pk=colleague.user_id).update(name=payload[:120])
    logged = log_a_request(make_key(member.merchant))
    LoggedRequest.objects.filter(pk=logged.pk).update(
        method=payload[:10], path=payload[:500], query=payload, request_id=payload[:64], public_key=payload[:80],
        idempotency_key=payload[:255], error_code=payload[:60], body=payload, reply=payload,
    )  # fmt: skip
    invoice = make_invoice(Merchant.objects.get(pk=member.merchant_id))
    beginning = created, surplus, export, link, refund, batch, settlement, invoice
    records = Records(*beginning, wallet, key, endpoint, delivery, logged, colleague)
    addresses = [records.in_path(path) for path in READS if path not in DOWNLOADS]
    addresses += [f"/dashboard/payments/{paid.public_id}", f"/dashboard/payments/{paid.public_id}/refund"]
    addresses += [f"/pay/{payment.public_id}" for payment in (created, paid, begun)]
    addresses += [f"/link/{link.code}", f"/link/{link.code}?instead_of={begun.public_id}"]
    addresses.append((destination_link_url(refund) or "").removeprefix("http://127.0.0.1:8000"))
    for address in addresses:
        response = client.get(address)
        assert response.status_code == 200
        assert suspects(response.text) == []


def make_hostile_link(merchant: Merchant, payload: str) -> PaymentLink:
    """One with everything in it that somebody writes; it can be paid on polygon."""
    link = make_link(merchant, metadata={payload: payload}, note=payload)
    link.description, link.redirect_url = payload[:140], f"https://a.example/{payload}"
    link.wallets = {"ethereum": payload, "polygon": link.wallets["polygon"]}
    link.save()
    return link


def make_hostile_refund(payment: Payment, payload: str) -> Refund:
    """One that waits for an address, with everything in it that somebody writes."""
    refund = ask(payment, "1", reason=payload, metadata={payload: payload})
    control.describe_account(payment.network, payment.deposits.get().sender, is_contract=True)
    resolve()
    Refund.objects.filter(pk=refund.pk).update(requested_by=payload[:120], failure_message=payload)
    refund.refresh_from_db()
    return refund


def make_hostile(settlement: Settlement, payload: str) -> None:
    """Everything in it that comes from outside: the wallet, the network's words, where a rate is from."""
    [part] = settlement.coins
    Settlement.objects.filter(pk=settlement.pk).update(
        destination=payload[:80],
        failure_message=payload,
        transaction_hash=payload[:80],
        coins=[{**part, "source": payload}],
    )


def make_hostile_delivery(merchant: Merchant, payload: str) -> tuple[Endpoint, Delivery]:
    """Sent once and failed, so that everything a receiver can put in is there; and disabled by its answer."""
    endpoint, _ = register_endpoint(
        merchant=merchant, environment="sandbox", url="https://shop.example/", description=payload
    )
    delivery = send_test(endpoint=endpoint)
    send_due(lambda url: Reply(status_code=500, body=payload.encode(), error=payload))
    make_all_due()
    send_due(lambda url: Reply(status_code=410, body=payload.encode() * 500))
    Attempt.objects.filter(delivery=delivery, number=1).update(status_code=None)
    Event.objects.filter(pk=delivery.event_id).update(type=payload[:40], payload={payload: [payload]})
    Endpoint.objects.filter(pk=endpoint.pk).update(
        url=f"https://shop.example/{payload}", events=[payload[:40], "payment.created"]
    )
    return endpoint, delivery


@populated_once
def make_what_is_asked_about() -> tuple[Member, Payment]:
    member = make_member()
    make_payment(merchant=member.merchant)
    return member, paid_by_two(merchant=member.merchant)


@pytest.mark.long
@pytest.mark.parametrize("payload", EACH_PAYLOAD)
def test_a_payload_in_what_is_asked_stays_text(payload: str, db: None) -> None:
    member, paid = make_what_is_asked_about()
    client = browser_of(member)
    refund = ask(paid, "1")
    link = (destination_link_url(refund) or "").removeprefix("http://127.0.0.1:8000")
    replies = [
        client.get("/dashboard/payments", {"q": payload, "status": payload, "start": payload, "before": payload}),
        client.post("/dashboard/keys/new", {"name": payload, "allowed_networks": payload, "lifetime": payload}),
        client.get(
            "/dashboard/deliveries", dict.fromkeys(("q", "endpoint", "status", "type", "start", "before"), payload)
        ),
        client.get("/dashboard/refunds", {"q": payload, "status": payload, "start": payload, "before": payload}),
        client.post(
            f"/dashboard/payments/{paid.public_id}/refund",
            dict.fromkeys(("source", "amount", "destination", "memo", "reason", "form_id"), payload),
        ),
        client.post(f"/dashboard/refunds/{refund.public_id}/destination", {"destination": payload, "memo": payload}),
        Client().post(link, {"destination": payload, "memo": payload, "confirm": payload, "confirmed": payload}),
        Client().get(f"/refund/{payload}"),
        client.post("/dashboard/webhooks/new", {"url": payload, "description": payload, "events": payload}),
        client.get(f"/dashboard/webhooks/{payload}"),
        client.post("/dashboard/settings", {"settlement_timezone": payload, "wallet_allow_list": payload}),
        Client().post("/login", {"email": payload, "password": payload, "next": payload}),
        Client().get("/login", {"next": payload}),
        Client().get(f"/pay/{payload}"),
    ]
    for response in replies:
        assert response.status_code < 500
        assert suspects(response.text) == []
