"""One field finds a payment by twelve kinds of text, and never somebody else's."""

from __future__ import annotations

import pytest
from django.test import Client

from merchants.models import Merchant
from payments.dashboard.search.indexing import index_payments
from payments.models import Payment
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.payments.scenes import POLYGON, STELLAR, confirm, make_payment, pay

pytestmark = pytest.mark.django_db


def made(merchant: Merchant, network: str) -> Payment:
    metadata = {"order": f"SO-1042-{network}", "payer": {"email": f"Ada.L@{network}.example"}}
    payment = make_payment(network, merchant=merchant, amount="1250.25", currency="EUR", metadata=metadata)
    pay(payment)
    confirm(payment)
    return payment


def found_by(client: Client, text: str) -> list[str]:
    found = client.get("/dashboard/find", {"q": text}).json()["payments"]
    return [each["address"].rpartition("/")[2] for each in found]


def twelve_kinds(polygon: Payment, stellar: Payment) -> dict[str, tuple[str, list[str]]]:
    """A text of each kind, and the payments that it finds of these two, which `made` has made."""
    deposit = polygon.deposits.get()
    one, both = [polygon.public_id], [stellar.public_id, polygon.public_id]
    return {
        "id": (polygon.public_id, one),
        "part of an id": (polygon.public_id[-9:-1], one),
        "transaction hash": (deposit.transaction_hash, one),
        "deposit address": (polygon.deposit_address, one),
        "address of the sender": (deposit.sender, one),
        "memo": (stellar.memo, [stellar.public_id]),
        "value in the metadata": ("SO-1042-polygon", one),
        "part of such a value": ("1042-poly", one),
        "e-mail address in it": ("ada.l@polygon.example", one),
        "part of an e-mail address": ("@POLYGON.ex", one),
        "price": ("1,250.25 EUR", both),
        "amount in coins": (f"{polygon.due // 10**6}.", both),
    }


def test_twelve_kinds_of_text_find_a_payment() -> None:
    merchant, other = make_merchant(), make_merchant()
    polygon, stellar = made(merchant, POLYGON), made(merchant, STELLAR)
    make_payment(POLYGON, merchant=merchant, amount="9", metadata={"order": "SO-9"})
    foreign = made(other, POLYGON)
    index_payments()
    client, stranger = browser_of(make_member(merchant)), browser_of(make_member(other))
    kinds = twelve_kinds(polygon, stellar)
    assert len(kinds) == 12
    assert {kind: found_by(client, text) for kind, (text, _) in kinds.items()} == {
        kind: expected for kind, (_, expected) in kinds.items()
    }
    own = {foreign.public_id}
    assert {kind for kind, (text, _) in kinds.items() if not own >= set(found_by(stranger, text))} == set()
