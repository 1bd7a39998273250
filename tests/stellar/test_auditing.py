"""What comes to the hot wallet or leaves it without a payment is noticed, and called what it is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings
from stellar_sdk import Claimant, Keypair
from stellar_sdk.operation import (
    AccountMerge,
    ChangeTrust,
    ClaimClaimableBalance,
    CreateClaimableBalance,
    ManageSellOffer,
    PathPaymentStrictReceive,
    PathPaymentStrictSend,
    Payment,
)

from merchants.ledger.checking import CouldNotCheck, Severity
from payments import models
from payments.deposits import crediting
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.deposits.unattributed import book_unattributed
from payments.deposits.watching import watch_network
from payments.models import Deposit
from payments.monitoring import alarm_rules, tasks
from payments.monitoring.states import AlarmKind
from payments.states import PaymentStatus
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.treasury.wallet_balances import book_treasury, treasury_balance, wallet_findings
from tests.payments.scenes import SANDBOX, STELLAR, make_payment
from tests.stellar.harness import LocalHarness, key_of
from tests.stellar.network import devnet
from tests.stellar.network.keys import HOT_WALLET, HOT_WALLET_KEY

WALLET, OTHER = Keypair.from_secret(HOT_WALLET_KEY), key_of("stranger 2")


@pytest.fixture
def harness(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHarness]:
    """The sandbox stands on it, and takes no ledger for the newest without asking."""
    found = LocalHarness()
    settings.SANDBOX_CHAIN = "devnet"
    monkeypatch.setattr(devnet, "URL", found.local.url)
    monkeypatch.setattr(devnet, "BLOCK_SECONDS", 0.0)
    devnet.profile.cache_clear()
    yield found
    found.stop()
    devnet.profile.cache_clear()


def everything_unusual(harness: LocalHarness) -> list[tuple[str, str, int]]:
    """Do to the wallet what is no payment; kind, coin and amount of each."""
    local = harness.local
    usdc, dai = local.asset("USDC"), local.asset("DAI")
    issuer = local.issuer("USDC")
    local.clawback(HOT_WALLET, "USDC", 30_000_000)
    made = local.envelope(issuer, CreateClaimableBalance(usdc, "2", [Claimant(OTHER.public_key), Claimant(HOT_WALLET)]))
    local.network.close_with(made)
    local.act(WALLET, ClaimClaimableBalance(made.transaction.get_claimable_balance_id(0)))
    ending = key_of("ending")
    local.fund_native(ending.public_key, 50_000_100)
    local.act(ending, AccountMerge(HOT_WALLET))
    local.act(local.issuer("DAI"), ChangeTrust(usdc), ManageSellOffer(dai, usdc, "100", "1"))
    local.act(WALLET, PathPaymentStrictSend(HOT_WALLET, usdc, "1", dai, "1", []))
    local.act(WALLET, ManageSellOffer(usdc, dai, "4", "2"))
    local.mint("DAI", OTHER.public_key, 10**9)
    local.act(OTHER, PathPaymentStrictReceive(OTHER.public_key, dai, "6", usdc, "3", []))
    return [
        ("clawback", "USDC", -30_000_000),
        ("set_aside", "USDC", 20_000_000),
        ("claimed", "USDC", 20_000_000),
        ("merged", "", 50_000_000),
        ("traded", "DAI", 10_000_000),
        ("traded", "USDC", -10_000_000),
    ]


def test_each_unusual_change_is_told_once_by_its_name(harness: LocalHarness) -> None:
    local = harness.local
    harness.fund(HOT_WALLET, "USDC", 10**9)
    local.pay(WALLET, OTHER.public_key, "USDC", 5)
    local.fund_native(HOT_WALLET, 5)
    expected = everything_unusual(harness)
    height = harness.chain.reading.head().height
    operations = harness.chain.operations
    assert operations is not None
    found = operations.unusual_changes(HOT_WALLET, first_height=1, last_height=height)
    told = [(each.kind, each.contract.partition(":")[0], each.amount) for each in found]
    # With offers of issuers in the book, the trade that another began takes the wallet's offer second.
    assert told[: len(expected)] == expected
    assert {kind for kind, *_ in told[len(expected) :]} <= {"traded"}
    hashes = {each.transaction_hash for each in found}
    assert all(harness.chain.reading.find_transaction(each) is not None for each in hashes)
    assert operations.unusual_changes(HOT_WALLET, first_height=height + 1, last_height=height) == ()


def asked_for(harness: LocalHarness) -> models.Payment:
    """A payment of 40 USDC, on a network that is read."""
    watch_network(SANDBOX, STELLAR)
    return make_payment(STELLAR, "USDC", "40", merchant_wallet=harness.stranger(1))


def paid_by_issuer(harness: LocalHarness, payment: models.Payment) -> None:
    issuer = harness.local.issuer("USDC")
    harness.local.pay(issuer, payment.deposit_address, "USDC", 400_000_000, memo=int(payment.memo))


def a_day_on() -> datetime:
    return timezone.now() + timedelta(days=1)


def findings() -> list[tuple[str | None, int | None, Severity | None, str]]:
    snapshot = take_wallet_snapshot(SANDBOX, STELLAR)
    assert isinstance(snapshot, WalletSnapshot)
    return [(each.asset, each.delta, each.severity, each.proposal) for each in wallet_findings(snapshot)]


def alarms() -> dict[str, str]:
    tasks.raise_alarms()
    return {f"{each.kind} {each.subject}": each.message for each in alarm_rules.of_rows(SANDBOX, STELLAR)}


@pytest.mark.django_db(transaction=True)
def test_coins_of_the_house_are_booked_once_though_the_first_payment_comes_after_them(harness: LocalHarness) -> None:
    def put_in() -> None:
        harness.local.pay(harness.local.issuer("USDC"), HOT_WALLET, "USDC", 100_000_000)

    def book() -> int:
        found, times = treasury_balance(SANDBOX, STELLAR, "USDC")
        if found.unexplained:
            book_treasury(found, times=times, amount=found.unexplained)
        return found.unexplained

    put_in()
    watch_network(SANDBOX, STELLAR)
    aside = ReadingRequest.objects.create(
        environment=SANDBOX, network=STELLAR, transaction_hash="ab" * 32, content="unread", due_at=a_day_on()
    )
    with pytest.raises(CouldNotCheck, match="could read them all"):
        book()  # what nobody could read may be a payer's
    assert findings() == []
    aside.delete()
    assert book() == 100_000_000  # from before anybody read the network
    put_in()
    watch_network(SANDBOX, STELLAR)
    assert book() == 0
    make_payment(STELLAR, "USDC", "40", merchant_wallet=harness.stranger(1))
    harness.mine(1)
    watch_network(SANDBOX, STELLAR)
    assert (book_unattributed(SANDBOX, STELLAR), Deposit.objects.count()) == (1, 1)
    assert (book(), findings()) == (0, [])


@pytest.mark.django_db(transaction=True)
def test_a_clawback_is_no_theft_and_what_was_claimed_no_deposit(harness: LocalHarness) -> None:
    payment = asked_for(harness)
    harness.local.pay(
        harness.local.issuer("USDC"), payment.deposit_address, "USDC", 400_000_000, memo=int(payment.memo)
    )
    watch_network(SANDBOX, STELLAR)
    crediting.assess_due()
    payment.refresh_from_db()
    assert payment.status == PaymentStatus.COMPLETED
    tasks.audit_wallets()
    assert (findings(), alarms()) == ([], {})

    digest = harness.local.clawback(HOT_WALLET, "USDC", 30_000_000)
    watch_network(SANDBOX, STELLAR)
    [(asset, delta, severity, proposal)] = findings()
    assert (asset, delta, severity) == ("USDC", -30_000_000, None)
    assert "the wallet's key is not in other hands" in proposal
    assert (
        f"3.000000 USDC taken back by its issuer (clawback), block {harness.chain.reading.head().height}, {digest}"
        in proposal
    )
    tasks.audit_wallets()
    told = alarms()
    assert set(told) == {f"{AlarmKind.WALLET_DIFFERS} USDC", f"{AlarmKind.COINS_CLAWED_BACK} USDC"}
    assert digest in told[f"{AlarmKind.COINS_CLAWED_BACK} USDC"]
    assert told[f"{AlarmKind.WALLET_DIFFERS} USDC"].startswith("3.000000 USDC less than in the ledger at block")

    usdc = harness.local.asset("USDC")
    made = harness.local.envelope(
        harness.local.issuer("USDC"),
        CreateClaimableBalance(usdc, "5", [Claimant(HOT_WALLET)]),
        CreateClaimableBalance(usdc, "0.5", [Claimant(HOT_WALLET)]),
    )
    harness.local.network.close_with(made)
    harness.local.act(WALLET, ClaimClaimableBalance(made.transaction.get_claimable_balance_id(0)))
    watch_network(SANDBOX, STELLAR)
    assert [deposit.amount for deposit in Deposit.objects.all()] == [400_000_000]
    [(_, delta, severity, proposal)] = findings()
    assert (delta, severity) == (20_000_000, Severity.WARNING)
    assert "5.000000 USDC claimed from a balance that was set aside" in proposal
    tasks.audit_wallets()
    told = alarms()
    assert told[f"{AlarmKind.WALLET_DIFFERS} USDC"].startswith("2.000000 USDC more than in the ledger at block")
    assert "0.500000" not in told[f"{AlarmKind.COINS_SET_ASIDE} USDC"]


@pytest.mark.django_db(transaction=True)
def test_coins_that_leave_by_the_wallets_own_key_are_looked_for(harness: LocalHarness) -> None:
    payment = asked_for(harness)
    harness.local.pay(
        harness.local.issuer("USDC"), payment.deposit_address, "USDC", 400_000_000, memo=int(payment.memo)
    )
    watch_network(SANDBOX, STELLAR)
    crediting.assess_due()
    harness.local.act(WALLET, Payment(OTHER.public_key, harness.local.asset("USDC"), "1"))
    harness.local.clawback(HOT_WALLET, "USDC", 5)
    watch_network(SANDBOX, STELLAR)
    [(_, delta, _, proposal)] = findings()
    assert delta == -10_000_005
    assert proposal.startswith("stop payouts, and look for what left the wallet")


@pytest.mark.django_db
def test_a_gap_in_the_history_is_an_alarm_and_ends_by_itself(harness: LocalHarness) -> None:
    payment = asked_for(harness)
    harness.local.pay(
        harness.local.issuer("USDC"), payment.deposit_address, "USDC", 400_000_000, memo=int(payment.memo)
    )
    harness.mine(9)
    harness.local.reap_history(harness.chain.reading.head().height - 1)
    assert watch_network(SANDBOX, STELLAR) is False
    [(kind, message)] = alarms().items()
    assert kind == f"{AlarmKind.NETWORK_NOT_SET_UP} "
    assert "Add a Horizon that has them to STELLAR_HORIZON_URLS" in message
    assert Deposit.objects.count() == 0
    harness.local.reap_history(1)
    while watch_network(SANDBOX, STELLAR):
        pass
    assert (alarms(), Deposit.objects.get().amount) == ({}, 400_000_000)
    assert ScanCursor.objects.get(environment=SANDBOX, network=STELLAR).fault == ""
