"""Resuming by hand, on the simulated networks."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.installation import services as standing
from config.installation.models import Sign, Standstill
from merchants.ledger.balances import balance
from merchants.ledger.invariants import Severity
from merchants.ledger.models import Posting, ReconcileRun
from payments.chains import registry
from payments.chains.simulated import control
from payments.models import Payment
from payments.operations.auditing import audit_wallet
from payments.operations.models import NetworkSnapshot
from payments.operations.reconciling import reconcile_due
from payments.transfers.models import Wallet
from payments.transfers.postings import hot_account
from payments.transfers.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.wallets import wallet_of
from payments.treasury.losses.models import MissingCoins
from payments.treasury.models import Sweep
from payments.treasury.wallet_balances import wallet_findings
from tests.factories import api_client, make_key, make_merchant
from tests.losses.scenes import look
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    WALLETS,
    findings,
    make_payment,
    mine_and_watch,
    pay_and_confirm,
    watch,
)
from webhooks.events import PAYMENT_COINS_MISSING
from webhooks.models import Event

pytestmark = pytest.mark.django_db

LOOK_AHEAD = 2_000


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0


def resume(**options: object) -> str:
    said = StringIO()
    call_command("resume_after_restore", by="Ada", look_ahead=LOOK_AHEAD, stdout=said, **options)
    return said.getvalue()


def pay_number(number: int, network: str) -> str:
    """Seven coins to the place of the payment of this number; returns the on-chain transaction's hash."""
    to = registry.chain(SANDBOX, network).deposit_address(number)
    asset = registry.asset(SANDBOX, network, "USDC")
    part = control.Part(asset.contract, 7 * 10**asset.decimals, to.address, to.memo)
    transaction_hash = control.pay_together(network, [part])
    mine_and_watch(network)
    return transaction_hash


def since() -> str:
    return (timezone.now() - timedelta(hours=3)).isoformat()


def test_nothing_is_resumed_that_does_not_stand_still() -> None:
    with pytest.raises(CommandError, match="does not stand still"):
        resume()
    assert not Standstill.objects.exists()


def test_money_for_the_next_numbers_is_found_on_every_network_and_those_numbers_are_skipped() -> None:
    """A restore that nobody noticed: an operator says when the backup was made."""
    with connection.cursor() as cursor:  # tests before may have given out more numbers than are looked through
        cursor.execute("SELECT setval('payments_deposit_sequence', 1000)")
    last = make_payment(ETHEREUM)
    watch()
    hashes = {network: pay_number(last.sequence + 1, network) for network in (ETHEREUM, STELLAR)}
    said = resume(since=since())
    found = {each["network"]: each for each in Standstill.objects.get().findings["deposits"]}
    assert {network: each["transaction"] for network, each in found.items()} == hashes
    assert {each["number"] for each in found.values()} == {last.sequence + 1}
    assert (found[STELLAR]["amount"], found[STELLAR]["asset"]) == ("7.0000000", "USDC")
    assert hashes[STELLAR] in said
    assert make_payment(ETHEREUM).sequence > last.sequence + 1_000_000


def test_while_it_stands_still_the_api_says_so_and_creates_nothing() -> None:
    assert standing.look() is None
    standing.stand_still(Sign.DECLARED, "Ada says so.")
    client = api_client(make_key(make_merchant()))
    body = {
        "amount": 25,
        "currency": "USD",
        "cryptocurrency": "USDC",
        "network": POLYGON,
        "merchantWallet": WALLETS[POLYGON],
    }
    reply = client.call("POST", "/payments", json_body=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "service_unavailable")
    assert reply.headers["Retry-After"] == "300"
    assert client.call("GET", "/payments").json()["totalCount"] == 0
    work = Client().get("/health/work")
    assert (work.status_code, "restored_database" in work.json()["behind"]) == (503, True)


def proposal_of_wallet(network: str) -> str:
    snapshot = take_wallet_snapshot(SANDBOX, network)
    assert isinstance(snapshot, WalletSnapshot)
    [found] = wallet_findings(snapshot)
    return found.proposal


