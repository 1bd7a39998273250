"""A world of a few merchants, the payers they have, and what the workers and the networks do in it."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from django.db import connection

from config.environments import Environment
from merchants.ledger.chart import AccountKind, Group, kinds_where
from merchants.ledger.models import Account
from merchants.models import Member
from merchants.models import Merchant as MerchantRow
from merchants.services import change_fee, update_settings
from payments import tasks as payment_tasks
from payments.chains.simulated import control
from payments.chains.simulated.blocks import Timetable
from payments.chains.simulated.models import SimulatedNetwork, SimulatedStatus, SimulatedTransaction
from payments.chains.simulated.networks import address_named
from payments.merchant_wallets.services import apply_due, set_wallet
from payments.rates.tables import bundled_rates
from payments.transfers.execution import executor
from payments.transfers.owners import follow_payouts
from payments.treasury.house.models import AllowedAddress
from refunds.models import Refund as RefundRow
from settlements import due_runs
from settlements.models import DebtDecision
from settlements.models import Settlement as SettlementRow
from settlements.states import BLOCKING
from tests.accounts import balance, model
from tests.accounts.balance import Coin, currency_decimals
from tests.accounts.calendar import Calendar
from tests.factories import make_member, make_merchant, make_user
from tests.transfers.scenes import stock

SANDBOX = Environment.SANDBOX
POTS = [
    Coin(network, code, currency_decimals(network, code))
    for network, code in (("ethereum", "USDC"), ("stellar", "USDC"), ("ethereum", "DAI"))
]
"""The first of each network is what settlements are paid in."""
NETWORKS = ("ethereum", "stellar")
NO_CAP = 10**9
"""For BELOW_FINALITY_USD, which is about all payments of a network: a history knows its own alone."""
CONFIRMATIONS = {"ethereum": 3, "stellar": 1}
FINAL_AFTER = {"ethereum": 7, "stellar": 1}
FOLLOWS_THE_NETWORK = {"confirmations", "transfers", "transferCount", "qrCode"}
"""What of a record is told with the next event: what follows each block. The QR code is left out of stored events."""


class Difference(AssertionError):
    """Product and model do not say the same."""


class World:
    """What has happened, and what the model makes of it."""

    def __init__(self, chance: random.Random, *, payments: int = 12, repays_from_other_coins: bool = True) -> None:
        self.chance = chance
        self.repays_from_other_coins = repays_from_other_coins
        self.most_payments = payments
        self.done: list[str] = []
        self.compared = 0
        self.merchants: list[tuple[MerchantRow, balance.Merchant]] = []
        self.market, self.house = balance.Market(), balance.House(self.house_of_ledger())
        self.owed_before = self._owed_in_all()
        self.operator = make_user(is_staff=True, is_superuser=True)
        self.its_addresses: dict[str, AllowedAddress] = {}
        self.withdrawals = self.wallets_lost = 0
        self.debts_ended: list[tuple[DebtDecision, balance.Merchant, Coin]] = []
        self.wallets: defaultdict[tuple[Any, str], set[str]] = defaultdict(set)
        self._owners: dict[Any, Member] = {}
        self.payments: dict[Any, model.Payment] = {}
        self.transfers: dict[str, model.Transfer] = {}
        self.waiting: dict[Any, model.Waiting] = {}
        self.refunds: dict[Any, tuple[model.Refund, model.Payment]] = {}
        self.settlements: dict[Any, tuple[balance.Settlement, balance.Merchant]] = {}
        self.read_until: dict[str, datetime] = {}
        self._read_at = 0.0
        self._looked_at: dict[str, tuple[int, int]] = {}
        self._shown: dict[Any, tuple[Any, ...]] = {}
        self.calendar, self.its_now = Calendar(), FAR_AHEAD
        set_price("DAI", "1")
        self._refused: set[tuple[str, str]] = set()
        rows = SimulatedNetwork.objects.filter(network__in=NETWORKS)
        self._begins_at = {row.network: row.height for row in rows}
        for bps, changes in ((0, {}), (100, TOLERANT), (1_000, {"payment_tolerance_bps": 50})):
            self._open_merchant(bps, changes)

    def rows_of(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Asked without the product's models, and quickly: all is compared after every operation."""
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            return cast(list[tuple[Any, ...]], cursor.fetchall())

    def house_of_ledger(self) -> dict[tuple[Coin, str], int]:
        """What the ledger has in the accounts of the house, gains above zero."""
        rows = self.rows_of(
            "SELECT network, asset, kind, -balance FROM ledger_account WHERE environment = 'sandbox' AND owner = ''"
            " AND kind = ANY(%s) AND network = ANY(%s) AND asset IN ('USDC', 'DAI') AND balance <> 0",
            kinds_where(group=Group.EQUITY),
            list(NETWORKS),
        )
        return {
            (Coin(network, code, currency_decimals(network, code)), kind): int(units)
            for network, code, kind, units in rows
        }

    def _owed_in_all(self) -> Counter[Coin]:
        owed = Account.objects.filter(environment=SANDBOX, kind=AccountKind.MERCHANT_RECEIVABLE, network__in=NETWORKS)
        found: Counter[Coin] = Counter()
        for network, code, units in owed.values_list("network", "asset", "balance"):
            found[Coin(network, code, currency_decimals(network, code))] += int(units)
        return found

    def name_wallet(self, row: MerchantRow, merchant: balance.Merchant, network: str, address: str) -> None:
        set_wallet(
            merchant=row, environment=SANDBOX, network=network, address=address, label="", by=self._owners[row.pk]
        )
        merchant.wallets[network] = address
        self.wallets[row.pk, network].add(address)

    def member_of(self, row: MerchantRow) -> Member:
        return self._owners[row.pk]

    def _open_merchant(self, bps: int, changes: dict[str, Any]) -> None:
        row = make_merchant()
        change_fee(merchant=row, fee_bps=bps)
        update_settings(merchant=row, environment=SANDBOX, changes=cast(Any, changes))
        row.refresh_from_db()
        wallets = {network: self.wallet_of(row, network) for network in NETWORKS}
        merchant = balance.Merchant("USDC", bps, wallets, self.house, self.market, self.repays_from_other_coins)
        self.merchants.append((row, merchant))
        self._owners[row.pk] = make_member(row)
        for network, address in list(wallets.items()):
            self.wallets[row.pk, network].add(address)
            if not self.repays_from_other_coins:
                self.name_wallet(row, merchant, network, address)

    def look(self, *, again: bool = False) -> None:
        """One round of the workers that read the networks, where there is something new; `again`: after a while."""
        heads = {row.network: row for row in SimulatedNetwork.objects.filter(network__in=NETWORKS)}
        again = self.chance.random() < IDLE_LOOKS or (again and time.monotonic() > self._read_at + 5)
        new = [each for each, row in heads.items() if self._looked_at.get(each) != (row.height, row.generation)]
        if not new and not again:
            return
        self._read_at = time.monotonic() if again else self._read_at
        for network in heads if again else new:
            payment_tasks.read_new(SANDBOX, network)
            self._looked_at[network] = heads[network].height, heads[network].generation
        payment_tasks.assess_due()
        payment_tasks.expire_due()
        payment_tasks.keep_surplus()
        self.note_deposits(heads)

    def note_deposits(self, heads: dict[str, SimulatedNetwork]) -> None:
        """What follows for payments from what the networks hold now."""
        self._read_the_chain(heads)
        for payment in self.payments.values():
            read_until = self.read_until.get(payment.coin.network)
            payment.assess(read_until)
            payment.take_crumbs(read_until)

    def _read_the_chain(self, heads: dict[str, SimulatedNetwork]) -> None:
        rows = SimulatedTransaction.objects.filter(transaction_hash__in=self.transfers)
        included = dict(
            rows.filter(status=SimulatedStatus.INCLUDED).values_list("transaction_hash", "height"),
        )
        tables = {name: Timetable(row, self._begins_at.get(name, 0), row.height) for name, row in heads.items()}
        for network, row in heads.items():
            self.read_until[network] = max(
                self.read_until.get(network, tables[network].closed_at(row.height)),
                tables[network].closed_at(row.height),
            )
        for transaction_hash, transfer in self.transfers.items():
            network = transfer.coin.network
            transfer.height = included.get(transaction_hash)
            if transfer.height is None:
                continue
            at = tables[network].closed_at(transfer.height)
            transfer.seen_at = at if transfer.seen_at is None else min(transfer.seen_at, at)
            transfer.block = tables[network].block_hash(transfer.height)
            transfer.confirmations = heads[network].height - transfer.height + 1
            transfer.is_final = transfer.confirmations >= FINAL_AFTER[network]

    def grow(self, network: str, blocks: int) -> None:
        control.mine(network, blocks)

    def replace_blocks(self, depth: int, outcome: control.Outcome) -> None:
        """Payers may send something else instead; nobody but us can do so from the hot wallet."""
        control.reorg("ethereum", depth, outcome, only=list(self.transfers) if outcome == "replaced" else None)

    def drive(self, network: str) -> None:
        """The hot wallet of a network sends what waits, and follows what it has sent."""
        executor.run_round(SANDBOX, network)

    def change_wallets(self) -> None:
        """Wallets whose wait is over take effect."""
        apply_due()

    def follow(self) -> None:
        """The workers end refunds and settlements."""
        due_runs.advance_due()
        follow_payouts()
        self.note_ended()

    def note_ended(self) -> None:
        """What follows from the refunds and settlements that have ended: what became of each is the network's doing."""
        for row in RefundRow.objects.filter(
            pk__in=[k for k, (each, _) in self.refunds.items() if each.status == "reserved"]
        ):
            refund, payment = self.refunds[row.pk]
            if row.status == "completed":
                payment.complete(refund)
            elif row.status in ("failed", "cancelled"):
                payment.give_back(refund)
        pending = [key for key, (each, _) in self.settlements.items() if each.status == "pending"]
        for settled in SettlementRow.objects.filter(pk__in=pending):
            settlement, merchant = self.settlements[settled.pk]
            if settled.converted_at is not None and not settlement.is_converted:
                merchant.convert(settlement)
            if settled.status == "completed":
                merchant.complete(settlement)
            elif settled.status == "failed":
                merchant.fail(settlement, is_blocking=settled.failure_code in BLOCKING)

    def _any_payment(self) -> Any:
        return self.chance.choice(list(self.payments)[-8:]) if self.payments else None

    def _any_waiting(self) -> tuple[Any, model.Payment] | None:
        self._name_the_waiting()
        of = {id(waiting): payment for payment in self.payments.values() for waiting in payment.waiting}
        found = [key for key, each in self.waiting.items() if each.status == "open"]
        if not found:
            return None
        key = self.chance.choice(found)
        return key, of[id(self.waiting[key])]

    def _name_the_waiting(self) -> dict[Any, str]:
        """Which row of the product each discrepancy of the model is: by payment and kind, in the order they came.

        Returns the status of each row.
        """
        named = {id(each) for each in self.waiting.values()}
        query = (
            "SELECT payment_id, id, kind, asset, amount, status FROM payments_discrepancy WHERE payment_id = ANY(%s)"
        )
        place = {key: number for number, key in enumerate(self.payments)}
        rows = self.rows_of(query, list(self.payments))
        for payment, key, kind, code, amount, _ in sorted(rows, key=lambda row: (place[row[0]], row[1])):
            if key in self.waiting:
                continue
            for each in self.payments[payment].waiting:
                if id(each) not in named and (each.kind, each.coin.code, each.amount) == (kind, code, int(amount)):
                    self.waiting[key] = each
                    named.add(id(each))
                    break
            else:
                raise Difference(f"{amount} {code} of {payment} waits ({kind}), and should not")
        return {row[1]: row[5] for row in rows}

    def wallet_of(self, row: MerchantRow, network: str) -> str:
        return address_named(network, f"wallet of {row.pk}")

    def payer(self, network: str) -> str:
        return address_named(network, f"payer of {self.merchants[0][0].pk}")

    def _say(self, what: str, expected: dict[Any, Any], found: dict[Any, Any]) -> None:
        if expected != found:
            keys = [key for key in {**expected, **found} if expected.get(key) != found.get(key)]
            told = "; ".join(f"{key}: {found.get(key)} instead of {expected.get(key)}" for key in keys)
            raise Difference(f"{what}, after {len(self.done)} operations ({', '.join(self.done[-6:])}): {told}")


TOLERANT = {"payment_tolerance_bps": 50, "late_payments": "accept"}


IDLE_LOOKS = 0.05
"""How often the networks are read without a new block."""
FAR_AHEAD = datetime(2100, 1, 1, tzinfo=UTC)
"""Where the clock of the schedule begins: after all that is paid in a test, and the same in every run."""


def fill_wallets() -> None:
    """The operator puts in coins of their own, to send and to convert."""
    for network in NETWORKS:
        for code in ("USDC", "DAI"):
            stock(network, 10**6 * 10 ** currency_decimals(network, code), code)
            control.mine(network, FINAL_AFTER[network])


def set_price(code: str, dollars: str) -> None:
    """What a coin is worth from now on, in the table that the sandbox is priced by."""
    cast(Any, bundled_rates())[code, "USD"] = Decimal(dollars)
