"""Mails about proposals that wait: to the operators who wish them and may agree, and to nobody else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.four_eyes.models import ProposalKind
from merchants.four_eyes.services import propose
from merchants.ledger.models import Stop
from merchants.models import User
from merchants.people.models import Mail
from tests.factories import make_user
from tests.stopping import stop_payouts
from tests.transfers.scenes import ETHEREUM, SANDBOX

pytestmark = pytest.mark.django_db


def operator(email: str, *permissions: str, **fields: object) -> User:
    user = make_user(email, is_staff=True, **{"mails_proposals": True, **fields})
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def test_an_operator_wishes_it_on_their_own_page() -> None:
    ada, client = operator("ada@example.com", "view_proposal", mails_proposals=False), Client()
    client.force_login(ada)
    page = reverse("operators_account")
    for entered in ({"mails_proposals": "on"}, {}):
        assert "mails_proposals" in client.post(page, entered, follow=True).text
        ada.refresh_from_db()
        assert ada.mails_proposals == bool(entered)


@pytest.mark.parametrize("people_needed", [2, 1])
def test_who_wishes_it_and_may_agree_gets_a_mail(settings: Settings, people_needed: int) -> None:
    settings.SANDBOX_OPERATORS_TO_DECIDE = people_needed
    rights = ("view_proposal", "change_stop")
    ada = operator("ada@example.com", *rights)
    operator("ben@example.com", *rights)
    operator("superuser@example.com", is_superuser=True)
    operator("without-wish@example.com", *rights, mails_proposals=False)
    operator("without-right@example.com", "view_proposal")
    operator("without-list@example.com", "change_stop")
    operator("left@example.com", *rights, is_active=False)
    operator("reset@example.com", *rights, credentials_reset_at=timezone.now() - timedelta(hours=1))
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="does not add up")
    change: dict[str, Any] = {"environment": SANDBOX, "subject": Stop.objects.get().pk, "after": {"lifted": True}}
    proposal = propose(ProposalKind.BREAKER, **change, by=ada)
    if people_needed == 2:
        assert propose(ProposalKind.BREAKER, **change, by=ada) == proposal  # again, and no second mail
    mails = Mail.objects.order_by("to")
    expected = ["ben@example.com", "superuser@example.com"] if people_needed == 2 else []
    assert [mail.to for mail in mails] == expected
    for mail in mails:
        assert mail.subject == "[Ballast] A proposal waits: Stop of a network, a coin or a merchant"
        assert f"/admin/four_eyes/proposal/{proposal.pk}/change/" in mail.text
        assert str(proposal) in mail.text
