"""People of a merchant are removed in the admin by the same service as everywhere."""

from __future__ import annotations

import pytest
from django.test import Client

from merchants.models import Member, Merchant
from merchants.roles import Role
from tests.factories import make_member, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    return client


def save(operator: Client, merchant: Merchant, **rows: str) -> str:
    form = {
        "name": merchant.name,
        "email": merchant.email,
        "plan": merchant.plan,
        "requests_per_minute": "",
        "settings-TOTAL_FORMS": "0",
        "settings-INITIAL_FORMS": "0",
        **rows,
    }
    reply = operator.post(f"/admin/merchants/merchant/{merchant.pk}/change/", form, follow=True)
    assert reply.status_code == 200
    return reply.content.decode()


def test_the_last_owner_cannot_be_removed(operator: Client) -> None:
    owner = make_member(role=Role.OWNER)
    page = save(
        operator,
        owner.merchant,
        **{
            "members-TOTAL_FORMS": "1",
            "members-INITIAL_FORMS": "1",
            "members-0-id": str(owner.pk),
            "members-0-merchant": str(owner.merchant_id),
            "members-0-DELETE": "on",
        },
    )
    assert "needs at least one owner" in page
    assert Member.objects.filter(pk=owner.pk).exists()
