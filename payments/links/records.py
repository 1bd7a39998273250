"""Payment links as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.utils import timezone

from config.api.renderers import format_instant
from config.money import FIAT_DIGITS, from_units
from config.pages import qr
from payments.links.models import PaymentLink
from payments.links.uses import uses_taken


class LinkRecords:
    """The records of many links, with the uses of all of them read at once."""

    def __init__(self) -> None:
        self._taken: dict[Any, int] = {}
        self._now = timezone.now()

    def read(self, links: Sequence[PaymentLink]) -> Sequence[PaymentLink]:
        self._taken = uses_taken(links)
        return links

    def of(self, link: PaymentLink) -> dict[str, Any]:
        return link_record(link, taken=self._taken.get(link.pk), now=self._now)

    def of_link(self, link: PaymentLink) -> dict[str, Any]:
        """The record of one link, read as it is now."""
        self.read([link])
        return self.of(link)


def link_record(link: PaymentLink, *, taken: int | None, now: datetime) -> dict[str, Any]:
    """The link as the API shows it; `taken` is how many of its uses are, None where it has no limit."""
    return {
        "id": link.public_id,
        "object": "payment_link",
        "url": link.url,
        "qrCode": qr_code(link.url),
        "status": link.state(taken=taken or 0, now=now),
        "enabled": link.enabled,
        "description": link.description,
        "note": link.note or None,
        "amount": _amount(link, link.amount),
        "minAmount": _amount(link, link.least),
        "maxAmount": _amount(link, link.most),
        "currency": link.currency,
        "cryptocurrencies": link.coins or None,
        "merchantWallets": link.wallets,
        "maxUses": link.max_uses,
        "usesTaken": taken,
        "expiresAt": format_instant(link.expires_at) if link.expires_at else None,
        "expiresIn": link.expires_in,
        "redirectUrl": link.redirect_url or None,
        "metadata": link.metadata,
        "environment": link.environment,
        "createdAt": format_instant(link.created_at),
    }


@lru_cache(maxsize=1024)
def qr_code(address: str) -> str:
    """The QR code of an address of ours, as a data URI."""
    return qr.data_uri(qr.render_png(address))


def _amount(link: PaymentLink, units: int | None) -> Any:
    return None if units is None else from_units(units, FIAT_DIGITS[link.currency])
