"""What payers, blocks and time do to payments, in words the tests of payments share.

Blocks appear only when a test mines them. Amounts are written as people say them, `"12.5"`, and the ledger
are read in base units.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, Unpack

import orjson
from django.db import connection, transaction

from config.api.renderers import render_json
from config.coins import COINS
from config.environments import Environment
from config.money import to_units
from merchants.ledger.checking import Finding, Scope, registered
from merchants.ledger.models import Account, Stop
from merchants.ledger.posting import Line, PostingDraft, post_draft
from merchants.models import Merchant
from merchants.services import SettingsChanges, update_settings
from payments import services, tasks
from payments.chains import registry
from payments.chains.networks import NETWORKS
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.deposits import crediting, postings
from payments.deposits.balance_changes import record_balance_changes
from payments.deposits.models import ScanCursor
from payments.deposits.watching import watch_network
from payments.models import Deposit, Discrepancy, Payment
from payments.records import record_of
from payments.services import NewPayment, create_payment
from payments.states import DiscrepancyStatus
from payments.transfers.postings import payout_account
from tests.factories import make_merchant
from tests.networks import ETHEREUM, POLYGON, STELLAR
from webhooks.models import Event

__all__ = ["COINS", "ETHEREUM", "NETWORKS", "POLYGON", "STELLAR"]

SANDBOX = Environment.SANDBOX
PRODUCTION = Environment.PRODUCTION
PAIRS = list(product(NETWORKS, COINS))
"""Every coin on every network."""

WALLETS = {network: address_named(network, "the merchant's wallet") for network in NETWORKS}
HELD_IN = {network: str(postings.chain_account(network, "USDC").kind) for network in NETWORKS}
"""The account that deposits come into, by network."""
BLOCKS_UNTIL_FINAL = {network: control.deepest_reorg(network) + 1 for network in NETWORKS}


def make_merchant_who(**changes: Unpack[SettingsChanges]) -> Merchant:
    """A merchant with these settings in the sandbox."""
    merchant = make_merchant()
    update_settings(merchant=merchant, environment=SANDBOX, changes=changes)
    return merchant


def request_for(network: str = ETHEREUM, coin: str = "USDC", amount: str = "100", **fields: Any) -> NewPayment:
    asked = {"currency": "USD", "merchant_wallet": WALLETS[network], **fields}
    return NewPayment(amount=Decimal(amount), cryptocurrency=coin, network=network, **asked)


def make_payment(
    network: str = ETHEREUM, coin: str = "USDC", amount: str = "100", *, merchant: Merchant | None = None, **fields: Any
) -> Payment:
    """A new payment; one dollar is one coin in the sandbox's table of rates."""
    with transaction.atomic():
        payment, _ = create_payment(
            merchant=merchant or make_merchant(),
            environment=SANDBOX,
            request=request_for(network, coin, amount, **fields),
        )
    return payment


def units(payment: Payment, amount: str, *, coin: str = "", network: str = "") -> int:
    """An amount of the payment's coin, or of another one, in base units."""
    asset = registry.asset(SANDBOX, network or payment.network, coin or payment.cryptocurrency)
    return to_units(Decimal(amount), asset.decimals)


def part_of(payment: Payment, amount: str, *, coin: str = "", network: str = "") -> control.Part:
    """A transfer to the payment's address."""
    asset = registry.asset(SANDBOX, network or payment.network, coin or payment.cryptocurrency)
    return control.Part(asset.contract, to_units(Decimal(amount), asset.decimals), place_of(payment))


def place_of(payment: Payment) -> str:
    """Where a payer sends money: on stellar to the muxed address, as wallets of one's own can."""
    return payment.muxed_address or payment.deposit_address


def pay(payment: Payment, amount: str = "", *, coin: str = "", network: str = "") -> str:
    """A payer sends what is due, or another amount, with the next block; answers the on-chain transaction's hash."""
    if amount:
        part = part_of(payment, amount, coin=coin, network=network)
    else:
        asset = registry.asset(SANDBOX, network or payment.network, coin or payment.cryptocurrency)
        part = control.Part(asset.contract, payment.due, place_of(payment))
    return control.pay_together(network or payment.network, [part])


def pay_units(payment: Payment, amount: int) -> str:
    """As pay, to the base unit."""
    asset = registry.asset(SANDBOX, payment.network, payment.cryptocurrency)
    part = control.Part(asset.contract, amount, place_of(payment))
    return control.pay_together(payment.network, [part])


