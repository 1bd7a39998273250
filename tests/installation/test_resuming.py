"""Resuming by hand, on the simulated networks."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.installation import services as standing
from config.installation.models import Sign, Standstill
from merchants.ledger.balances import balance
from merchants.ledger.checking import Severity
from merchants.ledger.models import Posting, ReconcileRun, Stop
from merchants.models import User
from payments.chains import registry
from payments.chains.protocol.chain import sweeps_of
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer
from payments.chains.simulated import actions, control
from payments.chains.simulated.clock import locked
from payments.chains.simulated.models import SimulatedTransfer
from payments.models import Discrepancy, Payment
from payments.monitoring.auditing import audit_wallet
from payments.monitoring.models import NetworkSnapshot
from payments.monitoring.reconciling import reconcile_due
from payments.suspense.refund_accounting import RefundExceedsPayment
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.owners import follow_payouts
from payments.transfers.postings import cold_account, hot_account
from payments.transfers.wallets import wallet_of
from payments.treasury.house.models import Withdrawal
from payments.treasury.losses.models import MissingCoins
from payments.treasury.models import ColdMove, Sweep
from payments.treasury.sweep_booking import book_sweeps
from payments.treasury.sweeping import request_sweep, sweep_due
from payments.treasury.wallet_balances import wallet_findings
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from settlements import due_runs
from settlements.models import Settlement
from settlements.services import run_now
from tests.agreeing import agree_to_what_waits
from tests.factories import api_client, make_key, make_merchant, make_user
from tests.house.scenes import its_address, unit
from tests.house.test_cold_wallet import keepers_send, stock_final
from tests.losses.scenes import look
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    WALLETS,
    assert_all_is_well,
    findings,
    make_payment,
    mine_and_watch,
    pay_and_confirm,
    watch,
)
from tests.transfers.scenes import ask, drive, finish, fresh, on_chain, somebody, stock, thaw_by_two
from webhooks.events.catalogue import PAYMENT_COINS_MISSING
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
    assert Stop.objects.freezing().filter(network=POLYGON, address=WALLETS[POLYGON]).exists()


def sweep_unknown_to_the_rows(payments: list[Payment], network: str) -> None:
    """Brought to the hot wallet by a sweep of ours that the backup lacks: the chain has it, and the rows have not."""
    chain, asset = registry.chain(SANDBOX, network), registry.asset(SANDBOX, network, "USDC")
    wallet = wallet_of(SANDBOX, network, chain)
    numbers = tuple(payment.sequence for payment in payments)
    sequence = chain.hot_wallet.next_sequence(wallet.address)
    chain.sending.broadcast(sweeps_of(chain).sign(asset, numbers, sender=wallet.address, sequence=sequence))
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


def send_unknown_to_the_rows(network: str, to: str, coins: int, *, memo: str | None = None) -> str:
    """A payment of the hot wallet that the backup lacks; in a final block."""
    chain = registry.chain(SANDBOX, network)
    asset, sender = registry.asset(SANDBOX, network, "USDC"), chain.channels()[0]
    wanted = PayoutInstruction(asset, coins * unit(network), to, memo)
    signed = chain.sending.sign((wanted,), sender=sender, sequence=chain.hot_wallet.next_sequence(sender))
    chain.sending.broadcast(signed)
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network] + 1)
    return signed.transaction_hash


@pytest.fixture
def people() -> tuple[User, User]:
    ada, bob = (make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob"))
    return ada, bob


@pytest.mark.parametrize("network", [ETHEREUM, POLYGON, STELLAR])
def test_everything_our_wallets_sent_since_the_backup_is_booked_as_what_it_is(
    network: str, people: tuple[User, User]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('payments_deposit_sequence', 1000)")
    listed, chain, one = its_address(people, network), registry.chain(SANDBOX, network), unit(network)
    stock_final(100, network)
    ask(network, one)
    finish(network)  # the backup has one transfer of the wallet
    known = make_payment(network, amount="100")
    pay_and_confirm(known)
    settings_of_hot = {"environment": SANDBOX, "network": network}
    wallet_of(SANDBOX, network, chain)

    # The day goes on, and the backup has none of it.
    pay_number(known.sequence + 300, network)
    if network != STELLAR:
        sweep_unknown_to_the_rows([known, Payment(sequence=known.sequence + 300)], network)
    send_unknown_to_the_rows(network, chain.cold_wallet(), 50)  # a skim
    send_unknown_to_the_rows(network, somebody(network), 5_000)  # fails: more than there is
    keepers_send(20, chain.payout_address(), network)  # a refill, of a cold wallet that the backup does not know
    send_unknown_to_the_rows(network, listed.address, 60)  # a withdrawal, of coins that the refill brought

    said = resume(since=since())
    assert not Stop.objects.freezing().exists(), said
    found = {each.is_skim: each for each in Withdrawal.objects.all()}
    assert {is_skim: int(each.amount) // one for is_skim, each in found.items()} == {True: 50, False: 60}
    assert {each.status for each in found.values()} == {"completed"}
    assert [(each.kind, int(each.amount) // one) for each in ColdMove.objects.all()] == [("refill", 20)]
    there = [balance(account(network, "USDC"), environment=SANDBOX) for account in (hot_account, cold_account)]
    assert there == [(206 - 50 + 20 - 60) * one, 30 * one]
    waiting = Discrepancy.objects.filter(payment__isnull=True, status="open", deposit__network=network)
    assert [int(each.amount) // one for each in waiting] == [7]
    assert_all_is_well()
    assert not Event.objects.filter(type=PAYMENT_COINS_MISSING).exists()
    assert Transfer.objects.filter(**settings_of_hot, status="failed").count() == 1
    again = resume(since=since())
    assert "0 sweeps" in again
    assert "0 transfers out" in again
    assert_all_is_well()


def raise_unknown_to_the_rows(network: str) -> str:
    """The fee of the one transfer on its way is raised after the backup; that version is in a final block."""
    chain, transfer = registry.chain(SANDBOX, network), Transfer.objects.get(finished_at=None)
    version = transfer.envelopes.get()
    asset = registry.asset(SANDBOX, network, "USDC")
    wanted = tuple(
        PayoutInstruction(asset, int(each.payout.amount), each.payout.recipient, each.payout.memo or None)
        for each in transfer.lines.select_related("payout")
    )
    sender = transfer.wallet.account_of(transfer.channel)
    first = SignedTransfer(
        raw=bytes(version.raw),
        transaction_hash=version.transaction_hash,
        sender=sender,
        sequence=transfer.sequence,
        valid_until=version.valid_until,
        payouts=wanted,
        fee_limit_units=int(version.fee_limit_units),
    )
    place: dict[str, Any] = {"sender": sender, "sequence": transfer.sequence, "replacing": (first,)}
    raised = (
        chain.sending.sign(wanted, **place)
        if wanted
        else sweeps_of(chain).sign(asset, tuple(transfer.deposits), **place)
    )
    assert raised.transaction_hash != version.transaction_hash
    chain.sending.broadcast(raised)
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network] + 1)
    return raised.transaction_hash


@pytest.mark.parametrize(
    ("network", "what"),
    [
        *((network, "payout") for network in (ETHEREUM, POLYGON, STELLAR)),
        (ETHEREUM, "payout that was only signed at the backup"),
        (ETHEREUM, "sweep that was only signed at the backup"),
    ],
)
def test_of_a_transfer_on_its_way_the_version_with_the_raised_fee_is_adopted(network: str, what: str) -> None:
    stock_final(100, network)
    if what.startswith("payout"):
        payout = ask(network, unit(network))
        drive(network)
        if what != "payout":
            Transfer.objects.update(status="signed", sent_at=None)
    else:
        pay_and_confirm(make_payment(network))
        request_sweep(environment=SANDBOX, network=network, asset="USDC", requested_by="Ada")
        sweep_due(SANDBOX, network)
    raised = raise_unknown_to_the_rows(network)
    said = resume(since=since())
    assert not Stop.objects.freezing().exists(), said
    finish(network)
    transfer = Transfer.objects.get()
    assert (transfer.status, transfer.transaction_hash) == ("final", raised)
    if what.startswith("payout"):
        assert fresh(payout).status == "paid"
    else:
        book_sweeps()
        assert Sweep.objects.get().moved > 0
    assert_all_is_well()
    assert "0 transfers out" in resume(since=since())
    assert_all_is_well()


@pytest.mark.parametrize("meets", ["a stranger and the cold wallet", "deposit addresses", "both"])
def test_a_call_that_moves_several_coins_is_listed_and_nothing_is_called_missing(meets: str, people: object) -> None:
    """We send none: one that our wallet has sent all the same is for people to look at, not for a guess."""
    for coin in ("USDC", "DAI"):
        stock(ETHEREUM, 10**20, coin)
    payments = [make_payment(ETHEREUM, coin) for coin in ("USDC", "DAI")]
    for payment in payments:
        pay_and_confirm(payment)
    chain, coins = registry.chain(SANDBOX, ETHEREUM), registry.profile(SANDBOX, ETHEREUM).assets
    hot, stranger = wallet_of(SANDBOX, ETHEREUM, chain).address, somebody(ETHEREUM)
    out = [(hot, stranger, coins["USDC"], 5), (hot, chain.cold_wallet(), coins["DAI"], 6)]
    swept = [(each.deposit_address, hot, coins[each.cryptocurrency], int(each.due)) for each in payments]
    moved = {"deposit addresses": swept, "both": swept + out}.get(meets, out)
    with locked(ETHEREUM) as row:
        moves = [actions.movement(ETHEREUM, contract=each.contract, amount=n, recipient=to) for _, to, each, n in moved]
        named = actions.submit(row, sender=hot, sequence=chain.hot_wallet.next_sequence(hot), movements=moves)
        for part, (source, *_) in zip(
            SimulatedTransfer.objects.filter(transaction__transaction_hash=named).order_by("ordinal"),
            moved,
            strict=True,
        ):
            SimulatedTransfer.objects.filter(pk=part.pk).update(source=source)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM] + 1)

    said = resume(since=since())
    listed = Standstill.objects.get().findings
    if meets != "deposit addresses":
        assert {each["transaction"] for each in listed["payouts"] if not each["paid"]} == {named}
        assert listed["frozen"]
    if meets != "a stranger and the cold wallet":
        assert [named in each for each in listed["left"]] == [True]
        assert f"{named} brought coins to a wallet of ours that are not adopted" in said
    look()
    assert not MissingCoins.objects.exists()
    assert not Event.objects.filter(type=PAYMENT_COINS_MISSING).exists()
    assert {each.severity for each in findings().get("I12d", [])} <= {Severity.WARNING}


# --- settlements and refunds that were asked for after the backup ----------------------------------------


def open_shop(network: str) -> Payment:
    """A payment of 100 that is the merchant's, 300 in the hot wallet, and a transfer that the backup has."""
    stock_final(300, network)
    ask(network, unit(network))
    finish(network)
    payment = make_payment(network, amount="100")
    return pay_and_confirm(payment)


