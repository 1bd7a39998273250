"""The first page of the admin: what is wrong, what waits, and how networks are doing, to whom they may be shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from merchants.four_eyes.models import ProposalKind
from merchants.four_eyes.services import propose
from merchants.ledger.models import Stop
from payments.models import Discrepancy
from payments.monitoring.models import Alarm
from payments.monitoring.today import waiting
from tests.factories import make_user
from tests.operations.scenes import SANDBOX, look, there_is
from tests.operations.test_admin import LOW, operator
from tests.payments.scenes import ETHEREUM, make_payment, pay_and_confirm
from tests.stopping import stop_payouts
from tests.transfers.scenes import COIN, ask, stock

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[2]
MOST_QUERIES = 16


def today(client: Client) -> str:
    response = client.get(reverse("admin:index"))
    assert response.status_code == 200
    return " ".join(response.text.split())


def row_of(shown: str, title: str) -> list[str]:
    """The cells of what waits, without their tags."""
    found = re.search(rf"<tr>(?:(?!</tr>).)*{re.escape(title)}.*?</tr>", shown)
    cells = re.findall(r"<t[hd].*?>(.*?)</t[hd]>", found[0]) if found else []
    return [re.sub("<.*?>", "", cell).replace("\xa0", " ").strip() for cell in cells]


def everybody_who_looks(*, is_superuser: bool) -> Client:
    user = make_user(is_staff=True, is_superuser=is_superuser)
    if not is_superuser:
        user.user_permissions.set(Permission.objects.all())
    client = Client()
    client.force_login(user)
    return client


def test_money_that_waits_is_counted_with_its_worth_and_leads_to_its_list() -> None:
    for _ in range(2):
        pay_and_confirm(make_payment(), "1200.50")
    assert Discrepancy.objects.count() == 2
    shown = today(operator())
    assert row_of(shown, "Decisions of merchants")[1] == "2"
    assert row_of(shown, "Decisions of merchants")[3] == "2,201.00 USD"
    [address] = re.findall(r'href="([^"]*)">Decisions of merchants', shown)
    found = operator().get(address.replace("&amp;", "&")).context["cl"]
    assert (found.result_count, found.get_filters_params()["payment__isempty"]) == (2, ["0"])


def test_more_than_are_counted_are_shown_as_so_many_and_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_COUNTED", 1)
    for _ in range(3):
        pay_and_confirm(make_payment(), "101")
    assert row_of(today(operator()), "Decisions of merchants")[1] == "1+"


def test_the_list_of_everything_that_waits_can_be_opened() -> None:
    client = operator()
    for kind in waiting.kinds():
        meta = kind.model._meta
        shown = {**(kind.shown or {}), **({"environment__exact": SANDBOX} if kind.has_environments else {})}
        response = client.get(reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist"), shown)
        assert response.status_code == 200, kind.title


def test_proposals_are_shown_to_those_who_may_agree() -> None:
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="does not add up")
    stop = Stop.objects.get()
    ada = make_user(is_staff=True, is_superuser=True)
    proposal = propose(
        ProposalKind.BREAKER, environment=SANDBOX, subject=stop.pk, before={}, after={"lifted": True}, by=ada
    )
    client = Client()
    client.force_login(ada)
    link = reverse("admin:four_eyes_proposal_change", args=[proposal.pk])
    assert link not in today(client)
    assert link in today(operator())
    assert link in today(operator("view_proposal", "change_stop"))
    assert link not in today(operator("view_proposal"))


def test_networks_say_what_their_wallet_covers() -> None:
    look()
    stock(ETHEREUM, 10 * COIN)
    ask(ETHEREUM, 4 * COIN)
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="does not add up")
    shown = today(operator())
    assert "10.00 USDC in the hot wallet" in shown
    assert "covers the 4.00 USDC that wait" in shown
    assert "does not add up" in shown
    assert "hot wallet" not in today(operator("view_networksnapshot"))


def test_an_alarm_is_acknowledged_where_it_is_shown() -> None:
    there_is(LOW)
    alarm = Alarm.objects.get()
    address = reverse("admin:index")
    assert operator("view_alarm").post(address, {"alarm": alarm.pk}).status_code == 403
    client = operator()
    assert "Acknowledge" in today(client)
    assert f"You look after: {alarm}." in client.post(address, {"alarm": alarm.pk}, follow=True).text
    assert "Acknowledge<" not in today(client)
    assert (runbook := "/docs/runbooks/gas_tank_low") in today(client)
    assert Client().get(runbook).status_code == 200
    assert LogEntry.objects.get().change_message == "Acknowledged."
    for nonsense in ("", "0", "x", "9" * 30):
        assert client.post(address, {"alarm": nonsense}).status_code == 404


@pytest.mark.parametrize(("is_superuser", "number"), [(True, 14), (False, 16)])
def test_it_takes_few_queries_whatever_there_is(is_superuser: bool, number: int) -> None:
    client = everybody_who_looks(is_superuser=is_superuser)
    look()
    today(client)
    for is_busy in (False, True):
        if is_busy:
            there_is(LOW)
            pay_and_confirm(make_payment(), "101")
            stock(ETHEREUM, 10 * COIN)
            ask(ETHEREUM)
            stop_payouts(environment=SANDBOX, reason="all of it")
        with CaptureQueriesContext(connection) as queries:
            today(client)
        assert len(queries) == number <= MOST_QUERIES, "\n".join(each["sql"][:150] for each in queries)
