"""Decisions that another policy would have made about payments of the last 90 days, by `assess` itself; writes
nothing."""

from __future__ import annotations

import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from config import ids
from config.money import fiat_share
from config.pages import wording
from merchants.models import LatePayments, Merchant
from payments.deposits.assessment import Assessment, AssessmentFacts, DepositFact, assess, crumb_limit
from payments.deposits.facts import cursors_of
from payments.models import Deposit, Payment
from payments.services import LATE_GRACE
from payments.states import DepositStatus, PaymentStatus, StatusReason
from payments.suspense.surplus_policy import Outcome, SurplusPolicy

DAYS = 90
MOST_SECONDS = 5.0
MOST_PAYMENTS = 20_000
"""Largest number of payments with a discrepancy that are assessed."""
EXAMPLES = 10
_BATCH = 5_000

_REASONS = [StatusReason.UNDERPAID, StatusReason.OVERPAID, StatusReason.LATE]
"""A payment without any of these got the whole price in time, which no policy decides otherwise."""

_COLUMNS = (
    "status",
    "fiat_amount",
    "currency",
    "network",
    "cryptocurrency",
    "decimals",
    "due",
    "tolerance_bps",
    "expires_at",
    "closes_at",
)


@dataclass(frozen=True, slots=True)
class Policy:
    """A merchant's policy for money that differs from its request."""

    tolerance_bps: int
    late_payments: str
    surplus: SurplusPolicy = field(default_factory=SurplusPolicy)

    def closes_at(self, expires_at: datetime) -> datetime:
        return expires_at + (LATE_GRACE if self.late_payments == LatePayments.ACCEPT else timedelta())


@dataclass(frozen=True, slots=True)
class Example:
    """A payment that would have been decided otherwise, with its status by its own policy and by the new one."""

    payment_id: str
    price: str
    credited: str
    before: str
    after: str


@dataclass(slots=True)
class DryRun:
    """Decisions of payments by another policy.

    `credited` is what would have been credited at once beyond what was, by coin in base units with its decimals, and
    `worth` the same by currency in minor units; both are negative where more would have waited for a decision.
    """

    since: datetime
    reached: datetime
    is_complete: bool = True
    looked_at: int = 0
    moves: Counter[tuple[str, str]] = field(default_factory=Counter)
    credited: defaultdict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    worth: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    examples: list[Example] = field(default_factory=list)
    surplus: Counter[Outcome] = field(default_factory=Counter)
    surplus_units: defaultdict[tuple[Outcome, str, int], int] = field(default_factory=lambda: defaultdict(int))
    """Payments with a surplus by what would become of it, and the surplus itself by coin, in base units."""

    @property
    def surplus_words(self) -> list[tuple[str, int, str]]:
        """Outcomes for surplus: the outcome, the number of payments, and the coins."""
        return [
            (outcome.value, self.surplus[outcome], ", ".join(self._coins_of(outcome)))
            for outcome in Outcome
            if self.surplus[outcome]
        ]

    def _coins_of(self, outcome: Outcome) -> Iterator[str]:
        for (found, coin, decimals), units in sorted(self.surplus_units.items()):
            if found == outcome:
                yield wording.coins(units, decimals, coin)

    @property
    def differing(self) -> int:
        return sum(self.moves.values())

    @property
    def move_words(self) -> list[tuple[int, str, str]]:
        """Payments that would have another status: their number, the status they have and the one instead."""
        return [(number, before, after) for (before, after), number in self.moves.most_common()]

    @property
    def credited_words(self) -> list[str]:
        return [
            _signed(units, wording.coins(abs(units), decimals, coin))
            for (coin, decimals), units in sorted(self.credited.items())
            if units
        ]

    @property
    def worth_words(self) -> list[str]:
        return [_signed(units, wording.fiat(abs(units), name)) for name, units in sorted(self.worth.items()) if units]


