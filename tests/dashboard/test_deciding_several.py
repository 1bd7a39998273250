"""Several decisions at once: each by itself, only as shown, once; and an underpaid payment that is decided early."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from merchants.audit.models import LoggedAction
from merchants.ledger.balances import merchant_balances
from merchants.models import Member
from merchants.services import update_settings
from payments.dashboard.decisions import pages
from payments.models import Discrepancy, Payment
from payments.suspense.acceptance import accept_discrepancy
from refunds.models import Refund
from tests.dashboard.test_decisions import another_coin, late, overpaid, short
from tests.payments.scenes import (
    ETHEREUM,
    SANDBOX,
    assert_all_is_well,
    discrepancies,
    discrepancy,
    make_payment,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
)
from tests.refunds.scenes import ask, paid, paid_by_two, send

pytestmark = pytest.mark.django_db

PAGE = "/dashboard/decisions"
ACCEPT, GIVE_BACK = f"{PAGE}/accept", f"{PAGE}/give-back"


def ticked(client: Client, address: str, cases: list[Discrepancy]) -> str:
    return unescape(client.get(address, {"case": [each.public_id for each in cases]}).text)


def sent(shown: str) -> dict[str, str | list[str]]:
    """The hidden fields of a page of several."""
    [form_id] = re.findall(r'name="form_id" value="([^"]*)"', shown)
    return {"form_id": form_id, "shown": re.findall(r'name="shown"\s+value="([^"]*)"', shown)}


def share_reasons(member: Member, below: int) -> None:
    update_settings(merchant=member.merchant, environment=SANDBOX, changes={"one_reason_below": below})


def statuses(cases: list[Discrepancy]) -> list[str]:
    return [Discrepancy.objects.get(pk=each.pk).status for each in cases]


def available(member: Member) -> int:
    return sum(each.available for each in merchant_balances(member.merchant, SANDBOX))


def test_several_are_accepted_with_what_each_and_all_of_them_come_to(client: Client, member: Member) -> None:
    share_reasons(member, 1_000)
    cases = [discrepancy(scene(member.merchant)) for scene in (overpaid, short, late)]
    shown = ticked(client, ACCEPT, cases)
    assert "172.845678 USDC on Ethereum (simulated) · 172.85 USD" in shown
    assert shown.count("are added to your balance") == 3

    before = available(member)
    done = unescape(client.post(ACCEPT, sent(shown) | {"reason": "a good week"}).text)
    assert (done.count(">Done<"), done.count(">Not done<")) == (3, 0)
    assert statuses(cases) == ["accepted"] * 3
    assert {Discrepancy.objects.get(pk=each.pk).note for each in cases} == {"a good week"}
    assert available(member) - before == sum(int(each.amount) for each in cases)
    logged = LoggedAction.objects.filter(action="decision.accept").order_by("pk")
    assert [each.record for each in logged] == [each.public_id for each in cases]
    assert_all_is_well()


def test_what_has_changed_is_left_out_and_the_others_are_done(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_reasons(member, 1_000)
    decided, faulty, changed, fine = cases = [discrepancy(overpaid(member.merchant)) for _ in range(4)]
    form = sent(ticked(client, ACCEPT, cases))
    accept_discrepancy(decided, resolved_by="somebody else")
    form["shown"] = [re.sub(r" .*", " other", each) if changed.public_id in each else each for each in form["shown"]]

    def accept(each: Discrepancy, **options: str) -> Discrepancy:
        done = accept_discrepancy(each, **options)
        if each.pk == faulty.pk:
            raise RuntimeError("after it was written")
        return done

    monkeypatch.setattr(pages, "accept_discrepancy", lambda each, **options: accept(each, **options))
    done = unescape(client.post(ACCEPT, form | {"reason": "ours"}).text)
    words = re.findall(r"(Done|Not done)</span>\s*</div>\s*<p>([^<]*)</p>", done)
    assert words == [
        ("Not done", "It has already been decided what happens to this money."),
        ("Not done", "Nothing was done, because of a fault. Try it by itself."),
        ("Not done", "The result of this action has changed since you opened the page. Check it again."),
        ("Done", "The money is accepted and in your balance."),
    ]
    assert statuses(cases) == ["accepted", "open", "open", "accepted"]
    assert [each.record for each in LoggedAction.objects.filter(action="decision.accept")] == [fine.public_id]
    assert_all_is_well()


def test_a_form_that_is_sent_twice_does_nothing_a_second_time(client: Client, member: Member) -> None:
    cases = [discrepancy(paid(received=["125"], merchant=member.merchant)) for _ in range(2)]
    form = sent(ticked(client, GIVE_BACK, cases))
    assert client.post(GIVE_BACK, form).text.count(">Done<") == 2
    again = client.post(GIVE_BACK, form, follow=True)
    assert str(pages.USED_FORM) in unescape(again.text)
    assert (Refund.objects.count(), statuses(cases)) == (2, ["refunded"] * 2)
    send()
    assert set(Refund.objects.values_list("status", flat=True)) == {"completed"}
    assert_all_is_well()


def test_what_did_not_come_from_one_address_is_left_out_of_giving_back(client: Client, member: Member) -> None:
    one = discrepancy(paid(received=["125"], merchant=member.merchant))
    two = discrepancy(paid(received=["60", "45"], senders=["Ada", "Bob"], merchant=member.merchant))
    shown = ticked(client, GIVE_BACK, [one, two])
    assert "It did not come from one address: refund it by itself." in shown
    assert [each.split()[0] for each in sent(shown)["shown"]] == [one.public_id]
    client.post(GIVE_BACK, sent(shown) | {"reason": "too much"})
    assert statuses([one, two]) == ["refunded", "open"]


def test_each_that_is_worth_as_much_as_the_merchant_says_has_a_reason_of_its_own(
    client: Client, member: Member
) -> None:
    little, much = cases = [discrepancy(overpaid(member.merchant)), discrepancy(another_coin(member.merchant))]
    for below, alone, shares in ((0, [little, much], False), (12, [little, much], False), (13, [much], True)):
        share_reasons(member, below)
        shown = ticked(client, ACCEPT, cases)
        assert re.findall(r'name="(dis_[^"]*)"', shown) == [each.public_id for each in alone]
        assert ('name="reason"' in shown) is shares
    refused = client.post(ACCEPT, sent(shown) | {"reason": "crumbs"})
    assert (refused.status_code, statuses(cases)) == (400, ["open", "open"])
    client.post(ACCEPT, sent(unescape(refused.text)) | {"reason": "crumbs", much.public_id: "we take DAI as well"})
    notes = [Discrepancy.objects.get(pk=each.pk).note for each in cases]
    assert notes == ["crumbs", "we take DAI as well"]


def test_the_list_ticks_sums_and_nothing_else(client: Client, member: Member) -> None:
    case = discrepancy(overpaid(member.merchant))
    ask(paid_by_two(merchant=member.merchant))
    boxes = re.compile(r'type="checkbox"\s+name="case"\s+value="([^"]*)"(\s+checked)?')
    assert boxes.findall(client.get(PAGE).text) == [(case.public_id, "")]
    [(name, checked)] = boxes.findall(client.get(PAGE, {"tick": "all"}).text)
    assert (name, bool(checked)) == (case.public_id, True)
    assert "Tick what you want to decide about." in client.get(ACCEPT).text
    stranger = discrepancy(pay_and_confirm(make_payment(), "125"))
    assert "Tick what you want to decide about." in ticked(client, ACCEPT, [stranger])


# Early.


def closing(payment: Payment) -> str:
    return f"/dashboard/payments/{payment.public_id}/close"


def test_an_underpaid_payment_is_decided_early_after_its_page_has_said_what_that_does(
    client: Client, member: Member
) -> None:
    payment = pay_and_confirm(make_payment(merchant=member.merchant), "60.5")
    own = unescape(client.get(f"/dashboard/payments/{payment.public_id}").text)
    assert f'href="{closing(payment)}"' in own
    shown = unescape(client.get(closing(payment)).text)
    assert "60.50 USDC are added to your balance. The payment becomes “Completed”." in shown
    assert (now(payment).closed_at, discrepancies(payment)) == (None, [])

    [fingerprint] = re.findall(r'name="shown" value="([^"]*)"', shown)
    reply = client.post(closing(payment), {"shown": fingerprint, "accept": "yes"})
    assert reply["Location"] == f"{PAGE}/{discrepancy(payment).public_id}/accept"
    assert now(payment).closed_at is not None
    assert_all_is_well()


def test_nothing_is_ended_when_more_has_come_than_the_page_showed(client: Client, member: Member) -> None:
    payment = pay_and_confirm(make_payment(merchant=member.merchant), "60.5")
    shown = client.get(closing(payment)).text
    [fingerprint] = re.findall(r'name="shown" value="([^"]*)"', shown)
    pay(payment, "1")
    for said in ("More has been seen and is not confirmed yet.", "has changed since you opened the page"):
        mine_and_watch(ETHEREUM, 1 if said.startswith("More") else payment.required_confirmations)
        reply = client.post(closing(payment), {"shown": fingerprint, "accept": "yes"}, follow=True)
        assert said in unescape(reply.text)
        assert (now(payment).closed_at, discrepancies(payment)) == (None, [])
    assert not LoggedAction.objects.filter(action="payment.close").exists()
