"""Uses of payment links that are taken: as many as payments hold one, counted from the payments."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db.models import Count

from merchants.access.attempts import Patience
from payments.links.models import PaymentLink
from payments.models import Payment


def holding_a_use(link: PaymentLink) -> int:
    """Number of payments that hold a use. An unpaid one gives its use back when it expires or is cancelled."""
    return Payment.objects.using_their_link().filter(payment_link=link).count()


def uses_taken(links: Collection[PaymentLink]) -> dict[uuid.UUID, int]:
    """Number of taken uses of those links that have a limit, all read at once."""
    limited = [link.pk for link in links if link.max_uses is not None]
    if not limited:
        return {}
    rows = Payment.objects.using_their_link().filter(payment_link__in=limited)
    taken = dict(rows.values_list("payment_link").annotate(number=Count("id")).order_by())
    return {key: taken.get(key, 0) for key in limited}


def patience_with_one_address(link: PaymentLink) -> Patience | None:
    """Limit of uses one address may take before it waits until what it took unpaid is free again: five, or half of a
    smaller stock. None where there is no stock to be kept from others."""
    if link.max_uses is None or link.is_for_one_payment:
        return None
    hold = link.seconds_to_pay
    return Patience(max(1, min(5, link.max_uses // 2)), hold, hold, hold)


def payment_under_way(link: PaymentLink) -> Payment | None:
    """The payment that holds the only use of a link for one payment; None while nobody has chosen."""
    if not link.is_for_one_payment:
        return None
    return Payment.objects.using_their_link().filter(payment_link=link).order_by("-id").first()
