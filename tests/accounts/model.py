"""What becomes of a payment in any history, worked out a second time; `balance` has the merchant's side of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from tests.accounts.balance import Coin, Gain, Merchant

FINAL_FROM_DOLLARS = 1_000
"""Where so much is at stake, by what is due or by all that has arrived, only final blocks count."""


@dataclass(eq=False)
class Transfer:
    """What a payer sent. `seen_at` is the time of the earliest block it was ever seen in."""

    coin: Coin
    amount: int
    number: int
    height: int | None = None
    block: str = ""
    confirmations: int = 0
    is_final: bool = False
    seen_at: datetime | None = None
    credited_in: str = ""
    """The block in which it was booked: it stays so, whatever the payment waits for by now, while it is there."""
    is_confirmed: bool = False
    booked_to: str = ""
    """`payment`, or the kind of the discrepancy that holds it; empty: not in the ledger."""


@dataclass(eq=False)
class Waiting:
    """Money that waits for a decision, or waited for one: `open`, `accepted`, `refunded` or `void`."""

    kind: str
    coin: Coin
    amount: int
    transfer: Transfer | None = None
    status: str = "open"
    gain: Gain | None = None


@dataclass(eq=False)
class Refund:
    """Money on its way back to a payer: `reserved`, `completed` or `returned`."""

    amount: int
    waiting: Waiting | None = None
    status: str = "reserved"
    returns_fee: bool = False


@dataclass(eq=False)
class Payment:
    coin: Coin
    due: int
    tolerance_bps: int
    expires_at: datetime
    closes_at: datetime
    merchant: Merchant
    transfers: list[Transfer] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    refunds: list[Refund] = field(default_factory=list)
    is_cancelled: bool = False
    is_closed: bool = False
    is_accepted: bool = False
    is_reversed: bool = False
    waits_for_final: bool = False
    confirmations_needed: int = 1
    received: int = 0
    released: int = 0
    surplus: int = 0
    gains: list[Gain] = field(default_factory=list)
    refunded: int = 0
    refunded_of: list[tuple[Gain, int]] = field(default_factory=list)
    """What refunds with their fees have taken, of what was paid last first."""
    refunded_beyond: int = 0
    """What they gave back that is not there any more: of what is paid next."""
    returned: int = 0
    base_status: str = "created"
    reasons: set[str] = field(default_factory=set)

    # --- what the record shows -------------------------------------------------------------------

    @property
    def needed(self) -> int:
        """The tolerance is a share of the price, rounded down: so much may be missing."""
        return self.due - self.due * self.tolerance_bps // 10_000

    @property
    def short(self) -> int:
        """What was too little when the window closed, whatever was decided about it since."""
        return self.received if self.is_closed else 0

    @property
    def status(self) -> str:
        paid = self.released + self.short
        if not paid or not self.returned:
            return self.base_status
        return "refunded" if self.returned >= paid else "partially_refunded"

    @property
    def in_clearing(self) -> int:
        """Confirmed, and nobody's yet: too little so far, and the window is open."""
        return 0 if self.released or self.is_closed else self.received

    @property
    def refundable(self) -> int:
        """What of the merchant's own part can still be given back."""
        from_suspense = sum(each.amount for each in self.waiting if each.status == "refunded" and is_own(each))
        return max(0, min(self.released - (self.refunded - from_suspense), self.received - self.refunded))

    # --- assessment --------------------------------------------------------------------------------

    def assess(self, read_until: datetime | None) -> None:
        """Make everything follow from the transfers as they stand in the chain now."""
        self._confirm()
        self._undo_what_is_lost()
        there = [each for each in self.transfers if each.height is not None]
        right = [each for each in there if each.coin == self.coin]
        counted, late = self._divide(right)
        for each in there:
            if each.booked_to or not each.is_confirmed:
                continue
            if each in counted:
                each.booked_to = "payment"
            else:
                each.booked_to = "late" if each.coin == self.coin else "wrong_token"
                self.waiting.append(Waiting(each.booked_to, each.coin, each.amount, each))
        received = sum(each.amount for each in counted if each.is_confirmed)
        seen = sum(each.amount for each in counted)
        is_enough = received >= self.needed or (self.is_accepted and received > 0)
        before, self.received = self.base_status, received
        self.base_status = self._status_of(received, seen, is_enough, read_until)
        if is_enough and not self.is_closed:
            self._release(received)
        is_over = read_until is not None and read_until > self.closes_at
        if self.base_status == "underpaid" and is_over and received == seen and not self.is_closed:
            self.is_closed = True
            self.waiting.append(Waiting("underpaid", self.coin, received))
        self.is_reversed |= before != "created" and self.base_status == "created"
        self.reasons = self._reasons(right, there, late)

    def _confirm(self) -> None:
        """Which transfers count as confirmed. Once more is at stake, that stays so; what is booked stays as it is."""
        there = [each for each in self.transfers if each.height is not None]
        settled = [each for each in there if each.booked_to and each.credited_in == each.block]
        dollars = sum(Fraction(each.amount, 10**each.coin.decimals) for each in there)
        is_large = max(dollars // 1, self.due // 10**self.coin.decimals) >= FINAL_FROM_DOLLARS
        if is_large and any(each not in settled and not each.is_final for each in there):
            self.waits_for_final = True
        for each in self.transfers:
            is_deep = each.confirmations >= self.confirmations_needed and (each.is_final or not self.waits_for_final)
            each.is_confirmed = each.height is not None and (each in settled or is_deep)
            if each.is_confirmed:
                each.credited_in = each.block

    def _divide(self, right: Iterable[Transfer]) -> tuple[list[Transfer], list[Transfer]]:
        if self.is_cancelled:
            return [], list(right)
        counted: list[Transfer] = []
        late: list[Transfer] = []
        total = 0
        for each in sorted(right, key=lambda each: (each.booked_to != "payment", each.seen_at, each.number)):
            assert each.seen_at is not None
            is_held = each.booked_to not in ("", "payment")
            makes_whole = each.seen_at <= self.closes_at and total < self.needed <= total + each.amount
            is_in_time = each.seen_at <= self.expires_at or makes_whole
            if each.booked_to == "payment" or (not is_held and not self.is_closed and is_in_time):
                counted.append(each)
                total += each.amount
            else:
                late.append(each)
        return counted, late

    def _status_of(self, received: int, seen: int, is_enough: bool, read_until: datetime | None) -> str:
        if self.is_cancelled:
            return "cancelled"
        if is_enough:
            return "completed"
        if seen >= self.needed or (seen and not received):
            return "pending"
        if received:
            return "underpaid"
        return "expired" if read_until is not None and read_until > self.expires_at else "created"

    def _reasons(self, right: list[Transfer], there: list[Transfer], late: list[Transfer]) -> set[str]:
        found = {"wrong_token"} if len(right) < len(there) else set()
        if 0 < self.received < self.due:
            found.add("underpaid")
        if self.surplus:
            found.add("overpaid")
        came_late = any(each.seen_at is not None and each.seen_at > self.expires_at for each in right)
        if late or (self.base_status == "completed" and came_late):
            found.add("late")
        return found | ({"reversed"} if self.is_reversed else set())

    def _release(self, received: int) -> None:
        """The price is the merchant's, and a crumb beyond it, while nothing waits. What is the merchant's stays so."""
        is_crumb = received - self.due < self.coin.crumb and not self.surplus
        released = received if is_crumb else max(self.released, min(received, self.due))
        surplus = received - released
        if more := released - self.released:
            self.gains.append(Gain(more))
            self.merchant.gain(self.coin, "payment", self.gains[-1])
            self._spread_refunds()
        if surplus > self.surplus:
            self.waiting.append(Waiting("overpaid", self.coin, surplus - self.surplus))
        self.released, self.surplus = released, surplus

    def _undo_what_is_lost(self) -> None:
        lost = [each for each in self.transfers if each.booked_to and not each.is_confirmed]
        self.is_reversed |= bool(lost)
        for transfer in lost:
            for each in self.waiting:
                if each.transfer is transfer and each.status != "void":
                    self._void(each)
        if any(each.booked_to == "payment" for each in lost):
            self._reopen()
        for transfer in lost:
            transfer.booked_to = ""

    def _reopen(self) -> None:
        """What was credited goes back into question: all of it, as the rest may be too little."""
        undone = [each for each in self.gains if not each.is_undone]
        for each in self.waiting:
            if is_own(each) and each.status != "void":
                if each.gain is not None:
                    undone.append(each.gain)
                    each.status = "void"
                else:
                    self._void(each)
        self._undo(self.coin, undone)
        self.gains = []
        self.released = self.surplus = self.received = 0
        self.is_closed = self.is_accepted = False

    def _void(self, waiting: Waiting) -> None:
        """Money in suspense that is not there after all. Where it has gone back already, the merchant bears that."""
        if waiting.status == "refunded":
            self.merchant.change(waiting.coin, "refund", -waiting.amount)
        elif waiting.gain is not None:
            self._undo(waiting.coin, [waiting.gain])
        waiting.status = "void"

    def _undo(self, coin: Coin, gains: list[Gain]) -> None:
        """The chain took back what was paid: all of these at once."""
        if gains:
            self.merchant.change(coin, "reversal", -sum(each.amount for each in gains))
        for each in gains:
            each.is_undone = True
        self.refunded_beyond += sum(amount for gain, amount in self.refunded_of if gain.is_undone)
        self.refunded_of = [(gain, amount) for gain, amount in self.refunded_of if not gain.is_undone]
        self._spread_refunds()

    def _spread_refunds(self) -> None:
        accepted = [each.gain for each in self.waiting if each.gain is not None and each.coin == self.coin]
        for gain in [*reversed(self.gains), *reversed(accepted)]:
            if taken := min(gain.kept, self.refunded_beyond):
                gain.refunded += taken
                self.refunded_beyond -= taken
                self.refunded_of.append((gain, taken))

    def _take_refund_back(self, amount: int) -> None:
        beyond = min(amount, self.refunded_beyond)
        self.refunded_beyond -= beyond
        amount -= beyond
        while amount:
            gain, taken = self.refunded_of.pop()
            back = min(amount, taken)
            gain.refunded -= back
            amount -= back
            if taken > back:
                self.refunded_of.append((gain, taken - back))

    # --- decisions -----------------------------------------------------------------------------------

    def accept(self, waiting: Waiting, read_until: datetime | None) -> None:
        """The merchant takes the money: short money, and late money that is lacking, count; all else is extra."""
        waiting.status = "accepted"
        is_lacking = not self.is_cancelled and not self.is_closed and self.released < self.due
        if waiting.kind == "underpaid":
            self.is_closed = False
        elif waiting.kind == "late" and is_lacking:
            assert waiting.transfer is not None
            waiting.transfer.booked_to = "payment"
        else:
            waiting.gain = Gain(waiting.amount)
            self.merchant.gain(waiting.coin, "accepted", waiting.gain)
            self._spread_refunds()
            return
        self.is_accepted = True
        self.assess(read_until)

    def take_crumbs(self, read_until: datetime | None) -> None:
        """Less than a hundredth of a coin waits for nobody, unless the payment would be complete with it."""
        for each in [each for each in self.waiting if each.status == "open" and each.amount < each.coin.crumb]:
            is_lacking = not self.is_cancelled and not self.is_closed and self.released < self.due
            if each.kind in ("overpaid", "wrong_token") or (each.kind == "late" and not is_lacking):
                self.accept(each, read_until)

    def may_refund(self, waiting: Waiting) -> bool:
        return not is_own(waiting) or self.refunded + waiting.amount <= self.received

    def refund(self, amount: int, waiting: Waiting | None = None, *, returns_fee: bool = False) -> Refund:
        """The caller has seen that there is as much. No fee is on money that waits for a decision."""
        refund = Refund(amount, waiting, returns_fee=returns_fee and waiting is None)
        if waiting is None:
            self.merchant.change(self.coin, "refund", -amount)
        else:
            waiting.status = "refunded"
        if waiting is None or is_own(waiting):
            self.refunded += amount
        if refund.returns_fee:
            self.refunded_beyond += amount
            self._spread_refunds()
        self.refunds.append(refund)
        return refund

    def give_back(self, refund: Refund) -> None:
        """A refund was cancelled or failed: its money is where it was, or the merchant's if that is void."""
        refund.status, waiting = "returned", refund.waiting
        if waiting is not None and waiting.status == "refunded":
            waiting.status = "open"
        else:
            self.merchant.change(waiting.coin if waiting else self.coin, "refund_failed", refund.amount)
        if waiting is None or is_own(waiting):
            self.refunded -= refund.amount
        if refund.returns_fee:
            self._take_refund_back(refund.amount)

    def complete(self, refund: Refund) -> None:
        refund.status = "completed"
        if refund.waiting is None or refund.waiting.kind == "underpaid":
            self.returned += refund.amount


def is_own(waiting: Waiting) -> bool:
    """Whether it is a part of what counted for the payment."""
    return waiting.kind in ("overpaid", "underpaid")
