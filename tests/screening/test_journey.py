"""From an imported list to money that its merchant has: what operators and the merchant see on the way."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from merchants.four_eyes.models import Proposal
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.deposits import crediting
from payments.models import Deposit, Payment
from payments.monitoring.tasks import raise_alarms
from tests.admin.test_today import row_of, today
from tests.dashboard.conftest import browser_of
from tests.factories import make_member
from tests.networks import ETHEREUM
from tests.operations.test_admin import operator
from tests.payments.scenes import assert_all_is_well, confirm, make_payment, now, part_of

pytestmark = pytest.mark.django_db


def act(client: Client, model: str, action: str, key: object, **more: str) -> str:
    listing = reverse(f"admin:{model}_changelist")
    chosen = {"action": action, "_selected_action": [str(key)], **more}
    return " ".join(client.post(listing, chosen, follow=True).text.split())


def shown_to_merchant(browser: Client, payment: Payment) -> str:
    return " ".join(browser.get(f"/dashboard/payments/{payment.public_id}").text.split())


def test_a_sanctioned_sender_is_held_found_released_by_two_and_credited(tmp_path: Path) -> None:
    sender, file = address_named(ETHEREUM, "listed"), tmp_path / "list.csv"
    file.write_text(f"address,name,programme\n{sender},Invented PERSON,CYBER2\n")
    call_command("sanctions", "import", str(file), source="ofac", stdout=StringIO())
    member = make_member()
    browser, payment = browser_of(member), make_payment(merchant=member.merchant)
    control.pay_together(ETHEREUM, [part_of(payment, "100")], sender=sender)
    payment = confirm(payment)
    deposit = Deposit.objects.get()

    raise_alarms()
    ada, ben = operator(), operator()
    first = today(ada)
    assert row_of(first, "Money held for review")[1:4:2] == ["1", "100.00 USD"]
    assert row_of(first, "Decisions of merchants") == []
    assert f"{sender} is named by ofac (list.csv" in first
    seen = shown_to_merchant(browser, payment)
    assert "Held for review" in seen
    assert all(hidden not in seen for hidden in ("ofac", "PERSON", "CYBER2"))

    question = act(ada, "payments_deposit", "release", deposit.pk)
    assert "is named by ofac" in question
    act(ada, "payments_deposit", "release", deposit.pk, confirmed="yes", note="Another person of that name")
    assert now(payment).status == "created"
    proposal = Proposal.objects.get()
    link = reverse("admin:four_eyes_proposal_change", args=[proposal.pk])
    assert (link in today(ada), link in today(ben)) == (False, True)
    act(ben, "four_eyes_proposal", "agree", proposal.pk, confirmed="yes")
    crediting.assess_due()
    raise_alarms()
    assert (now(payment).status, now(payment).status_reasons) == ("completed", [])
    assert "is named by ofac" not in today(ben)
    seen = shown_to_merchant(browser, payment)
    assert "Held for review" not in seen
    assert_all_is_well()
