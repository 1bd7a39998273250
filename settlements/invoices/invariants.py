"""Checks of the papers that leave the house: invoices, credit notes and monthly statements, against the ledger."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from zoneinfo import ZoneInfo

from django.utils import timezone

from config import ids
from config.money import FIAT_DIGITS, to_units
from merchants.ledger.checking import Finding, Scope, Severity, invariant, unequal
from merchants.models import Merchant, MerchantSettings
from payments.chains import registry
from payments.monitoring.accounting.periods import Days
from settlements.invoices.fees import invoiced_by
from settlements.invoices.models import BillingDetails, Invoice, InvoiceSeries
from settlements.monthly.reading import statement_sums
from settlements.plans.postings import RESERVED
from settlements.plans.statements import LineType

BELOW_A_CENT = Decimal("0.02")
"""Coins of a dollar; the minor unit of no currency is worth as much."""
WAITS_FOR = timedelta(days=7)
"""Longest time a fee may be on no document after its month: until there is a rate, or an operator is there."""

# Every fee that was posted, and whose it is: by the settlement that its posting reserves, or by a merchant's account.
FEES = """
    SELECT account.environment, account.network, account.asset, entry.posting_id, -entry.amount, coalesce((
        SELECT settlement.merchant_id FROM ledger_entry AS other
        JOIN ledger_account AS payout ON payout.id = other.account_id AND payout.kind = 'payout'
        JOIN settlements_settlement AS settlement ON settlement.id = payout.owner::uuid
        WHERE other.posting_id = entry.posting_id LIMIT 1
    ), (
        SELECT own.owner::uuid FROM ledger_entry AS other
        JOIN ledger_account AS own ON own.id = other.account_id AND own.kind LIKE 'merchant:%%'
        WHERE other.posting_id = entry.posting_id LIMIT 1
    ))
    FROM ledger_account AS account JOIN ledger_entry AS entry ON entry.account_id = account.id
    WHERE account.kind = 'fee:service' AND account.environment = ANY(%(environments)s)
        AND {entries}
"""


@dataclass(slots=True)
class _Papers:
    """The period of a merchant's documents, and their fees by network and coin."""

    start: datetime
    until: datetime
    stated: Counter[tuple[str, str]] = field(default_factory=Counter)


