"""Operators may look at the simulated networks and change nothing."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from payments.chains.simulated.models import SimulatedTransaction
from tests.chains.contract import Scene
from tests.chains.simulation import Simulation

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stopped_clock")]


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("operator@example.com", "correct horse battery"))
    return client


def test_transactions_are_listed_found_and_shown_with_their_transfers(operator: Client) -> None:
    scene = Scene(Simulation("stellar"))
    transaction_hash = scene.pay(12_345)
    scene.harness.mine()
    found = operator.get("/admin/simulated_chain/simulatedtransaction/", {"q": transaction_hash})
    assert transaction_hash in found.content.decode()
    key = SimulatedTransaction.objects.get(transaction_hash=transaction_hash).pk
    shown = operator.get(f"/admin/simulated_chain/simulatedtransaction/{key}/change/").content.decode()
    assert "12345" in shown
    assert scene.to.address in shown


@pytest.mark.parametrize("model", ["simulatedtransaction", "simulatednetwork"])
def test_nothing_can_be_added_or_deleted(operator: Client, model: str) -> None:
    scene = Scene(Simulation("stellar"))
    scene.pay()
    key = "stellar" if model == "simulatednetwork" else SimulatedTransaction.objects.latest("id").pk
    assert operator.get(f"/admin/simulated_chain/{model}/add/").status_code == 403
    assert operator.post(f"/admin/simulated_chain/{model}/{key}/change/", {}).status_code == 403
    assert operator.post(f"/admin/simulated_chain/{model}/{key}/delete/", {"post": "yes"}).status_code == 403