def by_the_runbook(network: str) -> None:
    resume(since=since())
    if Stop.objects.freezing().exists():
        with suppress(CommandError):
            thaw_by_two(network=network, leave_unknown=True)


def settle_and_pay(payment: Payment) -> None:
    run_now(merchant=payment.merchant, environment=SANDBOX, requested_by="Ada")
    go_on(payment.network)


def go_on(network: str) -> None:
    for _ in range(3):
        Payout.objects.filter(status__in=["ready", "held"]).update(next_attempt_at=timezone.now())
        Settlement.objects.filter(next_step_at__isnull=False).update(next_step_at=timezone.now())
        due_runs.advance_due()
        finish(network)
        follow_payouts()


def decide(network: str, transaction_hash: str, people: tuple[User, User], **said: object) -> None:
    asked = {"env": SANDBOX, "network": network, "hash": transaction_hash, "reason": "they say so", **said}
    call_command("book_sent", by=people[0].email, stdout=StringIO(), **asked)
    agree_to_what_waits(people[1])
    thaw_by_two(network=network)


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_what_was_settled_after_the_backup_is_not_settled_again_by_following_the_runbook(network: str) -> None:
    payment = open_shop(network)
    wallet = payment.merchant_wallet
    before = on_chain(network, wallet)
    sent = send_unknown_to_the_rows(network, wallet, 100)
    by_the_runbook(network)
    settle_and_pay(payment)
    assert on_chain(network, wallet) - before == 100 * unit(network)
    made = Settlement.objects.get()
    assert (made.status, made.transaction_hash, made.amount) == ("completed", sent, 100 * unit(network))
    told = Event.objects.filter(type__startswith="settlement.").order_by("version").values_list("type", flat=True)
    assert list(told) == ["settlement.created", "settlement.completed"]
    assert not Stop.objects.freezing().exists()
    assert_all_is_well()
    another = pay_and_confirm(make_payment(network, amount="30", merchant=payment.merchant))
    settle_and_pay(another)
    assert on_chain(network, wallet) - before == 130 * unit(network)
    assert_all_is_well()