@invariant("S11", "invoices and credit notes say the fees that the ledger says, by merchant and coin")
def invoices_match_the_fees(scope: Scope) -> Iterator[Finding]:
    papers: dict[tuple[uuid.UUID, str], _Papers] = {}
    documents = Invoice.objects.filter(environment__in=scope.environments).defer("issuer", "recipient")
    if scope.since:
        documents = documents.filter(id__gte=ids.first_uuid_at(scope.since))
    for document in documents.order_by("sequence").iterator():
        place = (document.merchant_id, document.environment)
        own = papers.setdefault(place, _Papers(document.period_start, document.period_end))
        own.until = document.period_end
        for fee in invoiced_by(document):
            own.stated[fee.network, fee.coin] += fee.units
        yield from _inexact(document)
    yield from _gaps(scope)
    is_late = _late()
    fees: defaultdict[tuple[uuid.UUID, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    later: defaultdict[tuple[uuid.UUID, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for environment, network, coin, posting_id, units, merchant_id in scope.rows(
        FEES.format(entries=scope.keys("entry.posting_id"))
    ):
        if merchant_id is None:
            yield Finding(
                f"posting {posting_id}: fee of {int(units):,} {coin}",
                "the fee of a merchant",
                "of nobody",
                "find out who posted it; no invoice and no statement can say it",
                environment=environment,
                network=network,
                key=posting_id,
            )
            continue
        key, at = (merchant_id, environment), ids.created_at_of(posting_id)
        if key in papers and papers[key].start <= at < papers[key].until:
            fees[key][network, coin] += int(units)
        elif key in papers and papers[key].until <= at < is_late:
            later[key][network, coin] += int(units)
    if scope.since:
        return  # sums are of all documents and all fees
    billed = set(BillingDetails.objects.values_list("merchant_id", flat=True))
    for key, own in papers.items():
        merchant_id, environment = key
        for network, coin in sorted(fees[key].keys() | own.stated.keys() | later[key].keys()):
            if scope.network not in (None, network):
                continue
            cent = to_units(BELOW_A_CENT, registry.decimals(environment, network, coin))
            expected, actual = fees[key][network, coin], own.stated[network, coin]
            subject = f"fees of merchant {merchant_id} until {own.until:%Y-%m-%d}"
            if abs(actual - expected) > cent:
                yield unequal(
                    f"{subject} in {coin}, by its documents",
                    (environment, network, coin),
                    expected,
                    actual,
                    "compare its invoices with the postings of its settlements; the next document says the difference",
                )
            elif merchant_id in billed and abs(left := later[key][network, coin]) > cent:
                yield Finding(
                    f"fees of merchant {merchant_id} since {own.until:%Y-%m-%d} in {coin}",
                    f"on a document within {WAITS_FOR.days} days after the month",
                    f"{left:,} on none",
                    "see why none is issued: the task invoices.issue_due, its log, and the rates",
                    severity=Severity.WARNING,
                    environment=environment,
                    network=network,
                )


def _late() -> datetime:
    """Fees of before belong on a document: the first day of the last month that ended long enough ago."""
    return (timezone.now() - WAITS_FOR - timedelta(days=1)).replace(day=1, hour=0, minute=0, second=0)


def _gaps(scope: Scope) -> Iterator[Finding]:
    """Numbers that were taken, and whose documents are not there."""
    for series in InvoiceSeries.objects.filter(environment__in=scope.environments):
        count = Invoice.objects.filter(environment=series.environment).count()
        if count != series.last_number:
            yield Finding(
                f"invoices of {series.environment}",
                f"{series.last_number}, one of each number",
                f"{count}",
                "nobody may delete an issued document: find out who did, and restore it from a backup",
                environment=series.environment,
            )


def _inexact(document: Invoice) -> Iterator[Finding]:
    """A document whose lines do not add up, or whose tax is not that of its net."""
    digits = FIAT_DIGITS[document.currency]
    lines = sum(to_units(Decimal(line["net"]), digits) for line in document.lines)
    tax = int((document.net * document.tax_rate / 100).to_integral_value(rounding=ROUND_HALF_UP))
    wrong = [
        line["network"]
        for line in document.lines
        if abs(Decimal(line["amount"]) * Decimal(line["rate"]) - Decimal(line["net"])) >= 2 * Decimal(1).scaleb(-digits)
    ]
    if (lines, tax) != (document.net, document.tax) or wrong:
        yield Finding(
            f"{document.kind} {document.number}",
            f"net {lines}, tax {tax}, each line its amount at its rate",
            f"net {document.net}, tax {document.tax}, wrong lines: {', '.join(wrong) or 'none'}",
            "nobody may change an issued document: find out who did, and restore it from a backup",
            environment=document.environment,
        )


# Net and fee of each settlement by coin, beside the posting that reserved them.
SETTLED = """
    SELECT settlement.environment, settlement.merchant_id, settlement.network, coin ->> 'coin', settlement.id,
        reserved.posting_id, (coin ->> 'net')::numeric, (coin ->> 'fee')::numeric,
        coalesce(reserved.net, 0), coalesce(reserved.fee, 0)
    FROM settlements_settlement AS settlement CROSS JOIN LATERAL jsonb_array_elements(settlement.coins) AS coin
    LEFT JOIN LATERAL (
        SELECT entry.posting_id, -entry.amount AS net, (
            SELECT -sum(other.amount) FROM ledger_entry AS other JOIN ledger_account AS account
                ON account.id = other.account_id AND account.kind = 'fee:service'
                AND account.network = payout.network AND account.asset = payout.asset
            WHERE other.posting_id = entry.posting_id
        ) AS fee
        FROM ledger_account AS payout JOIN ledger_entry AS entry ON entry.account_id = payout.id
        JOIN ledger_posting AS posting ON posting.id = entry.posting_id AND posting.kind = %(reserved)s
        WHERE payout.environment = settlement.environment AND payout.owner = settlement.id::text
            AND payout.kind = 'payout' AND payout.network = settlement.network AND payout.asset = coin ->> 'coin'
    ) AS reserved ON true
    WHERE settlement.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR settlement.network = %(network)s)
        AND {settlements}
    ORDER BY settlement.environment, settlement.merchant_id, settlement.id
"""

Totals = Counter[tuple[str, str, str]]


@invariant("S12", "settlements, the ledger and monthly statements say the same, by merchant, coin and month")
def statements_match_the_settlements(scope: Scope) -> Iterator[Finding]:
    zones = {
        (merchant_id, environment): ZoneInfo(zone)
        for merchant_id, environment, zone in MerchantSettings.objects.values_list(
            "merchant_id", "environment", "settlement_timezone"
        )
    }
    whose: tuple[str, uuid.UUID] | None = None
    months: dict[date, tuple[Totals, set[uuid.UUID]]] = {}
    for environment, merchant_id, network, coin, key, posting_id, net, fee, posted, charged in scope.rows(
        SETTLED.format(settlements=scope.keys("settlement.id")), reserved=RESERVED
    ):
        for what, stated, done in (("net", net, posted), ("fee", fee, charged)):
            if stated != done:
                yield unequal(
                    f"settlement {key}: {what} in {coin}",
                    (environment, network, coin),
                    int(done),
                    int(stated),
                    "compare it with its posting settlement_reserved; nothing may edit either",
                    key=key,
                )
        if whose != (environment, merchant_id):
            yield from _differs_from_document(whose, months, zones)
            whose, months = (environment, merchant_id), {}
        if posting_id is not None:
            month = ids.created_at_of(posting_id).astimezone(zones[merchant_id, environment]).date().replace(day=1)
            totals, postings = months.setdefault(month, (Counter(), set()))
            totals[network, coin, RESERVED] -= int(net)
            totals[network, coin, LineType.FEE] -= int(fee)
            postings.add(posting_id)
    yield from _differs_from_document(whose, months, zones)


def _differs_from_document(
    whose: tuple[str, uuid.UUID] | None,
    months: dict[date, tuple[Totals, set[uuid.UUID]]],
    zones: dict[tuple[uuid.UUID, str], ZoneInfo],
) -> Iterator[Finding]:
    """Differences between the statement of a merchant's month and its settlements."""
    if whose is None or not months:
        return
    environment, merchant_id = whose
    merchant = Merchant.objects.get(pk=merchant_id)
    for first, (totals, postings) in sorted(months.items()):
        last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        month = Days(first, last, zones[merchant_id, environment])
        sums = statement_sums(merchant, environment, month, sorted(postings))
        for network, coin, type_ in sorted(totals.keys() | sums.keys()):
            expected, actual = totals[network, coin, type_], sums.get((network, coin, type_), 0)
            if expected != actual:
                yield unequal(
                    f"statement of {first:%Y-%m}, merchant {merchant_id}: {type_} in {coin}",
                    (environment, network, coin),
                    expected,
                    actual,
                    "compare it with its settlements of the month; the statement is read from the ledger each time",
                )
