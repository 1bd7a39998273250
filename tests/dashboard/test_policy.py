"""The page of the policy: a dry run says to the last unit what it would have decided, and changes nothing."""

from __future__ import annotations

from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from merchants.models import LatePayments, Member, Merchant, MerchantSettings
from payments.dashboard.decisions import dry_run
from payments.dashboard.decisions.dry_run import Policy, try_policy
from payments.models import Payment
from payments.suspense.acceptance import accept_discrepancy
from tests.payments.scenes import (
    SANDBOX,
    assert_all_is_well,
    confirm,
    discrepancy,
    end_window,
    everything,
    make_merchant_who,
    make_payment,
    now,
    pay,
    pay_and_confirm,
    units,
)

pytestmark = pytest.mark.django_db

PAGE = "/dashboard/settings/policy"
STRICT = Policy(0, LatePayments.HOLD)
LENIENT = Policy(50, LatePayments.ACCEPT)


def short(merchant: Merchant, amount: str) -> Payment:
    payment = make_payment(merchant=merchant)
    pay_and_confirm(payment, amount)
    return end_window(payment)


def late(merchant: Merchant) -> Payment:
    payment = make_payment(merchant=merchant)
    end_window(payment)
    return pay_and_confirm(payment)


def tried(merchant: Merchant, policy: Policy) -> dry_run.DryRun:
    return try_policy(merchant, SANDBOX, policy, now=timezone.now(), clock=lambda: 0.0)


def test_a_more_lenient_policy_says_what_it_would_have_credited(member: Member) -> None:
    merchant = member.merchant
    little, much, tardy = short(merchant, "99.6"), short(merchant, "99.4"), late(merchant)
    pay_and_confirm(make_payment(merchant=merchant))
    before = everything()

    run = tried(merchant, LENIENT)

    assert everything() == before
    assert dict(run.moves) == {("Underpaid", "Completed"): 1, ("Expired", "Completed"): 1}
    assert dict(run.credited) == {("USDC", 6): units(little, "199.6")}
    assert dict(run.worth) == {"USD": 19_960}
    assert (run.looked_at, run.is_complete) == (3, True)
    assert [each.payment_id for each in run.examples] == [tardy.public_id, little.public_id]
    assert much.public_id not in {each.payment_id for each in run.examples}


def test_a_stricter_policy_says_what_would_have_waited() -> None:
    merchant = make_merchant_who(payment_tolerance_bps=50, late_payments=LatePayments.ACCEPT)
    short(merchant, "99.6")
    late(merchant)

    run = tried(merchant, STRICT)

    assert dict(run.moves) == {("Completed", "Underpaid"): 1, ("Completed", "Expired"): 1}
    assert run.credited_words == ["−199.60 USDC"]
    assert run.worth_words == ["−199.60 USD"]


@pytest.mark.parametrize("policy", [STRICT, LENIENT])
def test_what_the_dry_run_says_is_what_the_policy_then_does(policy: Policy, member: Member) -> None:
    chosen = make_merchant_who(payment_tolerance_bps=policy.tolerance_bps, late_payments=policy.late_payments)
    for scene in (lambda owner: short(owner, "99.6"), lambda owner: short(owner, "80"), late):
        guessed, real = scene(member.merchant), scene(chosen)
        run = tried(member.merchant, policy)
        after = {each.payment_id: each.after for each in run.examples}
        assert after.get(guessed.public_id, guessed.get_status_display()) == real.get_status_display()
    assert_all_is_well()


def test_the_policy_that_a_payment_was_made_under_changes_nothing(member: Member) -> None:
    payment = short(member.merchant, "99.6")
    accept_discrepancy(discrepancy(payment), resolved_by="jo@example.com", note="fine")
    assert now(payment).status == "completed"
    assert tried(member.merchant, STRICT).differing == 0


