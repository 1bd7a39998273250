"""Mails to the payer who left an address: what is mailed, when, how often, and who learns of the address."""

from __future__ import annotations

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from django.utils.translation import get_language
from pytest_django.fixtures import Settings

from merchants.access import attempts
from merchants.models import AttemptCount, Branding
from merchants.people import mailing as sender
from merchants.people.models import Mail
from payments import tasks
from payments.checkout import mailing
from payments.checkout.payer import look_at
from payments.models import PayerContact, Payment
from payments.records import record_of
from payments.transfers.execution import executor
from payments.transfers.owners import follow_payouts
from tests.dashboard.paying import make, view_of
from tests.payments.scenes import (
    ETHEREUM,
    SANDBOX,
    STELLAR,
    confirm,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    reorganise,
)
from tests.refunds.scenes import ask, paid, resolve, send
from webhooks.models import Event

pytestmark = pytest.mark.django_db

ADDRESS = "paula@payer.example"


def leave(payment: Payment, email: str = ADDRESS, query: str = "", **extra: Any) -> Any:
    return Client(enforce_csrf_checks=True).post(f"/pay/{payment.public_id}/mail{query}", {"email": email}, **extra)


def stop(payment: Payment) -> Any:
    return Client(enforce_csrf_checks=True).post(f"/pay/{payment.public_id}/mail", {"stop": "1"})


def page_of(payment: Payment, path: str = "") -> str:
    return unescape(Client().get(f"/pay/{payment.public_id}{path}").text)


def mailed() -> list[str]:
    """The subjects of the mails so far, after two rounds of the task."""
    tasks.mail_payers()
    tasks.mail_payers()
    return [mail.subject.partition(": ")[2] for mail in Mail.objects.filter(to=ADDRESS).order_by("id")]


SEEN, PAID, REFUND = "your payment was seen", "your receipt", "a refund is on its way"


def test_each_is_mailed_once_when_it_has_happened_and_nothing_else() -> None:
    payment = make(ETHEREUM)
    Branding.objects.create(merchant=payment.merchant, support="help@harbour.example")
    assert leave(payment).headers["Location"] == f"/pay/{payment.public_id}#mails"
    assert mailed() == []
    pay(payment)
    for _ in range(2):
        mine_and_watch(ETHEREUM)
        assert mailed() == [SEEN]
    for _ in range(2):
        confirm(payment)
        assert mailed() == [SEEN, PAID]
    seen, receipt = Mail.objects.order_by("id")
    for mail in (seen, receipt):
        assert mail.subject.startswith("Harbour Coffee: ")
        assert "Questions? help@harbour.example\n" in mail.text
        assert f"Reference {payment.public_id}\n{payment.page_url}?lang=en\n" in mail.text
        assert mail.text.endswith(f"{payment.page_url}/mail?lang=en\n")
        assert "Test payment: no real money" in mail.text
    assert "Your payment to Harbour Coffee was seen on Ethereum" in seen.text
    for line in view_of(payment).receipt:
        assert f"\n{': '.join(line)}\n" in receipt.text


