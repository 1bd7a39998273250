"""One field finds every record by what an operator has of it, and shows nobody what they may not see."""

from __future__ import annotations

import re
from html import unescape
from typing import Any, NamedTuple

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from config.admin.search import KINDS
from config.admin.values import page_of
from config.pages.wording import short_hash, short_id
from merchants.ledger.models import Posting
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.claims import lookup
from payments.dashboard.search import everywhere
from payments.dashboard.search.indexing import index_payments
from payments.deposits.models import ReadingRequest
from payments.models import Payment
from payments.transfers.models import Envelope, Payout
from tests.dashboard.addresses import Records, make_records
from tests.factories import make_merchant
from tests.operations.test_admin import operator
from tests.payments.claiming import UNKNOWN, skip_unread_blocks
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    confirm,
    make_payment,
    mine,
    mine_and_watch,
    pay,
    watch,
)
from tests.transfers.scenes import COIN, finish, stock, the_wallet
from tests.transfers.scenes import ask as request_payout
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db

SEARCH = reverse("operators_search")
MOST_QUERIES = 30


class World(NamedTuple):
    records: Records
    polygon: Payment
    stellar: Payment


@pytest.fixture
@populated_once
def world(db: None) -> World:
    """Records of one merchant, and two payments of others."""
    records = make_records(make_merchant("Harbour Coffee"))
    metadata = {"order": "SO-1042", "payer": {"email": "Ada.L@polygon.example"}}
    polygon = make_payment(POLYGON, merchant=make_merchant("Ada's Books"), amount="1250.25", metadata=metadata)
    stellar = make_payment(STELLAR, merchant=make_merchant("李雷 Tea"), amount="77.10", currency="EUR")
    for payment in (polygon, stellar):
        pay(payment)
        confirm(payment)
    index_payments()
    stock(POLYGON, 10 * COIN)
    request_payout(POLYGON, 4 * COIN)
    finish(POLYGON)
    return World(records, polygon, stellar)


def found(client: Client, text: str, **more: Any) -> list[str]:
    """Addresses of the records that were found."""
    response = client.get(SEARCH, {"q": text, **more})
    assert response.status_code == 200
    [content] = re.findall(r'<div id="content".*', response.text, re.DOTALL)
    return [unescape(each) for each in re.findall(r'<li>\s*<a href="([^"?]*)">', content)]


def of(record: Any) -> str:
    return page_of(type(record), record.pk)


def texts(world: World) -> dict[str, tuple[str, Any]]:
    """What is typed, and a record that it has to find."""
    records, polygon, stellar = world
    deposit, coming = polygon.deposits.get(), stellar.deposits.get()
    payout, envelope = Payout.objects.latest("pk"), Envelope.objects.latest("pk")
    bare = deposit.transaction_hash.removeprefix("0x")
    return {
        "id": (polygon.public_id, polygon),
        "id in capitals, with spaces": (f" {polygon.public_id.upper()} ", polygon),
        "end of an id": (polygon.public_id[-8:], polygon),
        "end of an id as the dashboard shows it": (short_id(polygon.public_id), polygon),
        "beginning of an id": (polygon.public_id[:22], polygon),
        "middle of a payment's id": (polygon.public_id[14:24], polygon),
        "key": (str(polygon.pk), polygon),
        "hash": (deposit.transaction_hash, polygon),
        "hash of a deposit": (deposit.transaction_hash, deposit),
        "hash without its prefix": (bare, polygon),
        "part of a hash": (bare[30:42], polygon),
        "hash as pages show it": (short_hash(deposit.transaction_hash), polygon),
        "deposit address": (polygon.deposit_address, polygon),
        "deposit address in lower case": (polygon.deposit_address.lower(), polygon),
        "part of an address": (polygon.deposit_address[12:22].upper(), polygon),
        "sender": (deposit.sender, deposit),
        "memo": (stellar.memo, stellar),
        "sender's payment": (coming.sender, stellar),
        "order": ("so-1042", polygon),
        "e-mail address of a payer": ("ada.l@POLYGON", polygon),
        "price": ("1,250.25", polygon),
        "price with a comma and currency": ("77,10 EUR", stellar),
        "coins": (f"{polygon.due // 10**polygon.decimals},25 {polygon.cryptocurrency}", polygon),
        "coins of a deposit": (f"{deposit.amount / 10**deposit.decimals:.2f}", deposit),
        "name of a merchant": ("harbour", records.payment.merchant),
        "two characters of a name": ("李雷", stellar.merchant),
        "end of a refund's id": (records.refund.public_id[-6:], records.refund),
        "end of a settlement's id": (short_id(records.settlement.public_id), records.settlement),
        "destination of a settlement": (records.settlement.destination[5:15], records.settlement),
        "reference of a payout": (payout.reference, payout),
        "hash of a payout": (envelope.transaction_hash, envelope.transfer),
        "number of an invoice": (records.invoice.number, records.invoice),
        "code of a link": (records.link.code, records.link),
        "address of a webhook": ("harbourcoffee.example", records.webhook),
        "delivery": (records.delivery.public_id, records.delivery),
        "public key": (records.key.public_key, records.key),
        "posting": (Posting.objects.latest("pk").reference, Posting.objects.latest("pk")),
    }