@pytest.mark.parametrize("is_offset", [True, False])
def test_a_settlement_of_other_coins_is_not_paid_again_in_those(is_offset: bool, settings: Settings) -> None:
    """It was paid in one coin, and what it was made of is there in another."""
    settings.OFFSET_DEBTS = is_offset
    payment = open_shop(ETHEREUM)
    pay_and_confirm(make_payment(ETHEREUM, "DAI", amount="50", merchant=payment.merchant))
    before = on_chain(ETHEREUM, payment.merchant_wallet)
    send_unknown_to_the_rows(ETHEREUM, payment.merchant_wallet, 150)
    by_the_runbook(ETHEREUM)
    settle_and_pay(payment)
    settle_and_pay(payment)
    assert on_chain(ETHEREUM, payment.merchant_wallet) - before == 150 * unit(ETHEREUM)
    assert_all_is_well()


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_what_went_back_to_its_sender_after_the_backup_is_not_refunded_again(network: str) -> None:
    payment = open_shop(network)
    sender = payment.deposits.get().sender
    before = on_chain(network, sender)
    sent = send_unknown_to_the_rows(network, sender, 100)
    by_the_runbook(network)
    with suppress(RefundExceedsPayment):
        create_refund(payment=payment, request=NewRefund(destination=somebody(network, "again")), requested_by="Ada")
    go_on(network)
    assert on_chain(network, sender) - before == 100 * unit(network)
    assert on_chain(network, somebody(network, "again")) == 0
    made = Refund.objects.get()
    assert (made.status, made.transaction_hash, made.fiat_amount) == ("completed", sent, payment.fiat_amount)
    payment.refresh_from_db()
    assert payment.status == "refunded"
    assert not Stop.objects.freezing().exists()
    assert_all_is_well()


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_what_nobody_can_tell_stops_the_network_until_two_have_said_whose_it_was(
    network: str, people: tuple[User, User]
) -> None:
    payment = open_shop(network)
    sent = send_unknown_to_the_rows(network, somebody(network, "where the payer said"), 100)
    by_the_runbook(network)
    again = create_refund(
        payment=payment, request=NewRefund(destination=somebody(network, "again")), requested_by="Ada"
    )
    settle_and_pay(payment)
    assert not Settlement.objects.exists()
    assert on_chain(network, somebody(network, "again")) == 0, "nothing is paid while it may be the same"
    [found] = findings(without=["I15t"])["H1"]
    assert (found.severity, "book_sent" in found.proposal) == (Severity.WARNING, True)

    with pytest.raises(CommandError, match="says whose it was"):
        thaw_by_two(network=network, leave_unknown=True)
    decide(network, sent, people, owner=payment.public_id)
    settle_and_pay(payment)
    again.refresh_from_db()
    assert again.status == "cancelled"
    assert on_chain(network, somebody(network, "again")) == 0
    made = Refund.objects.get(status="completed")
    assert (made.transaction_hash, made.destination) == (sent, somebody(network, "where the payer said"))
    assert not Settlement.objects.exists()
    assert_all_is_well()


