"""One field finds a payment by sixteen kinds of text, and never somebody else's."""

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
    metadata = {
        "order": f"SO-1042-{network}",
        "payer": {"name": f"李雷 {network}", "email": f"Ada.L@{network}.example"},
    }
    payment = make_payment(network, merchant=merchant, amount="1250.25", currency="EUR", metadata=metadata)
    pay(payment)
    confirm(payment)
    return payment


def found_by(client: Client, text: str) -> list[str]:
    found = client.get("/dashboard/find", {"q": text}).json()["payments"]
    return [each["address"].rpartition("/")[2] for each in found]


def sixteen_kinds(polygon: Payment, stellar: Payment) -> dict[str, tuple[str, list[str]]]:
    """A text of each kind, and the payments that it finds of these two, which `made` has made."""
    deposit = polygon.deposits.get()
    one, both = [polygon.public_id], [stellar.public_id, polygon.public_id]
    return {
        "id": (polygon.public_id, one),
        "end of an id": (polygon.public_id[-8:], one),
        "transaction hash": (deposit.transaction_hash, one),
        "middle of a hash": (deposit.transaction_hash[30:42], one),
        "end of a hash": (deposit.transaction_hash[-6:], one),
        "middle of an address": (polygon.deposit_address[12:22].upper(), one),
        "deposit address": (polygon.deposit_address, one),
        "address of the sender": (deposit.sender, one),
        "memo": (stellar.memo, [stellar.public_id]),
        "value in the metadata": ("SO-1042-polygon", one),
        "part of such a value": ("1042-poly", one),
        "two characters of a name": ("李雷", both),
        "e-mail address in it": ("ada.l@polygon.example", one),
        "part of an e-mail address": ("@POLYGON.ex", one),
        "price": ("1,250.25 EUR", both),
        "amount in coins": (f"{polygon.due // 10**6}.", both),
    }


def test_sixteen_kinds_of_text_find_a_payment() -> None:
    merchant, other = make_merchant(), make_merchant()
    polygon, stellar = made(merchant, POLYGON), made(merchant, STELLAR)
    make_payment(POLYGON, merchant=merchant, amount="9", metadata={"order": "SO-9"})
    foreign = made(other, POLYGON)
    index_payments()
    client, stranger = browser_of(make_member(merchant)), browser_of(make_member(other))
    kinds = sixteen_kinds(polygon, stellar)
    assert len(kinds) == 16
    assert {kind: found_by(client, text) for kind, (text, _) in kinds.items()} == {
        kind: expected for kind, (_, expected) in kinds.items()
    }
    own = {foreign.public_id}
    assert {kind for kind, (text, _) in kinds.items() if not own >= set(found_by(stranger, text))} == set()