def test_a_record_is_found_by_whatever_is_known_of_it(world: World) -> None:
    """Each kind of text, in few queries; what is found has a page."""
    client = operator()
    table, every = texts(world), set()
    missed, most = {}, 0
    client.get(SEARCH)
    for kind, (text, record) in table.items():
        with CaptureQueriesContext(connection) as queries:
            addresses = found(client, text)
        most = max(most, len(queries))
        every |= {*addresses}
        if of(record) not in addresses:
            missed[kind] = text
    assert missed == {}
    assert most <= MOST_QUERIES
    assert len(every) > 15
    assert {address: client.get(address).status_code for address in every} == dict.fromkeys(every, 200)
    assert found(client, "no-such-text") == found(client, "%") == found(client, "") == []
    assert "Nothing that you may see has “no-such-text”." in client.get(SEARCH, {"q": "no-such-text"}).text
    shown = " ".join(client.get(SEARCH, {"q": "so-1042"}).text.split())
    assert f"{world.polygon.public_id}</a> <div>Order: <mark>SO-1042</mark></div>" in shown
    assert "Name: <mark>Harbour</mark> Coffee" in " ".join(client.get(SEARCH, {"q": "harbour"}).text.split())


def test_only_kinds_that_a_person_may_view_are_found(world: World) -> None:
    """By the texts of its own records and by those that are in records of many kinds."""
    table, of_many = texts(world), ("Harbour", "1250", "polygon")
    kinds = {type(record) for _, record in table.values()}
    for model in sorted(kinds, key=str):
        prefix = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        client = operator(f"view_{model._meta.model_name}")
        own = [text for text, record in table.values() if type(record) is model]
        every = [address for text in (*own, *of_many) for address in found(client, text)]
        assert every, model
        assert [address for address in every if not address.startswith(prefix)] == []
    assert [found(operator("view_stop"), text) for text, _ in table.values()] == [[]] * len(table)
    assert Client().get(SEARCH, {"q": "harbour"}).status_code == 302


def test_payments_of_further_merchants_are_looked_through_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = [make_payment(merchant=make_merchant(), metadata={"order": order}) for order in ("SO-1042", "SO-7")]
    index_payments()
    monkeypatch.setattr(everywhere, "NEWEST", 0)
    monkeypatch.setattr(everywhere, "MOST_SPANS", 1)
    client, text = operator(), "SO-1042"
    assert found(client, text) == []
    following, seen = client.get(SEARCH, {"q": text}).context["following"], []
    while following:
        seen += found(client, text, **{"from": following})
        following = client.get(SEARCH, {"q": text, "from": following}).context["following"]
    assert seen == [of(first)]
    for nonsense in ("x", "-1", "9" * 30, "99"):
        assert found(client, text, **{"from": nonsense}) == []


@pytest.mark.parametrize(
    "text", ["a\0b", "…", "...…", "9" * 24, "9" * 24 + " USD", "(", "a…(", "\\", "%_%", "١٢٣", "0" * 200]
)
def test_nothing_that_is_typed_breaks_it(text: str) -> None:
    make_payment()
    index_payments()
    assert found(operator(), text) == []