def test_what_is_older_or_too_much_is_left_out_and_the_page_says_so(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = short(member.merchant, "99.6"), short(member.merchant, "99.7")
    later = timezone.now() + timedelta(days=91)
    assert try_policy(member.merchant, SANDBOX, LENIENT, now=later).looked_at == 0

    monkeypatch.setattr(dry_run, "_BATCH", 1)
    assert tried(member.merchant, LENIENT).differing == 2
    monkeypatch.setattr(dry_run, "MOST_PAYMENTS", 1)
    run = tried(member.merchant, LENIENT)
    assert (run.differing, run.is_complete, run.reached) == (1, False, second.created_at)
    monkeypatch.setattr(dry_run, "MOST_PAYMENTS", 10)
    seconds = iter([0.0, 1.0, 6.0])
    run = try_policy(member.merchant, SANDBOX, LENIENT, now=timezone.now(), clock=lambda: next(seconds))
    assert (run.differing, run.reached) == (2, first.created_at)
    monkeypatch.setattr(dry_run, "MOST_PAYMENTS", 1)
    page = client.get(f"{PAGE}?payment_tolerance=0.5&late_payments=hold").text
    assert "too many payments to try all of them" in page


def test_trying_saves_nothing_and_saving_is_offered_for_what_was_tried(client: Client, member: Member) -> None:
    payment = short(member.merchant, "99.6")
    chosen = MerchantSettings.objects.get(merchant=member.merchant, environment=SANDBOX)
    assert "Save this policy" not in client.get(PAGE).text

    page = unescape(client.get(f"{PAGE}?payment_tolerance=0.50&late_payments=accept").text)
    assert "1 payment would have been decided differently" in page
    assert "1: “Completed” instead of “Underpaid”" in page
    assert payment.public_id in page
    chosen.refresh_from_db()
    assert (chosen.payment_tolerance_bps, chosen.late_payments) == (0, "hold")

    client.post(PAGE, {"payment_tolerance": "0.50", "late_payments": "accept"})
    chosen.refresh_from_db()
    assert (chosen.payment_tolerance_bps, chosen.late_payments) == (50, "accept")
    again = client.get(f"{PAGE}?payment_tolerance=0.50&late_payments=accept").text
    assert "This is your current policy." in again
    assert "Save this policy" not in again


@pytest.mark.parametrize(("tolerance", "words"), [("0.51", "Enter 0.5 or less"), ("0.001", "2 decimal places")])
def test_a_bad_tolerance_is_refused_at_its_field(client: Client, tolerance: str, words: str) -> None:
    for reply in (
        client.get(f"{PAGE}?payment_tolerance={tolerance}&late_payments=hold"),
        client.post(PAGE, {"payment_tolerance": tolerance, "late_payments": "hold"}),
    ):
        assert reply.status_code == 400
        assert words in reply.text


def test_money_that_is_not_confirmed_yet_is_not_counted(member: Member) -> None:
    payment = make_payment(merchant=member.merchant)
    pay(payment, "99.6")
    assert tried(member.merchant, LENIENT).differing == 0
    confirm(payment)
    assert tried(member.merchant, LENIENT).differing == 1


def test_the_dry_run_says_what_would_become_of_surplus(client: Client, member: Member) -> None:
    for amount in ("100.5", "100.9", "125"):
        pay_and_confirm(make_payment(merchant=member.merchant), amount)
    page = unescape(client.get(f"{PAGE}?payment_tolerance=0&late_payments=hold&surplus=keep&surplus_kept=0.5").text)
    assert "1: kept at once, 0.50 USDC" in page
    assert "2: waiting for your decision, 25.90 USDC" in page
    page = unescape(client.get(f"{PAGE}?payment_tolerance=0&late_payments=hold&surplus=give_back").text)
    assert "1: refunded automatically, 25.00 USDC" in page
    page = unescape(client.get(f"{PAGE}?payment_tolerance=0&late_payments=hold&surplus=keep").text)
    assert "Enter the percentage" in page


def test_the_policy_of_surplus_is_saved(client: Client, member: Member) -> None:
    asked = {"payment_tolerance": "0", "late_payments": "hold", "surplus": "keep", "surplus_kept": "0.75"}
    assert client.post(PAGE, asked).status_code == 302
    chosen = MerchantSettings.objects.get(merchant=member.merchant, environment=SANDBOX)
    assert (chosen.surplus, chosen.surplus_kept_bps, chosen.surplus_since is None) == ("keep", 75, False)
