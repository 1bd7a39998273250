"""What an operator reads of one record: its money, what happened, its transfers, its postings, and what people did."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django.fixtures import Settings

from merchants.ledger import stops
from merchants.ledger.models import Posting
from merchants.models import Merchant
from payments.deposits.watching import request_range
from payments.models import Payment
from payments.monitoring.models import NetworkSnapshot
from payments.stories.postings import cause_of
from payments.treasury.models import Sweep
from payments.treasury.sweeping import request_sweep
from refunds.models import Refund
from settlements.models import Settlement
from tests.dashboard.addresses import make_records
from tests.factories import make_merchant, make_user
from tests.losses.scenes import sweep
from tests.networks import ETHEREUM
from tests.operations.scenes import look
from tests.payments.scenes import SANDBOX, make_payment, pay_and_confirm
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture
@populated_once
def merchant(db: None) -> Merchant:
    merchant = make_merchant("Harbour Coffee")
    make_records(merchant)
    return merchant


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(make_user(email="ada@example.com", name="Ada", is_staff=True, is_superuser=True))
    return client


def page_of(client: Client, row: Model) -> str:
    address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    with CaptureQueriesContext(connection) as queries:
        response = client.get(address)
    assert (response.status_code, len(queries) <= 50) == (200, True), len(queries)
    return response.text


def missing(page: str, *words: str) -> list[str]:
    return [each for each in words if each not in page]


def test_a_payment_tells_its_story_and_a_refund_and_a_settlement_theirs(client: Client, merchant: Merchant) -> None:
    refund, settlement = Refund.objects.get(), Settlement.objects.get()
    told: dict[Model, tuple[str, ...]] = {
        refund.payment: (
            "Asked for",
            "What happened",
            "Transfers in",
            "Deposit credited",
            "Available to a merchant, Harbour Coffee",
            "Refunds",
            "the next settlement",
            "payment.completed",
        ),
        refund: ("refund.requires_action",),
        settlement: ("What it settles", "settlement.created"),
        merchant: ("Balances", "Latest payments (Sandbox)"),
    }
    assert {row: found for row, words in told.items() if (found := missing(page_of(client, row), *words))} == {}


def test_a_payment_leads_to_the_settlement_that_paid_it_out_and_that_leads_back(
    client: Client, merchant: Merchant
) -> None:
    settlement = Settlement.objects.get()
    payment = Payment.objects.get(balance_changes__settlement=settlement.pk)
    pairs: tuple[tuple[Model, Model], ...] = ((payment, settlement), (settlement, payment))
    for here, there in pairs:
        address = reverse(f"admin:{there._meta.app_label}_{there._meta.model_name}_change", args=[there.pk])
        assert f'<a href="{address}"' in page_of(client, here)


def test_a_sweep_tells_what_it_took_from_where_and_who_asked_for_it(client: Client, settings: Settings) -> None:
    settings.SWEEP_THRESHOLD = 10_000
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="1250"))
    request_sweep(environment=SANDBOX, network=ETHEREUM, asset="USDC", requested_by="ada@example.com")
    sweep()
    row = Sweep.objects.get()
    assert str(row) == "sweep of 1,250.00 USDC"
    words = (
        "1,250.00 USDC",
        "1,250.00 USD<",
        "To the hot wallet",
        "Final, in block ",
        "Deposits that it takes",
        payment.public_id[-8:],
        "Sweep final",
        "Gas paid",
        "ada@example.com",
        "Took 1,250.00 USDC from 1 address.",
    )
    assert missing(page_of(client, row), *words) == []


def test_a_network_tells_its_state_and_what_is_stopped_there(client: Client, settings: Settings) -> None:
    settings.SWEEP_THRESHOLD = 10_000
    pay_and_confirm(make_payment(ETHEREUM, amount="60"))
    request_sweep(environment=SANDBOX, network=ETHEREUM, asset="USDC", requested_by="ada@example.com")
    sweep()
    pay_and_confirm(make_payment(ETHEREUM, amount="70"))
    look()
    stops.stop(environment=SANDBOX, network=ETHEREUM, asset="USDT", reason="It trades at 0.80.")
    request_range(environment=SANDBOX, network=ETHEREUM, first=1, last=3)
    row = NetworkSnapshot.objects.get(environment=SANDBOX, network=ETHEREUM)
    words = (
        "USDT on ethereum (sandbox)",
        "It trades at 0.80.",
        "Stops → Lift",
        "No alarm is open here.",
        "behind",
        "70.00 USDC at 1 address",
        "60.00 USDC",
        "Blocks 1 to 3",
        "Scan cursor",
        "Latest sweeps",
    )
    assert missing(page_of(client, row), *words) == []
    NetworkSnapshot.objects.update(providers=["one.example"])
    assert missing(page_of(client, row), "one.example", "well") == []


def test_every_posting_leads_to_the_record_that_it_was_made_for(client: Client, merchant: Merchant) -> None:
    found = {posting: cause_of(posting) for posting in Posting.objects.order_by("pk")}
    # "moved" is the kind of what tests themselves post.
    assert {posting.kind for posting, record in found.items() if record is None} <= {"moved"}
    assert {type(record).__name__ for record in found.values()} >= {"Payment", "Deposit", "Refund", "Settlement"}
    posting = next(each for each, record in found.items() if isinstance(record, Payment))
    page = client.get(reverse("admin:ledger_posting_change", args=[posting.pk])).text
    assert f">{found[posting]}</a>" in page
    assert "Payment: what happened" in page
