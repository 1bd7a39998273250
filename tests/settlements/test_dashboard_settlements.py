"""The merchant's pages about settlements: what they show, and what owners can do there."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Unpack

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from config.environments import Environment
from merchants.models import Member
from merchants.pages import listing
from merchants.roles import Role
from merchants.services import SettingsChanges, update_settings
from payments.chains.errors import RecipientProblem
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.chains.simulated.sending import HotWallet
from payments.deposits.models import RefusedWallet
from payments.models import BalanceChange
from payments.suspense import recipient_checks
from settlements.models import Settlement, SettlementRun
from settlements.plans.planning import CarryReason
from settlements.states import SettlementProblem
from settlements.wording import CARRIED, WHAT_NEXT
from tests.dashboard.conftest import browser_of
from tests.factories import api_client, make_key, make_member, make_merchant
from tests.networks import ETHEREUM, POLYGON, STELLAR
from tests.payments.scenes import WALLETS
from tests.refunds.scenes import ask
from tests.settlements.page_scenes import (
    accept_again,
    earn,
    earn_and_settle,
    fail,
    fill_treasury,
    make_settlements,
    pay_out,
)

pytestmark = pytest.mark.django_db

OTHER_WALLET = address_named(STELLAR, "another wallet of the merchant")


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture
def member() -> Member:
    return make_member(make_merchant("Harbour Coffee"))


@pytest.fixture
def client(member: Member) -> Client:
    return browser_of(member)


def change_settings(member: Member, **changes: Unpack[SettingsChanges]) -> None:
    update_settings(merchant=member.merchant, environment=Environment.SANDBOX, changes=changes)


def page_of(settlement: Settlement) -> str:
    return f"/dashboard/settlements/{settlement.public_id}"


def settled(member: Member) -> int:
    return Settlement.objects.filter(merchant=member.merchant).count()


# --- the list ----------------------------------------------------------------------------------------


def test_without_settlements_the_page_says_when_the_first_comes(client: Client) -> None:
    page = client.get("/dashboard/settlements").text
    assert "No settlements yet" in page
    assert "Nothing is waiting to be paid so far" in page
    assert "Settle now" not in page


def test_the_list_shows_newest_first_and_is_filtered(client: Client, member: Member) -> None:
    fill_treasury(STELLAR)
    completed = pay_out(earn_and_settle(member.merchant, network=STELLAR))
    failed = fail(earn_and_settle(member.merchant, "25"))
    listed = client.get("/dashboard/settlements")
    assert [row.settlement.pk for row in listed.context["rows"]] == [failed.pk, completed.pk]
    assert "25.00 USDC" in listed.text
    assert listed.context["words"] == "2 of 2 settlements"
    only = client.get("/dashboard/settlements?status=completed")
    assert [row.settlement.pk for row in only.context["rows"]] == [completed.pk]
    assert only.context["words"] == "1 settlement"
    tomorrow = failed.created_at.date() + timedelta(days=1)
    assert "Nothing matches" in client.get(f"/dashboard/settlements?start={tomorrow}").text
    assert "Nothing matches" in client.get("/dashboard/settlements?status=lost").text


def test_the_list_goes_on_to_older_ones(client: Client, member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE_SIZE", 2)
    settlements = [earn_and_settle(member.merchant, network=STELLAR) for _ in range(3)]
    first = client.get("/dashboard/settlements")
    assert [row.settlement.pk for row in first.context["rows"]] == [settlements[2].pk, settlements[1].pk]
    older = client.get(first.context["next_url"])
    assert [row.settlement.pk for row in older.context["rows"]] == [settlements[0].pk]
    assert older.context["next_url"] == ""


# --- the next run ------------------------------------------------------------------------------------


def test_the_next_run_says_when_what_to_which_wallet_and_what_is_carried_over(client: Client, member: Member) -> None:
    change_settings(member, settlement_timezone="Pacific/Auckland", settlement_minimum=Decimal(10))
    earn(member.merchant, "100", network=POLYGON)
    earn(member.merchant, "3.50", network=STELLAR)
    page = client.get("/dashboard/settlements")
    assert page.context["next_run"].when.endswith("00:00")
    assert "Auckland time" in page.text
    assert f'title="{WALLETS[POLYGON]}"' in page.text
    assert "100.00 USDC" in page.text
    assert "Below the smallest settlement" in page.text
    assert "3.50 USDC" in page.text


def test_a_wallet_that_failed_leads_to_what_can_be_done(client: Client, member: Member) -> None:
    fail(earn_and_settle(member.merchant, network=STELLAR))
    page = client.get("/dashboard/settlements").text
    assert "The last settlement to this wallet failed" in page
    assert 'href="/dashboard/settlements?status=failed"' in page


def test_settling_now_asks_first_and_then_settles(client: Client, member: Member) -> None:
    earn(member.merchant, "100")
    asked = client.get("/dashboard/settlements/now").text
    assert "Settle now?" in asked
    assert WALLETS[ETHEREUM] in asked
    assert settled(member) == 0
    answer = client.post("/dashboard/settlements/now", follow=True).text
    assert "One settlement is created" in answer
    assert settled(member) == 1
    assert SettlementRun.objects.get().requested_by == member.user.email


def test_settling_what_does_not_hold_still_is_refused_for_now(client: Client, member: Member) -> None:
    payment = earn(member.merchant, "100")
    BalanceChange.objects.update(amount=2 * payment.due)  # more than the ledger has
    answer = client.post("/dashboard/settlements/now")
    assert (answer.status_code, answer.headers["Retry-After"]) == (409, "5")
    assert "Nothing was settled. Try again in 5 seconds." in answer.text
    assert "Settle now?" in answer.text
    assert not SettlementRun.objects.exists()
    assert settled(member) == 0
    BalanceChange.objects.update(amount=payment.due)
    assert "One settlement is created" in client.post("/dashboard/settlements/now", follow=True).text
    assert settled(member) == 1


def test_settling_nothing_says_so(client: Client, member: Member) -> None:
    assert "There is nothing to settle now" in client.get("/dashboard/settlements/now").text
    assert "There was nothing to settle." in client.post("/dashboard/settlements/now", follow=True).text
    assert settled(member) == 0


@pytest.mark.parametrize("role", [Role.DEVELOPER, Role.VIEWER])
def test_only_owners_decide_where_money_goes(member: Member, role: Role) -> None:
    failed = fail(earn_and_settle(member.merchant, network=STELLAR))
    earn(member.merchant)
    colleague = browser_of(make_member(member.merchant, role=role))
    assert "Settle now" not in colleague.get("/dashboard/settlements").text
    assert colleague.get("/dashboard/settlements/now").status_code == 403
    assert "What should happen with the money?" not in colleague.get(page_of(failed)).text
    for address in ("/dashboard/settlements/now", f"{page_of(failed)}/retry", f"{page_of(failed)}/wallet"):
        assert colleague.post(address, {"wallet": OTHER_WALLET}).status_code == 403
    failed.refresh_from_db()
    assert (settled(member), failed.may_retry) == (1, False)


# --- one settlement ----------------------------------------------------------------------------------


def test_a_completed_settlement_shows_how_its_amount_came_about(
    client: Client, member: Member, settings: Settings
) -> None:
    settings.FEE_BPS = {"starter": 50}
    fill_treasury()
    payment = earn(member.merchant, "60")
    refund = ask(payment, "10", destination=address_named(ETHEREUM, "the payer"))
    earn(member.merchant, "40", coin="DAI")
    [settlement] = make_settlements(member.merchant)
    settlement = pay_out(settlement)
    page = client.get(page_of(settlement))
    assert [(step.label, step.amount) for step in page.context["steps"]] == [
        ("Came in", "100.00 USDC"),
        ("Fee, 0.5 %", "−0.50 USDC"),
        ("Refunds and other deductions", "−10.00 USDC"),
        ("Paid", "89.50 USDC"),
    ]
    assert [(step.start, step.width) for step in page.context["steps"]] == [(0, 1000), (995, 5), (895, 100), (0, 895)]
    [conversion] = page.context["conversions"]
    assert (conversion.amount, conversion.became, conversion.rate) == ("39.80 DAI", "39.80 USDC", "1 DAI = 1.00 USDC")
    assert settlement.transaction_hash in page.text
    entries = [(entry.words, entry.amount, entry.fiat) for entry in page.context["entries"]]
    assert entries == [
        ("Payment", "+40.00 DAI", "40.00 USD"),
        ("Refund", "−10.00 USDC", "−10.00 USD"),
        ("Payment", "+60.00 USDC", "60.00 USD"),
    ]
    assert f'href="/dashboard/payments/{payment.public_id}"' in page.text
    assert f'href="/dashboard/refunds/{refund.public_id}"' in page.text
    assert "Try this wallet again" not in page.text


def test_one_that_waits_says_for_what(client: Client, member: Member) -> None:
    earn(member.merchant, coin="USDT")
    [settlement] = make_settlements(member.merchant)
    pay_out(settlement)
    page = client.get(page_of(settlement)).text
    assert "There is not enough of the settlement currency yet" in page
    assert "You do not need to do anything." in page
    assert "Estimate until it is converted" in page
    assert "Waiting" in client.get("/dashboard/settlements").text


def test_a_failed_one_says_why_and_can_be_tried_again(client: Client, member: Member) -> None:
    failed = fail(earn_and_settle(member.merchant, network=STELLAR))
    page = client.get(page_of(failed)).text
    assert "The issuer of the coin does not allow this wallet" in page
    assert "Ask the issuer of the coin why" in page
    accept_again(failed)
    answer = client.post(f"{page_of(failed)}/retry", follow=True).text
    assert "The wallet is paid again with the next settlement." in answer
    assert "Try this wallet again" not in answer
    fill_treasury(STELLAR)
    [again] = make_settlements(member.merchant)
    assert pay_out(again).status == "completed"
    assert (again.destination, again.amount) == (failed.destination, failed.amount)


def test_one_that_waits_for_a_trustline_says_how_to_add_it_and_can_be_hurried(client: Client, member: Member) -> None:
    fill_treasury(STELLAR)
    waiting = fail(earn_and_settle(member.merchant, network=STELLAR), "no_trustline")
    page = client.get(page_of(waiting)).text
    assert "add the asset USDC of the issuer G" in page
    assert "Once the trustline is there" in page
    earn(member.merchant, network=STELLAR)
    listed = client.get("/dashboard/settlements").text
    assert "A settlement waits until this wallet holds the coin" in listed
    assert 'href="/dashboard/settlements?status=pending"' in listed
    accept_again(waiting)
    assert "We check the wallet again" in client.post(f"{page_of(waiting)}/retry", follow=True).text
    assert pay_out(waiting).status == "completed"


@pytest.mark.parametrize(
    ("problem", "words"),
    [("no_trustline", "this wallet did not hold USDC yet"), ("memo_required", "account required a memo")],
)
def test_the_preview_says_why_the_wallet_could_not_be_paid_when_last_asked_about(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch, problem: RecipientProblem, words: str
) -> None:
    fill_treasury(STELLAR)
    earn(member.merchant, network=STELLAR)
    wallet = WALLETS[STELLAR]
    control.describe_account(STELLAR, wallet, refuses=problem)
    monkeypatch.setattr(recipient_checks, "_needs_memo", {})  # a process of its own
    recipient_checks.query_wallet(Environment.SANDBOX, STELLAR, wallet, merchant_id=member.merchant.pk)
    with monkeypatch.context() as silent:
        silent.setattr(HotWallet, "check_recipient", None)
        for page in ("/dashboard/settlements", "/dashboard/settlements/now"):
            assert words in client.get(page).text
        reply = api_client(make_key(member.merchant)).call("GET", "/settlements/next").json()
    [planned] = reply["settlements"]
    assert (planned["problem"], words in planned["problemMessage"]) == (problem, True)
    control.describe_account(STELLAR, wallet, refuses="")
    [settlement] = make_settlements(member.merchant)
    assert pay_out(settlement).status == "completed"
    assert not RefusedWallet.objects.exists()


def test_the_overview_says_what_waits_for_a_wallet_until_it_is_paid(client: Client, member: Member) -> None:
    fill_treasury(STELLAR)
    waiting = earn_and_settle(member.merchant, network=STELLAR)
    words = "100.00 USDC cannot be paid yet: the wallet does not hold USDC."
    assert words not in client.get("/dashboard").text
    fail(waiting, "no_trustline")
    page = client.get("/dashboard").text
    assert words in page
    assert f'<a href="{page_of(waiting)}">What to do</a>' in page
    assert words not in browser_of(make_member(make_merchant())).get("/dashboard").text
    [other] = make_settlements_in("USDT", member)
    fail(other, "no_trustline")
    page = client.get("/dashboard").text
    assert "2 settlements wait for your wallets" in page
    assert 'href="/dashboard/settlements?status=pending"' in page


def make_settlements_in(currency: str, member: Member) -> list[Settlement]:
    change_settings(member, settlement_currency=currency)
    earn(member.merchant, network=STELLAR)
    return make_settlements(member.merchant)


def test_a_failed_one_can_be_paid_to_another_wallet(client: Client, member: Member) -> None:
    failed = fail(earn_and_settle(member.merchant, network=STELLAR))
    answer = client.post(f"{page_of(failed)}/wallet", {"wallet": f" {OTHER_WALLET} "}, follow=True).text
    assert "The money goes to the other wallet" in answer
    [again] = make_settlements(member.merchant)
    assert again.destination == OTHER_WALLET


@pytest.mark.parametrize(
    ("wallet", "words"),
    [
        ("", "Enter the wallet to pay instead."),
        ("my wallet", "field__error"),
        (WALLETS[STELLAR], "This is the wallet that could not be paid."),
    ],
)
def test_a_bad_wallet_is_refused_at_its_field(client: Client, member: Member, wallet: str, words: str) -> None:
    failed = fail(earn_and_settle(member.merchant, network=STELLAR))
    response = client.post(f"{page_of(failed)}/wallet", {"wallet": wallet})
    assert response.status_code == 400
    assert words in response.text
    assert response.context["form"].errors.keys() == {"wallet"}
    failed.refresh_from_db()
    assert not failed.may_retry
    assert BalanceChange.objects.get(settlement=None).wallet == failed.destination


def test_only_a_failed_settlement_can_be_tried_again(client: Client, member: Member) -> None:
    pending = earn_and_settle(member.merchant)
    answer = client.post(f"{page_of(pending)}/retry", follow=True).text
    assert "Only a settlement that failed can be paid again." in answer


def test_every_problem_and_every_reason_has_words() -> None:
    assert WHAT_NEXT.keys() == set(SettlementProblem)
    assert CARRIED.keys() == set(CarryReason)


# --- the statement -----------------------------------------------------------------------------------


def test_a_statement_is_downloaded_as_csv_or_json(client: Client, member: Member) -> None:
    settlement = earn_and_settle(member.merchant)
    csv_file = client.get(f"{page_of(settlement)}/statement")
    assert csv_file.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert csv_file.content.startswith(b"statement_version,settlement_id,")
    json_file = client.get(f"{page_of(settlement)}/statement?format=json")
    assert json_file.headers["Content-Type"] == "application/json"
    assert json_file.headers["Content-Disposition"].endswith(f'{settlement.public_id}.json"')
    assert json.loads(json_file.content)["coins"][0]["closingBalance"] == "100.000000"
    for form in ("bookings", "xero", "quickbooks"):
        file = client.get(f"{page_of(settlement)}/statement?format={form}")
        assert file.headers["Content-Disposition"].endswith(f'{form}.csv"')
    for query in ("format=pdf", "format=xero&coin=DAI"):
        assert client.get(f"{page_of(settlement)}/statement?{query}").status_code == 404


def test_a_statement_for_paper_has_every_line_and_balance(client: Client, member: Member) -> None:
    settlement = earn_and_settle(member.merchant)
    page = client.get(f"{page_of(settlement)}/print").text
    assert "Opening balance" in page
    assert "<strong>100.00 USDC</strong>" in page
    assert "data-print" in page


def test_the_next_three_runs_are_shown_with_their_offsets(client: Client, member: Member) -> None:
    change_settings(member, settlement_timezone="Asia/Kathmandu")
    run = client.get("/dashboard/settlements").context["next_run"]
    assert [each.endswith("00:00 (UTC+5:45)") for each in run.then] == [True, True]
    assert client.get("/dashboard/settings").text.count("(UTC+5:45)") == 2
