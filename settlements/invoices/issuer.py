"""The issuer of invoices and the tax on them, from the operator's settings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal

from django.conf import settings

from settlements.invoices.models import BillingDetails, TaxTreatment


@dataclass(frozen=True, slots=True)
class Issuer:
    """The operator as on the head of an invoice."""

    name: str
    address: str
    country: str
    taxId: str  # noqa: N815 - as on the wire


@dataclass(frozen=True, slots=True)
class Tax:
    """`rate` in percent; `note` gives the reason if there is no tax."""

    rate: Decimal
    note: str = ""


def issuer() -> Issuer | None:
    """The operator's details; None while no invoices are issued here."""
    if not settings.INVOICE_ISSUER_NAME:
        return None
    return Issuer(
        settings.INVOICE_ISSUER_NAME,
        "\n".join(part.strip() for part in settings.INVOICE_ISSUER_ADDRESS.split(";")),
        settings.INVOICE_ISSUER_COUNTRY,
        settings.INVOICE_ISSUER_TAX_ID,
    )


def as_record(issuer: Issuer) -> dict[str, str]:
    return asdict(issuer)


def tax_for(details: BillingDetails, issuer: Issuer) -> Tax:
    """The tax on a merchant's invoices: chosen by an operator, or by the merchant's country and tax id."""
    treatment = details.treatment
    if treatment == TaxTreatment.BY_COUNTRY:
        is_abroad = details.country != issuer.country
        treatment = TaxTreatment.REVERSE_CHARGE if is_abroad and details.tax_id else TaxTreatment.STANDARD
    if treatment == TaxTreatment.REVERSE_CHARGE:
        return Tax(Decimal(0), settings.INVOICE_REVERSE_CHARGE_NOTE)
    if treatment == TaxTreatment.OUTSIDE:
        return Tax(Decimal(0), settings.INVOICE_OUTSIDE_NOTE)
    return Tax(Decimal(settings.INVOICE_TAX_RATE))
