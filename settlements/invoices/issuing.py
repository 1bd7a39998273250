"""Issues invoices over fees, and credit notes over fees that were given back: each month once, numbered without a gap.

An invoice goes on where the merchant's last one has ended, to the end of its month: should the merchant's time zone
change, no fee is on two invoices or on none. What is below a cent is carried to the next document of its kind.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from config.api.renderers import format_instant
from config.environments import Environment
from config.money import FIAT_DIGITS, apportion, from_units
from config.periodic.containment import contained
from merchants.models import MerchantSettings
from payments.chains import registry
from payments.monitoring.accounting.periods import Days
from payments.rates.quoting import RateUnavailable, quote
from settlements.exports.formats import exact
from settlements.invoices.fees import Fee, not_invoiced
from settlements.invoices.issuer import Issuer, as_record, issuer, tax_for
from settlements.invoices.models import CARRIED_PLACES, BillingDetails, Invoice, InvoiceKind, InvoiceSeries
from settlements.monthly.months import months, name_of

logger = structlog.get_logger(__name__)

AFTER_THE_MONTH = timedelta(hours=1)
"""Postings of a month are in the ledger by then, however long their database transactions took."""


def issue_due(now: datetime | None = None) -> int:
    """Issue whatever is due of every merchant; returns how many documents. Nothing without an issuer."""
    now, by = now or timezone.now(), issuer()
    if by is None:
        return 0
    issued = 0
    for environment in Environment.values:
        _series(environment, now)
        for details in BillingDetails.objects.select_related("merchant").order_by("pk"):
            own = MerchantSettings.objects.get(merchant=details.merchant, environment=environment)
            # Without a rate it waits for the next round.
            with contained("invoices not issued", expected=(RateUnavailable,), merchant=details.merchant.public_id):
                issued += _issue_for(details, environment, own.settlement_timezone, by, now)
    return issued


def _series(environment: str, now: datetime) -> InvoiceSeries:
    """The first month that is invoiced is the one before the month in which issuing began."""
    first = (now.date().replace(day=1) - timedelta(days=1)).replace(day=1)
    return InvoiceSeries.objects.get_or_create(environment=environment, defaults={"begins_on": first})[0]


def _issue_for(details: BillingDetails, environment: str, zone: str, by: Issuer, now: datetime) -> int:
    ended = [
        month
        for month in months(zone, opened_at=details.merchant.created_at, now=now)
        if month.end + AFTER_THE_MONTH <= now
    ]
    return sum(len(issue_month(details, environment, month, by)) for month in reversed(ended))


def issue_month(details: BillingDetails, environment: str, month: Days, by: Issuer) -> list[Invoice]:
    """The documents of a merchant's month, issued now: an invoice, a credit note, or both. None where there were no
    fees that are worth a cent, or the month is invoiced already. Months are issued in their order.

    RateUnavailable when a coin has no agreed rate in the currency of invoices.
    """
    with transaction.atomic():
        series = InvoiceSeries.objects.select_for_update().get(environment=environment)
        own = Invoice.objects.filter(merchant=details.merchant, environment=environment)
        last = own.order_by("-period_end", "-sequence").first()
        start = last.period_end if last else _first_instant(series.begins_on, month)
        if month.end <= start or (last and last.month == name_of(month)):
            return []
        fees = not_invoiced(details.merchant_id, environment, month.end, since=start)
        taken = [fee for fee in fees if fee.units > 0]
        given_back = [fee for fee in fees if fee.units < 0]
        issued = []
        for kind, parts in ((InvoiceKind.INVOICE, taken), (InvoiceKind.CREDIT_NOTE, given_back)):
            before = own.filter(kind=kind, currency=settings.INVOICE_CURRENCY).order_by("-sequence").first()
            lines, net, carried = _lines(parts, environment, carried=before.carried if before else Decimal(0))
            if not net:
                continue
            tax = tax_for(details, by)
            series.last_number += 1
            document = Invoice(
                merchant=details.merchant,
                environment=environment,
                kind=kind,
                sequence=series.last_number,
                number=_number(environment, series.last_number),
                month=name_of(month),
                period_start=start,
                period_end=month.end,
                currency=settings.INVOICE_CURRENCY,
                net=net,
                tax_rate=tax.rate,
                tax=_rounded(net * tax.rate / 100),
                tax_note=tax.note,
                issuer=as_record(by),
                recipient=_recipient(details),
                lines=lines,
                carried=carried,
                corrects=own.filter(kind=InvoiceKind.INVOICE).order_by("-sequence").first()
                if kind == InvoiceKind.CREDIT_NOTE
                else None,
            )
            document.save(force_insert=True)
            issued.append(document)
            logger.info("invoice issued", number=document.number, merchant=details.merchant.public_id)
        if issued:
            series.save(update_fields=["last_number"])
        return issued


def _first_instant(begins_on: date, month: Days) -> datetime:
    return datetime(begins_on.year, begins_on.month, begins_on.day, tzinfo=month.zone)


def _number(environment: str, sequence: int) -> str:
    test = "TEST-" if environment == Environment.SANDBOX else ""
    return f"{settings.INVOICE_NUMBER_PREFIX}{test}{sequence:06d}"


def _lines(fees: list[Fee], environment: str, *, carried: Decimal) -> tuple[list[dict[str, Any]], int, Decimal]:
    """The lines of a document as they are kept, their sum in minor units, and what of a unit goes to the next document.

    Each is at the rate of now. What the last document has carried is in the sum, and the lines add up to it.
    """
    digits = FIAT_DIGITS[settings.INVOICE_CURRENCY]
    lines, worths = [], []
    with localcontext(prec=100):
        for fee in fees:
            decimals = registry.decimals(environment, fee.network, fee.coin)
            rate = quote(settings.INVOICE_CURRENCY, fee.coin, environment=environment)
            worths.append(from_units(abs(fee.units), decimals) * rate.rate * 10**digits)
            lines.append(
                {
                    "network": fee.network,
                    "cryptocurrency": fee.coin,
                    "amount": exact(abs(fee.units), decimals),
                    "rate": f"{rate.rate:f}",
                    "rateSource": rate.source,
                    "ratedAt": format_instant(rate.quoted_at),
                }
            )
        worth = sum(worths, carried) if lines else Decimal(0)
        net = int(worth)
        left = (worth - net).quantize(Decimal(1).scaleb(-CARRIED_PLACES), rounding=ROUND_DOWN)
    for line, units in zip(lines, apportion(net, worths), strict=True):
        line["net"] = f"{from_units(units, digits):.{digits}f}"
    return lines, net, left


def _rounded(amount: Decimal) -> int:
    return int(amount.to_integral_value(rounding=ROUND_HALF_UP))


def _recipient(details: BillingDetails) -> dict[str, str]:
    return {
        "merchantId": details.merchant.public_id,
        "name": details.name,
        "address": details.address,
        "country": details.country,
        "taxId": details.tax_id,
    }
