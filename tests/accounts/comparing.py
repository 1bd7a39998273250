"""Product against model: balances, payments, decisions, settlements, and every record against its last event."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import product

import orjson

from config.api.renderers import render_json
from merchants.models import Merchant as MerchantRow
from merchants.serializers import balance_records
from payments.chains import registry
from payments.models import Payment as PaymentRow
from payments.records import record_of
from settlements.models import Settlement as SettlementRow
from settlements.plans.reading import statement_of
from tests.accounts import balance
from tests.accounts.balance import Coin
from tests.accounts.world import FOLLOWS_THE_NETWORK, NETWORKS, SANDBOX, Difference, World
from webhooks.models import Event

ALSO_SHOWN = ("version", "required_confirmations", "expires_at", "untold")
"""Columns of a payment that its record shows and the model does not know; the last is what is to be told next."""


class ComparedWorld(World):
    """A world whose every figure is compared with the model's."""

    def compare(self) -> None:
        """Balances, suspense, what is reserved, fees, payments, and every record against its last event."""
        expected, (found, its) = self._expected_accounts(), self._accounts()
        self.compared += len(expected) + len(found) + len(its)
        self._say("accounts", expected, found)
        self._say("the house", {place: units for place, units in self.house.items() if units}, its)
        self._compare_payments()
        statuses = self._name_the_waiting()
        self._say("decisions", {key: each.status for key, each in self.waiting.items()}, statuses)

    def _expected_accounts(self) -> dict[tuple[str, ...], int]:
        totals: Counter[tuple[str, ...]] = Counter()
        for row, merchant in self.merchants:
            owner = str(row.pk)
            for coin, units in merchant.money.items():
                totals[owner, coin.network, coin.code, "available"] += max(0, units)
                totals[owner, coin.network, coin.code, "receivable"] += max(0, -units)
        for key, payment in self.payments.items():
            totals[str(key), payment.coin.network, payment.coin.code, "payment"] += payment.in_clearing
            for waiting in payment.waiting:
                if waiting.status == "open":
                    place = str(key), waiting.coin.network, waiting.coin.code, f"suspense:{waiting.kind}"
                    totals[place] += waiting.amount
        for key, (settlement, _) in self.settlements.items():
            for coin, units in settlement.reserved.items():
                totals[str(key), coin.network, coin.code, "payout"] += units
        for key, (refund, payment) in self.refunds.items():
            coin = refund.waiting.coin if refund.waiting else payment.coin
            totals[str(key), coin.network, coin.code, "payout"] += refund.amount * (refund.status == "reserved")
        return {place: units for place, units in totals.items() if units}

    def _accounts(self) -> tuple[dict[tuple[str, ...], int], dict[tuple[Coin, str], int]]:
        """What the ledger has for merchants, payments and what is on its way; and for the house."""
        owners = [str(row.pk) for row, _ in self.merchants]
        owners += map(str, [*self.payments, *self.refunds, *self.settlements])
        rows = self.rows_of(
            "SELECT owner, network, asset, kind, abs(balance) FROM ledger_account"
            " WHERE owner = ANY(%s) AND balance <> 0 AND environment = 'sandbox'",
            owners,
        )
        found: dict[tuple[str, ...], int] = {
            (owner, network, asset, kind.removeprefix("merchant:")): int(units)
            for owner, network, asset, kind, units in rows
        }
        return found, self.house_of_ledger()

    def _compare_payments(self) -> None:
        columns = ("status", "received", "refunded", "returned", "released", "status_reasons", *ALSO_SHOWN)
        query = f"SELECT id, {', '.join(columns)} FROM payments_payment WHERE id = ANY(%s)"  # noqa: S608 - our columns
        for key, *row in self.rows_of(query, list(self.payments)):
            shown = tuple(map(str, row))
            if self._shown.get(key) != shown and not row[-1]:
                self._shown[key] = shown
                self._compare_with_last_event(PaymentRow.objects.get(pk=key))
            payment = self.payments[key]
            status, received, refunded, returned, released, reasons, *_ = row
            self.compared += 6
            self._say(
                f"payment {key}",
                {
                    "status": payment.status,
                    "received": payment.received,
                    "refunded": payment.refunded,
                    "returned": payment.returned,
                    "released": payment.released,
                    "reasons": sorted(payment.reasons),
                },
                {
                    "status": status,
                    "received": int(received),
                    "refunded": int(refunded),
                    "returned": int(returned),
                    "released": int(released),
                    "reasons": sorted(reasons),
                },
            )

    def _compare_with_last_event(self, row: PaymentRow) -> None:
        """The last event carries the record as the API shows it now, and every version has an event."""
        last = Event.objects.about(row.pk).order_by("-version", "-id")[0]
        record = orjson.loads(render_json(record_of(row)))
        told = orjson.loads(render_json(last.payload))
        names = record.keys() - FOLLOWS_THE_NETWORK
        self.compared += len(names)
        self._say(
            f"last event of {row}", {name: record[name] for name in names}, {name: told.get(name) for name in names}
        )

    def compare_settlements(self) -> None:
        """Figures, fees and statement of every settlement, what the chain has paid, what the API says of balances."""
        for key, (settlement, _) in self.settlements.items():
            row = SettlementRow.objects.get(pk=key)
            parts = {
                part["coin"]: tuple(int(part[name]) for name in ("gross", "fee", "refund", "net")) for part in row.coins
            }
            self._say(f"parts of {row}", {coin.code: part for coin, part in settlement.parts.items()}, parts)
            if settlement.amount != row.amount:
                raise Difference(f"{row} pays {row.amount} instead of {settlement.amount}")
            expected: Counter[tuple[str, str, int]] = Counter()
            for coin, entries in settlement.entries.items():
                expected.update((coin.code, entry.kind, entry.amount) for entry in entries)
            found: Counter[tuple[str, str, int]] = Counter()
            for account in statement_of(row).accounts:
                lines = [*account.carried_over, *account.entries]
                own = ("fee", "conversion", "settlement", "opening_balance", "closing_balance")
                found.update((account.coin, line.type, int(line.amount or 0)) for line in lines if line.type not in own)
            self.compared += len(found) + 5
            self._say(f"statement of {row}", dict(expected), dict(found))
        for row_, merchant in self.merchants:
            for network, code in product(NETWORKS, ("USDC", "DAI")):
                asset, chain = registry.asset(SANDBOX, network, code), registry.chain(SANDBOX, network)
                done = (each for each in merchant.settlements if each.status == "completed")
                paid = sum(each.amount for each in done if (each.network, each.currency) == (network, code))
                held = sum(chain.reading.balance(wallet, asset) for wallet in self.wallets[row_.pk, network])
                self._say(f"{code} on {network}", {"paid": paid}, {"paid": held})
            self._compare_balances(row_, merchant)

    def _compare_balances(self, row: MerchantRow, merchant: balance.Merchant) -> None:
        """By `GET /balance`: what is available, what is owed, what waits."""
        suspense: Counter[Coin] = Counter()
        for payment in self.payments.values():
            if payment.merchant is merchant:
                for waiting in payment.waiting:
                    suspense[waiting.coin] += waiting.amount * (waiting.status == "open")
        records = {(each["network"], each["cryptocurrency"]): each for each in balance_records(row, SANDBOX)}
        for coin in {*merchant.money, *suspense}:
            said = records.get((coin.network, coin.code), {"available": 0, "receivable": 0, "inSuspense": 0})
            found = {
                name: int(Decimal(said[name]).scaleb(coin.decimals))
                for name in ("available", "receivable", "inSuspense")
            }
            money = merchant.money[coin]
            expected = {"available": max(0, money), "receivable": max(0, -money), "inSuspense": suspense[coin]}
            self.compared += 3
            self._say(f"balance in {coin}", expected, found)

    def what_happened(self) -> Counter[str]:
        """How often what is rare has happened, to tell a history that shows something from one that does not."""
        found: Counter[str] = Counter()
        for payment in self.payments.values():
            found[f"payments {payment.status}"] += 1
            found["payments reversed"] += payment.is_reversed
            found.update(f"{each.kind} {each.status}" for each in payment.waiting)
            found.update(f"refunds {each.status}" for each in payment.refunds)
            found["refunds that gave the fee back"] += sum(each.returns_fee for each in payment.refunds)
        found.update(f"settlements {each.status}" for each, _ in self.settlements.values())
        found["debts ended"], found["withdrawals"] = len(self.debts_ended), self.withdrawals
        found["wallets lost"] = self.wallets_lost
        found["wallets changed"] = sum(len(used) - 1 for used in self.wallets.values())
        spreads = (units for (_, kind), units in self.house.items() if kind == "spread" and units)
        found["spreads"] = len(list(spreads))
        found["debts repaid from other coins"] = sum(merchant.offsets for _, merchant in self.merchants)
        return found
