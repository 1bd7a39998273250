"""What operators see of refunds."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.factories import make_user
from tests.refunds.scenes import ask, paid, paid_by_two, resolve, wallet

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    return client


def test_refunds_are_listed_and_found(operator: Client) -> None:
    first, second = ask(paid(), "10"), ask(paid_by_two(), "20")
    resolve()
    page = operator.get("/admin/refunds/refund/").text
    for words in (
        first.public_id,
        second.public_id,
        "10.00 USDC",
        "Waiting for a transfer",
        "not asked",
    ):
        assert words in page
    for query, found in {
        first.public_id: first,
        second.payment.public_id: second,
        wallet(): first,
    }.items():
        page = operator.get("/admin/refunds/refund/", {"q": query}).text
        assert found.public_id in page
        assert (second if found == first else first).public_id not in page


def test_a_refund_is_read_only(operator: Client) -> None:
    refund = ask(paid(), "10")
    resolve()
    address = f"/admin/refunds/refund/{refund.pk}/change/"
    page = operator.get(address).text
    assert refund.payment.public_id in page
    assert 'name="_save"' not in page
    assert operator.post(address, {"status": "completed"}).status_code == 403
    assert operator.get("/admin/refunds/refund/add/").status_code == 403
