"""Random operations on the product, each told to the independent model, and the comparison of both after each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction

from config.errors import DomainError
from merchants.models import Merchant as MerchantRow
from merchants.services import change_fee, update_settings
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedNetwork
from payments.models import Discrepancy
from payments.models import Payment as PaymentRow
from payments.services import NewPayment, cancel_payment, create_payment
from payments.services import end_window as end_window_of
from payments.suspense.acceptance import accept_discrepancy
from refunds.models import Refund as RefundRow
from refunds.plans.planning import NewRefund
from refunds.services import RefundNotCancellable, cancel_refund, create_refund
from settlements import due_runs
from settlements.models import Settlement as SettlementRow
from settlements.models import SettlementRun
from settlements.plans.periods import coming_periods
from settlements.services import retry_failed, run_now
from tests.accounts import balance, model
from tests.accounts.balance import Coin
from tests.accounts.calendar import HOURS
from tests.accounts.policies import Policies
from tests.accounts.world import CONFIRMATIONS, FINAL_AFTER, NETWORKS, POTS, SANDBOX, Difference


class History(Policies):
    """What people do, in any order, and what the networks make of it."""

    def go(self, operations: int) -> None:
        """So many random operations, each followed by the comparison of everything."""
        for _ in range(operations):
            (operation,) = self.chance.choices([each for each, _ in OPERATIONS], [weight for _, weight in OPERATIONS])
            self.done.append(operation.__name__)
            getattr(self, operation.__name__)()  # as those who inherit this do it
            self.compare()

    # --- what people do ------------------------------------------------------------------------------

    def create(self) -> None:
        if len(self.payments) >= self.most_payments and self.chance.random() < 0.8:
            self.pay()
            return
        row, merchant = self.chance.choice(self.merchants)
        self._create(row, merchant, self.chance.choice(POTS))

    def _create(self, row: MerchantRow, merchant: balance.Merchant, coin: Coin) -> Any:
        self.back_to_par()  # so that what is at stake in dollars is as many coins
        self.look(again=True)  # a network that nobody has read for a while takes no payments
        cents = self.chance.choice([100_00, 40_00, self.chance.randrange(1_00, 900_00)])
        request = NewPayment(
            amount=Decimal(cents).scaleb(-2),
            currency="USD",
            cryptocurrency=coin.code,
            network=coin.network,
            merchant_wallet=self.wallet_of(row, coin.network),
        )
        payment, _ = create_payment(merchant=row, environment=SANDBOX, request=request)
        self.payments[payment.pk] = model.Payment(
            coin=coin,
            due=cents * 10 ** (coin.decimals - 2),
            tolerance_bps=row.settings.get(environment=SANDBOX).payment_tolerance_bps,
            expires_at=payment.expires_at,
            closes_at=payment.closes_at,
            merchant=merchant,
            confirmations_needed=CONFIRMATIONS[coin.network],
        )
        return payment.pk

    def pay(self) -> None:
        """A payer sends a part, all, too much or another coin, with the next block."""
        if not (key := self._any_payment()):
            self.create()
            return
        payment = self.payments[key]
        coin, amount = payment.coin, payment.due * self.chance.choice([100, 100, 100, 60, 40, 130, 201]) // 200 * 2
        amount = self.chance.choice([amount, payment.due, payment.needed, payment.due - payment.received])
        amount = max(1, amount + self.chance.choice([0, 0, 0, -1, 1, 10**9 + 7 if coin.decimals == 18 else 3]))
        if self.chance.random() < 0.08 and coin.network == "ethereum":
            coin, amount = next((each, 7 * 10**each.decimals) for each in POTS[::2] if each != coin)
        self._pay(key, coin, amount)

    def _pay(self, key: Any, coin: Coin, amount: int) -> None:
        payment, row = self.payments[key], PaymentRow.objects.get(pk=key)
        asset = registry.asset(SANDBOX, coin.network, coin.code)
        part = control.Part(asset.contract, amount, row.muxed_address or row.deposit_address)
        transaction_hash = control.pay_together(coin.network, [part])
        transfer = model.Transfer(coin, amount, number=len(self.transfers))
        self.transfers[transaction_hash] = transfer
        payment.transfers.append(transfer)
        self.grow(coin.network, 1)  # so that no two are in one block: which of them comes first is left to chance

    def mine(self) -> None:
        self.grow(self.chance.choice(NETWORKS), self.chance.randrange(1, 6))

    def reorganise(self) -> None:
        """The newest blocks are replaced; what they held is in the next one, or nowhere."""
        self.look()
        row = SimulatedNetwork.objects.get(pk="ethereum")
        if depth := min(self.chance.randrange(1, 7), control.deepest_reorg("ethereum"), row.height):
            self.replace_blocks(depth, self.chance.choice(["moved", "moved", "dropped", "replaced", "kept"]))
        if self.chance.random() < 0.7:
            self.grow("ethereum", self.chance.randrange(1, 5))

    def end_window(self) -> None:
        if not (key := self._any_payment()):
            return
        self.look()
        row = end_window_of(PaymentRow.objects.get(pk=key))
        self.payments[key].expires_at, self.payments[key].closes_at = row.expires_at, row.closes_at
        self.grow(row.network, 1)

    def cancel(self) -> None:
        if not (key := self._any_payment()):
            return
        self.look()
        payment = self.payments[key]
        if payment.status == "created" and not any(each.height is not None for each in payment.transfers):
            cancel_payment(PaymentRow.objects.get(pk=key))
            payment.is_cancelled, payment.base_status = True, "cancelled"

    def accept(self) -> None:
        """Somebody takes money in suspense as enough, or keeps it."""
        if (found := self._any_waiting()) is None:
            return
        self.look()
        key, payment = found
        if (waiting := self.waiting[key]).status == "open":
            accept_discrepancy(Discrepancy.objects.get(pk=key), resolved_by="Ada")
            payment.accept(waiting, self.read_until.get(payment.coin.network))

    def refund(self) -> None:
        """A part of what is left of a payment, or all of it."""
        keys = [key for key, payment in self.payments.items() if payment.released and payment.refundable]
        if not keys:
            return
        key = self.chance.choice(keys)
        payment, row = self.payments[key], PaymentRow.objects.get(pk=key)
        cent = 10 ** (payment.coin.decimals - 2)
        refundable, asked = payment.refundable, None
        if (most := refundable // cent - 2) > 0 and self.chance.random() < 0.6:
            asked = Decimal(self.chance.randrange(1, most + 1)).scaleb(-2)
        amount = refundable if asked is None else int(asked * 100) * cent
        has_enough = payment.merchant.money[payment.coin] >= amount
        settings.FEE_ON_REFUNDS = self.chance.choice(["kept", "returned"])
        made = self._create_refund(
            row, NewRefund(amount=asked, destination=self.payer(payment.coin.network)), has_enough
        )
        if made is not None:
            returns_fee = settings.FEE_ON_REFUNDS == "returned"
            self.refunds[made.pk] = payment.refund(int(made.amount), returns_fee=returns_fee), payment
            if made.amount != amount:
                raise Difference(f"a refund of {asked} takes {made.amount} instead of {amount}")

    def refund_suspense(self) -> None:
        if (found := self._any_waiting()) is None:
            return
        key, payment = found
        waiting = self.waiting[key]
        row, asked = Discrepancy.objects.get(pk=key), self.payer(waiting.coin.network)
        request = NewRefund(discrepancy=row, destination=asked)
        assert row.payment is not None
        made = self._create_refund(row.payment, request, payment.may_refund(waiting))
        if made is not None:
            self.refunds[made.pk] = payment.refund(waiting.amount, waiting), payment

    def _create_refund(self, row: PaymentRow, request: NewRefund, is_possible: bool) -> RefundRow | None:
        try:
            with transaction.atomic():
                made = create_refund(payment=row, request=request, requested_by="Ada")
        except DomainError as refusal:
            if is_possible:
                raise Difference(f"a refund that is possible is refused: {refusal}") from refusal
            return None
        if not is_possible:
            raise Difference(f"a refund of {made.amount} is more than there is")
        return made

    def cancel_refund(self) -> None:
        reserved = [key for key, (refund, _) in self.refunds.items() if refund.status == "reserved"]
        if reserved:
            try:
                cancel_refund(RefundRow.objects.get(pk=self.chance.choice(reserved)))
            except RefundNotCancellable:
                return
            self.follow()

    def send(self) -> None:
        """The wallets send what waits, and blocks go by."""
        network = self.chance.choice(NETWORKS)
        for _ in range(self.chance.randrange(1, 4)):
            self.drive(network)
            self.grow(network, FINAL_AFTER[network])
        self.drive(network)
        self.follow()

    def refuse(self) -> None:
        """The issuer of the coins forbids an address to receive any, or allows it again."""
        network = self.chance.choice(NETWORKS)
        wallets = [merchant.wallets[network] for _, merchant in self.merchants]
        wallet = self.chance.choice([*wallets, self.payer(network)])
        place = network, wallet
        self._refused ^= {place}
        control.describe_account(network, wallet, refuses="destination_refused" if place in self._refused else "")

    def settle(self) -> None:
        """A run that was asked for."""
        row, merchant = self.chance.choice(self.merchants[:-1])
        self._run_now(row, merchant)

    def settle_and_undo(self) -> None:
        """What is paid is settled before it is final, and then undone; perhaps the fee changed in between."""
        row, merchant = self.chance.choice(self.merchants[:-1])
        own = [each for each in self.payments.values() if each.merchant is merchant and each.coin.network == "ethereum"]
        if not own:
            return
        chosen = self.chance.choice(own)
        key = next(key for key, each in self.payments.items() if each is chosen)
        for step in self.chance.choice(UNDONE):
            if step == "pay":
                self._pay(
                    key,
                    self.payments[key].coin,
                    self.chance.choice([self.payments[key].due, self.payments[key].needed]),
                )
                self.grow("ethereum", 2)
                self.look()
            elif step == "settle":
                self._run_now(row, merchant)
            elif step == "end":
                self.end_debt()
            elif step == "elsewhere":
                self._pay_elsewhere(row, merchant, chosen.coin)
            elif step == "fee":
                self.change_fee()
            else:
                self.look()
                depth = min(control.deepest_reorg("ethereum"), SimulatedNetwork.objects.get(pk="ethereum").height)
                self.replace_blocks(depth, step)
                self.grow("ethereum", 3)
                self.look()
            self.compare()

    def _pay_elsewhere(self, row: MerchantRow, merchant: balance.Merchant, coin: Coin) -> None:
        """The merchant is paid in another coin, or on another network, for good."""
        other = self.chance.choice([each for each in POTS if each != coin])
        key = self._create(row, merchant, other)
        self._pay(key, other, self.payments[key].due)
        self.grow(other.network, FINAL_AFTER[other.network])
        self.look()

    def let_days_pass(self) -> None:
        """The last merchant is settled by a schedule, moved now and then, on a clock of its own that is weeks ahead."""
        row, merchant = self.merchants[-1]
        calendar, chosen = self.calendar, row.settings.get(environment=SANDBOX)
        if self.chance.random() < 0.4:
            calendar.frequency = self.chance.choice(["daily", "daily", "weekly", "monthly"])
            calendar.at, calendar.zone = time(self.chance.randrange(24)), self.chance.choice(list(HOURS))
            calendar.weekday, calendar.monthday = self.chance.randrange(1, 8), self.chance.randrange(1, 32)
            chosen = update_settings(
                merchant=row,
                environment=SANDBOX,
                changes={
                    "settlement_frequency": calendar.frequency,
                    "settlement_time": calendar.at,
                    "settlement_timezone": calendar.zone,
                    "settlement_weekday": calendar.weekday,
                    "settlement_monthday": calendar.monthday,
                },
            )
        self.its_now += timedelta(hours=self.chance.choice([1, 5, 24, 24, 70, 24 * 20]))
        made: list[SettlementRun] = []
        promises_rates = self.promise_rates()
        due_runs.run_due(self.its_now, merchant=row, environment=SANDBOX, on_run=made.append)
        due = calendar.due(self.its_now)
        self._say(
            "the schedule", {"runs": [due] if due else []}, {"runs": [(r.period_key, r.period_end) for r in made]}
        )
        if due is not None:
            calendar.run(*due)
            self._note_settled(made[0], merchant, promises_rates=promises_rates)
        (coming,) = coming_periods(chosen, self.its_now, 1)
        self._say("what comes", {"run": calendar.coming(self.its_now)}, {"run": (coming.key, coming.ends_at)})

    def _run_now(self, row: MerchantRow, merchant: balance.Merchant) -> None:
        promises_rates = self.promise_rates()
        run = run_now(merchant=row, environment=SANDBOX, requested_by="Ada")
        self._note_settled(run, merchant, promises_rates=promises_rates)

    def _note_settled(self, run: SettlementRun, merchant: balance.Merchant, *, promises_rates: bool) -> None:
        expected = {each.network: each for each in merchant.settle(promises_rates=promises_rates)}
        made = {each.network: each for each in run.settlements.all()}
        if made.keys() != expected.keys():
            raise Difference(f"settled on {sorted(made)} instead of {sorted(expected)}")
        for network, settlement in made.items():
            if settlement.destination != expected[network].wallet:
                raise Difference(f"{settlement} is paid to {settlement.destination}")
            self.settlements[settlement.pk] = expected[network], merchant

    def hand_over(self) -> None:
        SettlementRow.objects.filter(next_step_at__isnull=False).update(
            next_step_at=datetime.fromtimestamp(0).astimezone()
        )
        self.follow()

    def retry(self) -> None:
        failed = [key for key, (each, _) in self.settlements.items() if each.is_blocking]
        if failed:
            key = self.chance.choice(failed)
            settlement, merchant = self.settlements[key]
            retry_failed(SettlementRow.objects.get(pk=key), requested_by="Ada")
            merchant.retry(settlement.network, settlement.wallet)

    def change_fee(self) -> None:
        row, merchant = self.chance.choice(self.merchants)
        merchant.fee_bps = self.chance.choice([0, 1, 37, 100, 1_000])
        change_fee(merchant=row, fee_bps=merchant.fee_bps)

    def finish(self) -> None:
        """Everything becomes final and ends; then everything is compared."""
        for network, wallet in self._refused:
            control.describe_account(network, wallet)
        self._refused = set()
        for _ in range(2):
            for network in NETWORKS:
                self.grow(network, FINAL_AFTER[network])
            self.look()
            for network in NETWORKS:
                for _ in range(3):
                    self.drive(network)
                    self.grow(network, FINAL_AFTER[network])
                self.drive(network)
            self.hand_over()
        self.compare()
        self.compare_settlements()
        self.back_to_par()


UNDONE: tuple[tuple[Any, ...], ...] = (
    ("pay", "settle", "dropped", "pay"),
    ("pay", "settle", "fee", "moved", "settle"),
    ("pay", "settle", "fee", "pay", "dropped", "settle"),
    ("pay", "dropped", "pay", "settle"),
    ("pay", "settle", "dropped", "end"),
    ("pay", "settle", "dropped", "elsewhere", "settle"),
    ("pay", "settle", "dropped", "elsewhere", "settle", "pay"),
)
"""What becomes of a payment while its blocks can still be replaced."""

Operation = Callable[[History], None]
OPERATIONS: tuple[tuple[Operation, int], ...] = (
    (History.create, 8),
    (History.pay, 16),
    (History.mine, 10),
    (History.look, 16),
    (History.reorganise, 7),
    (History.end_window, 6),
    (History.cancel, 2),
    (History.accept, 5),
    (History.refund, 8),
    (History.refund_suspense, 4),
    (History.cancel_refund, 4),
    (History.send, 6),
    (History.refuse, 2),
    (History.settle, 5),
    (History.settle_and_undo, 4),
    (History.let_days_pass, 5),
    (History.hand_over, 5),
    (History.retry, 3),
    (History.change_fee, 3),
    (History.move_rate, 3),
    (History.change_currency, 2),
    (History.change_wallet, 3),
    (History.lose_wallet, 3),
    (History.end_wait, 5),
    (History.end_debt, 1),
    (History.owe_again, 1),
    (History.withdraw, 1),
)
