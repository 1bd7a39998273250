"""The capacity model of docs/scaling.md: what so many payments a day take, by coefficients that were measured.

`make tables` writes its table, and `make check` compares. Each coefficient has the command that measures it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

DAY = 86_400
PAYMENTS_A_DAY = (100, 10_000, 100_000, 1_000_000, 10_000_000)

PEAK = 4.0
"""Times the mean of a day that its busiest minutes have."""

STATUS_LOOKS, SHOP_LOOKS = 40, 2
"""While a payer pays: a page that is open for 80 s asks every 2 s; its shop asks twice for the payment."""

FAILOVER, DATABASE, DISK, CALLS = (
    "python -m tests.gauntlet failover",
    "python -m tests.bench.database",
    "python -m tests.bench.bytes",
    "python -m tests.bench.provider_calls",
)


@dataclass(frozen=True)
class Coefficient:
    value: float
    unit: str
    meaning: str
    command: str


WEB = Coefficient(12.5, "ms", "web, for a payment: made, and paid in the sandbox", FAILOVER)
WORKER = Coefficient(17.7, "ms", "workers and beat, for a payment", FAILOVER)
POSTGRESQL = Coefficient(18.3, "ms", "PostgreSQL with its standby's sender, for a payment", FAILOVER)
WORKER_AT_REST = Coefficient(0.04, "cores", "workers and beat, at rest", FAILOVER)
POSTGRESQL_AT_REST = Coefficient(0.04, "cores", "PostgreSQL, at rest", FAILOVER)
PAGE = Coefficient(5.4, "ms", "web, for a payer's page", DATABASE)
STATUS = Coefficient(1.8, "ms", "web, for its status", DATABASE)
GET = Coefficient(0.73, "ms", "web, for `GET /payments/:id`", DATABASE)
PAGE_THERE = Coefficient(0.35, "ms", "PostgreSQL, for a payer's page", DATABASE)
STATUS_THERE = Coefficient(0.26, "ms", "PostgreSQL, for its status", DATABASE)
GET_THERE = Coefficient(0.1, "ms", "PostgreSQL, for `GET /payments/:id`", DATABASE)
SEEN = Coefficient(4.6, "ms", "to see a payment on its network, which one worker at a time reads", DATABASE)
ROWS = Coefficient(28, "rows", "inserted for a payment with three webhooks", DATABASE)
BYTES = Coefficient(17_000, "bytes", "of tables and indexes at rest, for such a payment", DISK)
LOG = Coefficient(92_000, "bytes", "of PostgreSQL's log, for such a payment", DATABASE)
EVM_LOOK = Coefficient(5, "requests", "to each of two providers, each second", CALLS)
EVM_PAID = Coefficient(2, "requests", "more, for a look that finds payments", CALLS)
HORIZON_LOOK = Coefficient(1, "request", "to each of two Horizons, each 2.5 s", CALLS)
HORIZON_PAID = Coefficient(3, "requests", "more, for a ledger with payments", CALLS)

COEFFICIENTS = tuple(each for each in vars().copy().values() if isinstance(each, Coefficient))

HORIZON_SECONDS, LEDGER_SECONDS = 2.5, 5.0


@dataclass(frozen=True)
class Needs:
    """What a day of so many payments takes; cores are those of its busiest minutes."""

    payments: int

    @property
    def at_peak(self) -> float:
        """Payments a second."""
        return PEAK * self.payments / DAY

    @property
    def web_cores(self) -> float:
        looks = PAGE.value + STATUS_LOOKS * STATUS.value + SHOP_LOOKS * GET.value
        return self.at_peak * (WEB.value + looks) / 1000

    @property
    def worker_cores(self) -> float:
        return WORKER_AT_REST.value + self.at_peak * WORKER.value / 1000

    @property
    def postgresql_cores(self) -> float:
        looks = PAGE_THERE.value + STATUS_LOOKS * STATUS_THERE.value + SHOP_LOOKS * GET_THERE.value
        return POSTGRESQL_AT_REST.value + self.at_peak * (POSTGRESQL.value + looks) / 1000

    @property
    def evm_requests(self) -> float:
        """A day, to one provider of a network on which all of them are paid."""
        return EVM_LOOK.value * DAY + EVM_PAID.value * min(self.payments, DAY)

    @property
    def horizon_requests(self) -> float:
        return HORIZON_LOOK.value * DAY / HORIZON_SECONDS + HORIZON_PAID.value * min(
            self.payments, DAY / LEDGER_SECONDS
        )


def needs() -> Iterator[tuple[object, ...]]:
    """Rows of the table of needs, its head first."""
    yield (
        "payments a day", "a second, at peak", "cores: web", "workers", "PostgreSQL", "of one network's reader",
        "rows a day", "tables a day", "log a day", "requests a day to an EVM provider", "to a Horizon",
    )  # fmt: skip
    for payments in PAYMENTS_A_DAY:
        each = Needs(payments)
        cores = (each.web_cores, each.worker_cores, each.postgresql_cores)
        yield (
            f"{payments:,}",
            shown(each.at_peak),
            *map(shown, cores),
            f"{shown(100 * each.at_peak * SEEN.value / 1000)} %",
            shown(ROWS.value * payments),
            in_bytes(BYTES.value * payments),
            in_bytes(LOG.value * payments),
            shown(each.evm_requests),
            shown(each.horizon_requests),
        )


def coefficients() -> Iterator[tuple[object, ...]]:
    """Rows of the table of coefficients, its head first."""
    yield "what", "measured", "by"
    for each in COEFFICIENTS:
        yield each.meaning, f"{each.value:,g} {each.unit}", f"`{each.command}`"


def shown(number: float) -> str:
    """Two digits that count, as no more are known."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def in_bytes(number: float) -> str:
    for unit, size in (("TiB", 2**40), ("GiB", 2**30)):
        if number >= size:
            return f"{shown(number / size)} {unit}"
    return f"{shown(number / 2**20)} MiB"