@pytest.mark.django_db(transaction=True)
def test_while_it_stands_still_nothing_compares_and_acts_and_nothing_is_booked_by_hand() -> None:
    """The coins may be merchants', and swept since the backup."""
    watch()
    control.fund(STELLAR, address=registry.chain(SANDBOX, STELLAR).payout_address(), code="USDC", amount=10**9)
    mine_and_watch(STELLAR)
    assert standing.look() is None
    standing.stand_still(Sign.DECLARED, "Ada says so.")

    book = ("book_treasury", "--env", SANDBOX, "--network", STELLAR, "--asset", "USDC", "--yes")
    assert reconcile_due(timezone.now(), began_at=timezone.now()) is None
    audit_wallet(SANDBOX, STELLAR)
    with pytest.raises(CommandError, match=r"before manage\.py resume_after_restore has run"):
        call_command(*book, stdout=StringIO())
    assert "book_treasury" not in proposal_of_wallet(STELLAR)
    assert "run manage.py resume_after_restore first" in proposal_of_wallet(STELLAR)
    assert not ReconcileRun.objects.exists()
    assert not Posting.objects.exists()
    assert not NetworkSnapshot.objects.filter(audited_at__isnull=False).exists()

    resume()
    assert "book_treasury" in proposal_of_wallet(STELLAR)
    assert reconcile_due(timezone.now(), began_at=timezone.now()) is not None
    audit_wallet(SANDBOX, STELLAR)
    assert NetworkSnapshot.objects.filter(audited_at__isnull=False).exists()
    call_command(*book, stdout=StringIO())
    assert Posting.objects.count() == 1


def test_a_network_that_does_not_answer_holds_all_until_it_is_left_out() -> None:
    watch()
    make_payment(POLYGON)
    control.outage(POLYGON, 3600)
    with pytest.raises(CommandError, match="polygon"):
        resume(since=since())
    assert standing.current_standstill() is not None
    Wallet.objects.get_or_create(environment=SANDBOX, network=POLYGON, address=WALLETS[POLYGON])
    resume(without=[f"{SANDBOX}:{POLYGON}"])
    assert standing.current_standstill() is None
    assert Wallet.objects.get(network=POLYGON, address=WALLETS[POLYGON]).frozen_at is not None


def sweep_unknown_to_the_rows(payments: list[Payment], network: str) -> None:
    """Brought to the hot wallet by a sweep of ours that the backup lacks: the chain has it, and the rows have not."""
    chain, asset = registry.chain(SANDBOX, network), registry.asset(SANDBOX, network, "USDC")
    wallet = wallet_of(SANDBOX, network, chain)
    numbers = tuple(payment.sequence for payment in payments)
    sequence = chain.next_sequence(wallet.address)
    chain.broadcast(chain.sign_sweep(asset, numbers, sender=wallet.address, sequence=sequence))
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network] + 1)


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON])
def test_sweeps_since_the_backup_are_never_missing_coins_and_are_adopted(network: str) -> None:
    payments = [make_payment(network) for _ in range(3)]
    for payment in payments:
        pay_and_confirm(payment)
    for several in (payments[:2], payments[2:]):
        sweep_unknown_to_the_rows(several, network)

    look()  # nobody has resumed yet
    assert not MissingCoins.objects.exists()
    found = findings()
    assert [each.severity for each in found["I12d"]] == [Severity.WARNING]
    assert not Event.objects.filter(type=PAYMENT_COINS_MISSING).exists()

    said = resume(since=since())
    assert "2 sweeps that the ledger lacked were adopted." in said
    assert [sweep.moved for sweep in Sweep.objects.order_by("id")] == [payments[0].due * 2, payments[2].due]
    assert balance(hot_account(network, "USDC"), environment=SANDBOX) == sum(each.due for each in payments)
    look()
    assert findings() == {}
    assert not MissingCoins.objects.exists()
    assert "0 sweeps that the ledger lacked were adopted." in resume(since=since())