def test_every_kind_has_a_page_and_the_columns_that_it_is_found_by() -> None:
    models = {model._meta.label: model for model in admin.site._registry}
    assert set(models) >= set(KINDS)
    for label, kind in KINDS.items():
        names = {str(field.column) for field in models[label]._meta.local_concrete_fields}
        assert names >= {*kind.parts, *filter(None, [kind.coin])}, label


def networks_said(client: Client, text: str, **more: Any) -> dict[str, str]:
    """The words of each network, with its transfers."""
    replies = client.get(SEARCH, {"q": text, **more}).context.get("replies") or []
    return {reply.place: " ".join([reply.words, *(line.words for line in reply.lines)]) for reply in replies}


def test_a_hash_on_no_record_is_looked_up_on_the_networks_that_have_such_hashes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = operator()
    known = "It knows no transaction with this hash."
    ethereum, polygon, stellar = (f"{name} (simulated), sandbox" for name in ("Ethereum", "Polygon", "Stellar"))
    assert networks_said(client, UNKNOWN) == {ethereum: known, polygon: known}
    assert networks_said(client, UNKNOWN.removeprefix("0x")) == {stellar: known}
    assert networks_said(client, UNKNOWN[:-1]) == networks_said(client, "harbour") == {}
    assert networks_said(operator("view_refund"), UNKNOWN) == {}
    control.outage(ETHEREUM, 60)
    said = networks_said(client, UNKNOWN)
    assert said[ethereum] == "Its providers did not answer, or not alike: nothing is known. Try again shortly."
    assert said[polygon] == known
    monkeypatch.setattr(lookup, "LONGEST_SECONDS", 0)
    assert networks_said(client, UNKNOWN)[polygon].startswith("It was not queried")


def test_money_that_was_never_seen_is_explained_and_read_again_by_a_button() -> None:
    payment = make_payment(POLYGON)
    watch()
    transaction_hash = pay(payment)
    mine(POLYGON, 10)
    skip_unread_blocks(POLYGON)
    watch()
    client, polygon = operator(), "Polygon (simulated), sandbox"
    assert lookup.UNREAD in networks_said(client, transaction_hash.upper().replace("X", "x"))[polygon]
    assert of(payment) in client.get(SEARCH, {"q": transaction_hash}).text
    assert not ReadingRequest.objects.exists()
    assert operator("view_payment").post(SEARCH, {"q": transaction_hash}).status_code == 403
    assert "Read it again now" not in operator("view_payment").get(SEARCH, {"q": transaction_hash}).text
    assert "Read it again now" in client.get(SEARCH, {"q": transaction_hash}).text
    assert "Its transaction is being read again now" in client.post(SEARCH, {"q": transaction_hash}).text
    assert ReadingRequest.objects.get().transaction_hash == transaction_hash
    mine_and_watch(POLYGON)
    assert networks_said(client, transaction_hash) == {}  # it is on record: networks are asked on request alone
    assert "Look this hash up on the networks" in client.get(SEARCH, {"q": transaction_hash}).text
    assert "credited" in networks_said(client, transaction_hash, ask=1)[polygon]


def test_a_transfer_to_nobody_or_to_the_hot_wallet_is_said_to_be_that() -> None:
    stock(ETHEREUM, COIN)
    stranger = address_named(ETHEREUM, "stranger")
    request_payout(ETHEREUM)
    finish(ETHEREUM)
    contract = registry.asset(SANDBOX, ETHEREUM, "USDC").contract
    parts = [control.Part(contract, COIN, to) for to in (stranger, the_wallet(ETHEREUM).address)]
    transaction_hash = control.pay_together(ETHEREUM, parts)
    control.mine(ETHEREUM)
    said = networks_said(operator(), transaction_hash)["Ethereum (simulated), sandbox"]
    assert f"to {stranger}. It is no address of ours." in said
    assert f"to {the_wallet(ETHEREUM).address}. That is the hot wallet." in said
