"""The strip of a simulated payment's page, where whoever has the page plays its payer."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from config.environments import Environment
from payments.chains.simulated.models import SimulatedTransfer
from payments.checkout.simulator import PAYER_SCENARIOS, SCENARIOS
from payments.models import Payment
from tests.dashboard.paying import make, page_of
from tests.payments.scenes import POLYGON, STELLAR

pytestmark = pytest.mark.django_db

NETWORK_ALONE = {"two_transfers", "reorg", "outage", "memo_conflict"}
"""What no payer does, or what others on the network would notice."""


def offered(page: str) -> set[str]:
    return set(re.findall(r'name="scenario"\s+value="(\w+)"', page))


@pytest.mark.parametrize(
    ("network", "not_there"), [(POLYGON, {"missing_memo", "from_exchange"}), (STELLAR, {"wrong_network"})]
)
def test_the_page_offers_what_a_payer_can_do_on_its_network(network: str, not_there: set[str]) -> None:
    payment = make(network)
    assert offered(page_of(payment)) == set(PAYER_SCENARIOS) - not_there
    assert set(PAYER_SCENARIOS) == set(SCENARIOS) - NETWORK_ALONE


def test_a_press_pays_and_leads_back_to_the_page_without_a_session_or_cookies() -> None:
    payment, client = make(), Client(enforce_csrf_checks=True)
    reply = client.post(f"/pay/{payment.public_id}/simulate", {"scenario": "exact"})
    assert (reply.status_code, reply.headers["Location"]) == (302, f"/pay/{payment.public_id}")
    came = SimulatedTransfer.objects.filter(recipient=payment.deposit_address)
    assert [int(each.amount) for each in came] == [payment.due]
    for scenario in ("outage", "reorg", "nonsense", ""):
        assert client.post(f"/pay/{payment.public_id}/simulate", {"scenario": scenario}).status_code == 302
    assert came.count() == 1


def test_nothing_is_simulated_where_money_or_the_network_is_real(settings: Settings) -> None:
    real, testnet = make(), make()
    Payment.objects.filter(pk=real.pk).update(environment=Environment.PRODUCTION)
    assert Client().post(f"/pay/{real.public_id}/simulate", {"scenario": "exact"}).status_code == 404
    assert "sandbox-strip" not in page_of(real)
    settings.SANDBOX_CHAIN = "testnet"
    assert Client().post(f"/pay/{testnet.public_id}/simulate", {"scenario": "exact"}).status_code == 404
    page = page_of(testnet)
    assert offered(page) == set()
    assert "sandbox-strip" in page
    assert SimulatedTransfer.objects.count() == 0


def test_who_presses_without_end_is_asked_to_wait() -> None:
    payment = make()
    codes = [
        Client().post(f"/pay/{payment.public_id}/simulate", {"scenario": "nothing"}).status_code for _press in range(21)
    ]
    assert codes == [302] * 20 + [429]