def test_the_first_refund_is_mailed_when_it_is_sent(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    payment = paid()
    leave(payment)
    ask(payment, "40")
    resolve()
    assert mailed() == [PAID]  # the refund waits to be sent
    executor.run_round(SANDBOX, STELLAR)
    follow_payouts()
    assert payment.refunds.get().status == "processing"
    assert mailed() == [PAID, REFUND]
    send()
    ask(payment, "10")
    send()
    assert {refund.status for refund in payment.refunds.all()} == {"completed"}
    assert mailed() == [PAID, REFUND]
    text = Mail.objects.order_by("id").last().text  # type: ignore[union-attr]
    assert f"{payment.merchant.payee} is sending 40.00 USDC of your payment back to you." in text


def test_what_is_over_already_is_told_at_once_and_what_came_before_it_is_not() -> None:
    payment = pay_and_confirm(make(STELLAR))
    leave(payment)
    assert mailed() == [PAID]


def test_who_was_told_that_it_is_paid_is_not_told_later_that_it_was_seen() -> None:
    payment = make(ETHEREUM)
    leave(payment)
    PayerContact.objects.update(mails={"paid": 1})  # before the network undid it
    pay(payment)
    mine_and_watch(ETHEREUM)
    assert (now(payment).status, mailed()) == ("pending", [])


def test_a_reversed_payment_that_is_seen_and_paid_again_is_not_told_again() -> None:
    payment = make(ETHEREUM)
    leave(payment)
    pay(payment)
    mine_and_watch(ETHEREUM)
    assert mailed() == [SEEN]
    reorganise(payment, 1, "dropped")
    assert now(payment).status == "created"
    pay_and_confirm(payment)
    assert mailed() == [SEEN, PAID]


@pytest.mark.parametrize(("query", "accepts", "language"), [("?lang=de", "fr", "de"), ("", "fr", "fr"), ("", "", "en")])
def test_a_mail_is_in_the_language_of_the_page_where_the_address_was_left(
    query: str, accepts: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = []

    def render(*_: object) -> str:
        active.append(get_language())
        return ""

    monkeypatch.setattr("payments.checkout.mailing.render_to_string", render)
    payment = pay_and_confirm(make(STELLAR))
    reply = leave(payment, query=query, headers={"Accept-Language": accepts})
    assert reply.headers["Location"] == f"/pay/{payment.public_id}{query}#mails"
    mailing.mail_due(now=timezone.now())
    assert active == [language]


def test_a_change_that_is_rolled_back_is_not_mailed_and_the_next_one_is() -> None:
    payment = make(STELLAR)
    leave(payment)
    assert mailed() == []
    with transaction.atomic():
        pay_and_confirm(payment)
        assert PayerContact.objects.get().due_at is not None
        transaction.set_rollback(True)
    assert PayerContact.objects.get().due_at is None
    assert mailed() == []
    pay_and_confirm(payment)
    assert mailed() == [PAID]


def test_a_change_while_a_mail_is_written_is_mailed_as_it_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    payment = make(ETHEREUM)
    leave(payment)
    pay(payment)
    mine_and_watch(ETHEREUM)
    real = mailing._texts

    def meanwhile(*arguments: Any) -> Any:
        monkeypatch.undo()
        texts = list(real(*arguments))
        confirm(payment)
        return texts

    monkeypatch.setattr(mailing, "_texts", meanwhile)
    assert mailed() == [PAID]


def test_a_mail_that_cannot_be_written_stops_no_payment_and_no_other_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, other = make(STELLAR), make(STELLAR)
    leave(broken)
    leave(other, "other@payer.example")
    real = look_at

    def look(payment: Payment, at: Any) -> Any:
        if payment.pk == broken.pk:
            raise ValueError("nothing to see")
        return real(payment, at)

    monkeypatch.setattr("payments.checkout.mailing.look_at", look)
    assert [pay_and_confirm(each).status for each in (broken, other)] == ["completed"] * 2
    assert mailed() == []
    assert Mail.objects.filter(to="other@payer.example").count() == 1
    monkeypatch.undo()
    assert mailed() == []  # put off for a minute
    assert mailing.mail_due(now=timezone.now() + timedelta(minutes=1)) == 1
    assert mailed() == [PAID]


def test_an_address_taken_back_is_gone_at_once_with_the_mails_that_wait() -> None:
    payment = make(ETHEREUM)
    leave(payment)
    pay(payment)
    mine_and_watch(ETHEREUM)
    assert mailed() == [SEEN]
    Client().get(f"/pay/{payment.public_id}/mail")  # as a mail server that opens links would
    assert PayerContact.objects.get().email == ADDRESS
    assert "The address is deleted." in stop(payment).text
    assert (PayerContact.objects.get().email, mailed()) == ("", [])
    confirm(payment)
    assert mailed() == []
    leave(payment)
    assert mailed() == [PAID]  # and not once more that it was seen


def test_addresses_are_deleted_after_30_days() -> None:
    old, new = make(), make()
    leave(old)
    PayerContact.objects.update(left_at=timezone.now() - timedelta(days=30, seconds=1))
    leave(new, "other@payer.example")
    PayerContact.objects.filter(payment=new).update(left_at=timezone.now() - timedelta(days=29))
    tasks.purge_exports()
    assert PayerContact.objects.get().payment_id == new.pk


def test_nobody_is_shown_the_address_or_can_put_another_in_its_place() -> None:
    payment = make()
    assert "Get mails about this payment" in page_of(payment)
    leave(payment)
    leave(payment, "thief@payer.example")
    assert PayerContact.objects.get().email == ADDRESS
    for path in ("", "/mail", "/status", "/claim"):
        assert "payer.example" not in page_of(payment, path)
    assert "We will mail you" in page_of(payment)
    said = repr([record_of(payment), *Event.objects.values(), *AttemptCount.objects.values()])
    assert "payer.example" not in said


def test_a_refusal_of_the_mail_server_does_not_put_the_address_into_the_log(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAILBOX_IS_SHOWN, logged = False, []

    def refuse(*_: Any) -> None:
        raise ConnectionRefusedError(f"550 no such user {ADDRESS}")

    monkeypatch.setattr(sender, "send_mail", refuse)
    monkeypatch.setattr(sender.logger, "warning", lambda event, **facts: logged.append(facts["error"]))
    sender.write_mail(to=ADDRESS, subject="Hello", text="")
    sender.send_due(now=timezone.now())
    assert logged == ["550 no such user the recipient"]


@pytest.mark.parametrize("typed", ["", "paula", "paula@payer.example, x@y.example", "a@b.example\nBcc: c@d.example"])
def test_what_is_no_address_is_refused_with_what_to_enter(typed: str) -> None:
    payment = make()
    assert "Enter an e-mail address such as name@example.com." in leave(payment, typed).text
    assert not PayerContact.objects.exists()


@pytest.mark.parametrize(
    ("patience", "same"),
    [
        (attempts.SIGN_UPS_FROM_ADDRESS, "client"),
        (attempts.MAILS_TO_ADDRESS, "email"),
        (attempts.CONTACTS_OF_PAYMENT, "payment"),
        (attempts.CONTACTS_OF_SANDBOX, "merchant"),
    ],
)
def test_strangers_cannot_be_mailed_in_bulk(patience: attempts.Patience, same: str) -> None:
    payments = [make()]
    others = patience.free if same != "payment" else 0
    merchant = payments[0].merchant
    payments += [make_payment(merchant=merchant) if same == "merchant" else make() for _ in range(others)]
    replies = []
    for number in range(patience.free + 1):
        payment = payments[number if others else 0]
        email = ADDRESS if same == "email" else f"p{number}@payer.example"
        client = "192.0.2.1" if same == "client" else f"192.0.2.{number}"
        replies.append(leave(payment, email, REMOTE_ADDR=client).status_code)
        if same == "payment":
            stop(payment)
    assert replies == [302] * patience.free + [429]


@pytest.mark.parametrize(("is_offered", "status"), [(True, 200), (False, 404)])
def test_nothing_is_offered_where_mails_reach_nobody(is_offered: bool, status: int, settings: Settings) -> None:
    settings.PAYERS_ARE_MAILED = is_offered
    payment = make()
    assert ("Get mails about this payment" in page_of(payment)) is is_offered
    assert Client().get(f"/pay/{payment.public_id}/mail").status_code == status
    leave(payment)
    assert PayerContact.objects.exists() is is_offered


def test_the_form_needs_no_cookie_and_no_script() -> None:
    payment = make()
    reply = Client().get(f"/pay/{payment.public_id}")
    form = unescape(reply.text).partition('id="mails"')[2].partition("</details>")[0]
    assert f'action="/pay/{payment.public_id}/mail"' in form
    assert "csrf" not in form
    assert not reply.cookies
    assert reply.text.index("data-copy") < reply.text.index('id="mails"')  # amount and address come first
