"""The first steps: each is done when it has really happened, and each member may take them off the overview."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config.environments import Environment
from merchants.models import ApiKey, Member
from merchants.roles import Role
from payments.merchant_wallets.proving import simulate_proof
from tests.dashboard.conftest import browser_of
from tests.factories import make_key, make_member
from tests.merchant_wallets.scenes import FIRST, name
from tests.payments.scenes import make_payment, pay_and_confirm
from webhooks.models import Delivery
from webhooks.services import register_endpoint, send_test
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db

PAGE = "/dashboard/first-steps"
OFFERED = "the first steps show what is done"


def done(client: Client) -> int:
    """How many steps the page shows as done."""
    return int(client.get(PAGE).context["first_steps"].done)


def test_a_step_is_done_once_it_has_happened_and_not_before(client: Client, member: Member) -> None:
    merchant, sandbox = member.merchant, Environment.SANDBOX
    assert done(client) == 0

    key = make_key(merchant).key
    assert done(client) == 0
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=timezone.now())
    assert done(client) == 1

    payment = make_payment(merchant=merchant)
    assert done(client) == 1
    pay_and_confirm(payment)
    assert done(client) == 2

    endpoint, _ = register_endpoint(merchant=merchant, environment=sandbox, url="https://harbourcoffee.example/ballast")
    delivery = send_test(endpoint=endpoint)
    assert done(client) == 2
    Delivery.objects.filter(pk=delivery.pk).update(
        status=DeliveryStatus.DELIVERED, delivered_at=timezone.now(), next_attempt_at=None
    )
    assert done(client) == 3

    wallet = name(member, FIRST)
    assert done(client) == 3
    simulate_proof(wallet)
    assert done(client) == 4


def test_a_payment_by_link_is_the_first_of_them(client: Client) -> None:
    first, *others = client.get(PAGE).context["first_steps"].steps
    assert (first.url, first.title) == ("/dashboard/links/new", "Complete a test payment")
    assert "/dashboard/keys/new" in [each.url for each in others]


def test_the_page_costs_the_same_whatever_has_happened(
    client: Client, member: Member, django_assert_max_num_queries: Any
) -> None:
    make_payment(merchant=member.merchant)
    with django_assert_max_num_queries(12):
        client.get(PAGE)


def test_a_member_hides_them_for_nobody_else_and_finds_them_again(client: Client, member: Member) -> None:
    make_payment(merchant=member.merchant)
    colleague = browser_of(make_member(member.merchant))
    page = client.get("/dashboard").text
    assert OFFERED in page
    assert f'action="{PAGE}/hide"' in page
    client.post(f"{PAGE}/hide")
    assert OFFERED not in client.get("/dashboard").text
    assert OFFERED in colleague.get("/dashboard").text
    assert "0 of 5 done" in client.get(PAGE).text
    client.post(f"{PAGE}/hide", {"show": "yes"})
    assert OFFERED in client.get("/dashboard").text


def test_the_overview_points_nobody_to_steps_that_are_not_for_them(member: Member) -> None:
    pages = {role: browser_of(make_member(member.merchant, role=role)) for role in Role}
    assert [role for role, page in pages.items() if not page.get("/dashboard").context["first_steps"]] == [Role.VIEWER]
    make_payment(merchant=member.merchant)
    assert [role for role, page in pages.items() if OFFERED not in page.get("/dashboard").text] == [Role.VIEWER]