def pay_without_memo(payment: Payment, amount: str) -> str:
    asset = registry.asset(SANDBOX, payment.network, payment.cryptocurrency)
    part = control.Part(asset.contract, to_units(Decimal(amount), asset.decimals), payment.deposit_address)
    return control.pay_together(payment.network, [part])


def mine(network: str, blocks: int = 1) -> None:
    control.mine(network, blocks)


_WITH_ANYTHING = """
    SELECT network FROM simulated_chain_simulatednetwork WHERE height > 0 OR outage_until IS NOT NULL
    UNION SELECT network FROM simulated_chain_simulatedtransaction
    UNION SELECT network_id FROM simulated_chain_scheduledaction
    UNION SELECT network FROM payments_payment
    UNION SELECT network FROM payments_deposit
    UNION SELECT network FROM payments_readingrequest
    UNION SELECT network FROM payments_scancursor
"""


def watch() -> None:
    """One round of what the worker does all the time: networks are read, nothing is left to be assessed.

    Once there is anything on a network, those of the simulated ones where nothing ever happened, and that no row of
    ours names, are left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WITH_ANYTHING)
        names = {name for (name,) in cursor.fetchall()} or {*NETWORKS}
    for environment, network in registry.places_in_use():
        if network in names or not registry.is_simulated(environment):
            tasks.read_new(environment, network)
    crediting.assess_due()
    troubles = ScanCursor.objects.exclude(last_error="").values_list("last_error", flat=True)
    assert all(error.startswith(("No provider", "The final block")) for error in troubles), list(troubles)
    halted = Stop.objects.halting().values("network")
    assert not Payment.objects.filter(assess_at__isnull=False).exclude(network__in=halted).exists()


def read(network: str) -> None:
    """Read a network to its end without assessing anything yet."""
    while watch_network(SANDBOX, network):
        pass


def mine_and_watch(network: str, blocks: int = 1) -> None:
    mine(network, blocks)
    watch()


def confirm(payment: Payment, *, on: str = "") -> Payment:
    """Let what has been sent become final, and look."""
    network = on or payment.network
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])
    return now(payment)


def pay_and_confirm(payment: Payment, amount: str = "", *, coin: str = "", network: str = "") -> Payment:
    pay(payment, amount, coin=coin, network=network)
    return confirm(payment, on=network)


def end_window(payment: Payment) -> Payment:
    """Let the payment's time run out, on the network too."""
    services.end_window(payment)
    mine_and_watch(payment.network)
    tasks.expire_due()
    return now(payment)


def reorganise(payment: Payment, depth: int, outcome: control.Outcome, *, only: Iterable[str] | None = None) -> Payment:
    """Replace the newest blocks of the payment's network, and look."""
    control.reorg(payment.network, depth, outcome, only=None if only is None else list(only))
    watch()
    return now(payment)


def now(payment: Payment) -> Payment:
    """The payment as it stands."""
    return Payment.objects.get(pk=payment.pk)


def assess(payment: Payment) -> Payment:
    with transaction.atomic():
        return crediting.assess_locked(Payment.objects.select_for_update().get(pk=payment.pk))


def spend(payment: Payment, amount: str) -> None:
    """The merchant takes money out, which is less to be settled then."""
    taken = units(payment, amount)
    available = postings.available_account(payment, payment.network, payment.cryptocurrency)
    payout = payout_account(payment.network, payment.cryptocurrency, payment.id)
    with transaction.atomic():
        draft = PostingDraft(
            "refund_reserved", f"{payment.id}:{amount}", (Line(available, taken), Line(payout, -taken)), height=1
        )
        post_draft(draft, environment=SANDBOX)
        record_balance_changes([draft], payment)


def books(payment: Payment) -> dict[str, int]:
    """Every account of the sandbox with money in it, by kind; named in full when not in the payment's own coin."""
    totals: Counter[str] = Counter()
    for account in Account.objects.filter(environment=SANDBOX).exclude(balance=0):
        own = (account.network, account.asset) == (payment.network, payment.cryptocurrency)
        name = account.kind if own else f"{account.network} {account.asset} {account.kind}"
        totals[name] += account.natural_balance
    return dict(totals)


def cursor_of(network: str) -> ScanCursor:
    return ScanCursor.objects.get(environment=SANDBOX, network=network)


def events(payment: Payment) -> list[str]:
    """What has been told of the payment, oldest first."""
    return list(Event.objects.about(payment.pk).values_list("type", flat=True))