def try_policy(
    merchant: Merchant,
    environment: str,
    policy: Policy,
    *,
    now: datetime,
    clock: Callable[[], float] = time.monotonic,
) -> DryRun:
    """Assess the payments of the last 90 days by their own policy and by this one, newest first.

    Both times without any decision of people: what they accepted or gave back is left out. It ends after MOST_SECONDS
    or MOST_PAYMENTS and then reports how far back it came.
    """
    since = now - timedelta(days=DAYS)
    run = DryRun(since=since, reached=since)
    ends_at = clock() + MOST_SECONDS
    read_until = {network: cursor.read_until for network, cursor in cursors_of(environment).items()}
    for payments, oldest in _batches(merchant, environment, since):
        deposits = _deposits_of(payments)
        for payment in payments:
            facts = _facts(payment, deposits.get(payment.pk, ()), read_until)
            other = replace(facts, tolerance_bps=policy.tolerance_bps, closes_at=policy.closes_at(facts.expires_at))
            assessed = assess(other)
            _compare(run, payment, assess(facts), assessed)
            if assessed.surplus:
                outcome = policy.surplus.outcome(assessed.surplus, due=payment.due, decimals=payment.decimals)
                run.surplus[outcome] += 1
                run.surplus_units[outcome, payment.cryptocurrency, payment.decimals] += assessed.surplus
        run.looked_at += len(payments)
        if run.looked_at >= MOST_PAYMENTS or clock() >= ends_at:
            run.is_complete, run.reached = False, ids.created_at_of(oldest)
            break
    return run


def _batches(merchant: Merchant, environment: str, since: datetime) -> Iterator[tuple[list[Payment], uuid.UUID]]:
    """Payments that were not paid exactly as requested, newest first, in ranges of keys that cost the same whatever is
    in them.

    Each comes with the last key of its range.
    """
    own = Payment.objects.of(merchant, environment).filter(pk__gte=ids.first_uuid_at(since)).order_by("-pk")
    older = own
    while keys := list(older.values_list("pk", flat=True)[:_BATCH]):
        odd = own.filter(pk__gte=keys[-1], pk__lte=keys[0], deposit_count__gt=0, status_reasons__overlap=_REASONS)
        yield list(odd.only(*_COLUMNS)), keys[-1]
        older = own.filter(pk__lt=keys[-1])


def _deposits_of(payments: Sequence[Payment]) -> Mapping[uuid.UUID | None, list[DepositFact]]:
    """Confirmed deposits of these payments in the coin and on the network of each."""
    coins_of = {payment.pk: (payment.network, payment.cryptocurrency) for payment in payments}
    found: defaultdict[uuid.UUID | None, list[DepositFact]] = defaultdict(list)
    rows = Deposit.objects.filter(payment__in=coins_of, status=DepositStatus.CREDITED)
    for key, payment, network, asset, amount, sent_at in rows.values_list(
        "pk", "payment_id", "network", "asset", "amount", "first_block_time"
    ):
        if coins_of[payment] == (network, asset):
            found[payment].append(DepositFact(id=key, amount=int(amount), sent_at=sent_at, confirmed=True))
    return found


def _facts(
    payment: Payment, deposits: Sequence[DepositFact], read_until: Mapping[str, datetime | None]
) -> AssessmentFacts:
    """Facts of the payment, without anything that people have decided."""
    return AssessmentFacts(
        due=payment.due,
        tolerance_bps=payment.tolerance_bps,
        expires_at=payment.expires_at,
        closes_at=payment.closes_at,
        cancelled=payment.status == PaymentStatus.CANCELLED,
        closed=False,
        accepted=False,
        returned=0,
        read_until=read_until.get(payment.network),
        deposits=tuple(deposits),
        crumb=crumb_limit(payment.decimals),
    )


def _compare(run: DryRun, payment: Payment, before: Assessment, after: Assessment) -> None:
    credited = after.released - before.released
    if before.status == after.status and not credited:
        return
    worth = fiat_share(credited, fiat_amount=payment.fiat_amount, due=int(payment.due))
    statuses = str(before.status.label), str(after.status.label)
    run.moves[statuses] += 1
    run.credited[payment.cryptocurrency, payment.decimals] += credited
    run.worth[payment.currency] += worth
    if len(run.examples) < EXAMPLES:
        words = wording.coins(abs(credited), payment.decimals, payment.cryptocurrency)
        price = wording.fiat(payment.fiat_amount, payment.currency)
        run.examples.append(Example(payment.public_id, price, _signed(credited, words), *statuses))


def _signed(units: int, words: str) -> str:
    return f"{'−' if units < 0 else '+'}{words}"