def test_a_transaction_that_is_known_in_part_is_adopted_whole(people: tuple[User, User]) -> None:
    network = STELLAR
    open_shop(network)
    waits = ask(network, 7 * unit(network), to=somebody(network, "a payer"))
    chain, asset = registry.chain(SANDBOX, network), registry.asset(SANDBOX, network, "USDC")
    sender = chain.channels()[0]
    parts = [(7, "a payer"), (5, "a stranger"), (6, "another stranger")]
    wanted = tuple(PayoutInstruction(asset, coins * unit(network), somebody(network, to)) for coins, to in parts)
    signed = chain.sending.sign(wanted, sender=sender, sequence=chain.hot_wallet.next_sequence(sender))
    chain.sending.broadcast(signed)
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network] + 1)
    resume(since=since())

    def reference_of(name: str) -> str:
        return Payout.objects.get(recipient=somebody(network, name)).reference

    waits.refresh_from_db()
    assert waits.status == "paid"
    assert {each.severity for some in findings(without=["I15t"]).values() for each in some} == {Severity.WARNING}
    with pytest.raises(CommandError):
        decide(network, signed.transaction_hash, people, lost=True, payout=reference_of("a stranger"))
    decide(network, signed.transaction_hash, people, payout=reference_of("another stranger"))
    assert {(each.is_lost, int(each.amount) // unit(network)) for each in Withdrawal.objects.all()} == {
        (True, 5),
        (False, 6),
    }
    assert Transfer.objects.get(transaction_hash=signed.transaction_hash).lines.count() == 3
    assert_all_is_well()


def test_numbers_are_looked_for_from_the_last_known_one_on() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('payments_deposit_sequence', 5000)")
    last = make_payment(ETHEREUM)
    watch()
    backup = timezone.now().isoformat()
    pay_number(last.sequence + 20, ETHEREUM)
    said = StringIO()
    call_command("resume_after_restore", by="Ada", look_ahead=30, since=backup, stdout=said)
    assert "1 deposits of payments that this database does not have" in said.getvalue()