def discrepancies(payment: Payment, status: str = DiscrepancyStatus.OPEN) -> list[tuple[str, int]]:
    """Kinds and amounts of what waits for a decision about the payment, oldest first."""
    found = Discrepancy.objects.filter(payment=payment, status=status).order_by("id")
    return [(each.kind, each.amount) for each in found]


def discrepancy(payment: Payment, kind: str = "") -> Discrepancy:
    """The one open discrepancy of the payment, or the one of this kind."""
    found = Discrepancy.objects.filter(payment=payment, status=DiscrepancyStatus.OPEN)
    return found.get(kind=kind) if kind else found.get()


def deposit_of(transaction_hash: str, ordinal: int = 0) -> Deposit:
    return Deposit.objects.get(transaction_hash=transaction_hash, ordinal=ordinal)


def findings(*, without: Collection[str] = (), room: str = "") -> dict[str, list[Finding]]:
    """What the registered invariants find, by code; nothing when all is well.

    With `room` it is those of this room and the ledger's alone.
    """
    scope = Scope()  # one for all, as in `reconcile`: the wallets are looked at once
    asked = [known for known in registered() if not room or _is_of(room, known.check.__module__)]
    found = {known.code: list(known.check(scope)) for known in asked if known.code not in without}
    return {code: some for code, some in found.items() if some}


IN_FOLDERS_OF_THEIR_OWN = {"transfers", "treasury"}
"""Rooms of payments whose checks query every wallet of every network: most of the time of all checks."""
CHECKED_WHOLE = {
    "test_giving_back.py",
    "test_native_deposits.py",
    "test_reorganisations.py",
    "test_sweeping.py",
    "test_treasury.py",
}
"""Files of tests of payments that are about what those rooms check."""


def _is_of(room: str, module: str) -> bool:
    rooms = {*module.split(".")}
    return "ledger" in rooms or (room in rooms and not (room == "payments" and rooms & IN_FOLDERS_OF_THEIR_OWN))


checked_whole: set[str] = set()
"""Files of tests in which every invariant was checked."""


def _room_to_check() -> str:
    """That of the running test's folder; "" for all of them, once a file, and always on the servers of DATABASE_URL."""
    file, _, _ = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")
    room = Path(file).parent.name
    room = {"house": "treasury", "losses": "treasury"}.get(room, room)
    rooms = {name for known in registered() for name in known.check.__module__.split(".")}
    if (
        os.environ.get("DATABASE_URL")
        or Path(file).name in CHECKED_WHOLE
        or file not in checked_whole
        or room not in rooms
    ):
        checked_whole.add(file)
        return ""
    return room


FOLLOWS_THE_NETWORK = {"confirmations", "transfers", "transferCount"}
"""What of a payment's record changes with every block, and is told with the next event."""


def assert_events_tell_the_records() -> None:
    """The last event of every payment carries its record as it is, but for what follows the network."""
    for payment in Payment.objects.filter(untold=[], assess_at__isnull=True):
        last = Event.objects.about(payment.pk).order_by("-version", "-id")[0]
        record = orjson.loads(render_json(record_of(payment)))
        names = last.payload.keys() - FOLLOWS_THE_NETWORK - {"qrCode"}  # which is left out of stored events
        told = orjson.loads(render_json(last.payload))
        assert {name: told[name] for name in names} == {name: record[name] for name in names}, last


def assert_all_is_well(*, without: Collection[str] = ()) -> None:
    """The invariants hold, and suspense holds exactly what the open discrepancies speak of."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
    found = findings(without=without, room=_room_to_check())
    assert found == {}, found
    waiting: Counter[tuple[str, str, str, str]] = Counter()
    for each in Discrepancy.objects.filter(status=DiscrepancyStatus.OPEN):
        owner = str(each.payment_id or each.deposit_id)
        waiting[owner, each.network, each.asset, f"suspense:{each.kind}"] += each.amount
    held = {
        (account.owner, account.network, account.asset, account.kind): account.natural_balance
        for account in Account.objects.filter(kind__startswith="suspense:").exclude(balance=0)
    }
    assert held == dict(waiting)


def everything() -> tuple[Any, ...]:
    """All rows that a refusal must leave as they are."""
    tables: list[Callable[[], Any]] = [
        lambda: list(Payment.objects.order_by("pk").values()),
        lambda: list(Deposit.objects.order_by("pk").values()),
        lambda: list(Discrepancy.objects.order_by("pk").values()),
        lambda: list(Event.objects.order_by("pk").values_list("pk", "type")),
        lambda: list(Account.objects.order_by("pk").values()),
    ]
    return tuple(table() for table in tables)
