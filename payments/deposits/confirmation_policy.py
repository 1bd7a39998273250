"""Required certainty of a payment's money: by what has arrived, and by all that a network could still undo."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from zlib import crc32

import structlog
from django.conf import settings
from django.db.models import Sum

from config.coins import USD_SCALE, usd_worth
from config.database.advisory_locks import LockClass, lock_until_commit
from payments.chains import registry
from payments.chains.profiles import CreditRule
from payments.deposits.models import ScanCursor
from payments.models import Deposit, Payment
from payments.states import DepositStatus

logger = structlog.get_logger(__name__)


def confirm(
    payment: Payment, deposits: Iterable[Deposit], cursors: Mapping[str, ScanCursor]
) -> tuple[CreditRule, frozenset[uuid.UUID]]:
    """The rule of a locked payment, and the deposits that are confirmed by it. What was credited stays so.

    `deposits` are all of the payment's, `cursors` say how far each network has been read, but for halted ones.
    """
    rule = _rule_at_stake(payment, deposits, cursors.get(payment.network))
    confirmed = set()
    for each in deposits:
        cursor = cursors.get(each.network)
        if each.status != DepositStatus.SEEN or cursor is None:
            is_confirmed = each.status == DepositStatus.CREDITED
        else:
            is_here = each.network == payment.network  # elsewhere are other blocks, and other ways to lose them
            own = rule if is_here else registry.known_profile(each.environment, each.network).strictest_rule
            is_confirmed = own.satisfied(
                height=each.height, head_height=cursor.head_height, finalized_height=cursor.finalized_height
            )
        if is_confirmed:
            confirmed.add(each.id)
    return rule, frozenset(confirmed)


def _rule_at_stake(payment: Payment, deposits: Iterable[Deposit], cursor: ScanCursor | None) -> CreditRule:
    """The payment's rule, as strict as what is at stake demands; it never becomes less strict."""
    rule = CreditRule(payment.required_confirmations, payment.require_finalized)
    here = [each for each in deposits if each.network == payment.network and each.status != DepositStatus.ORPHANED]
    if cursor is None or rule.require_finalized:
        return rule
    seen = [each for each in here if each.status == DepositStatus.SEEN]
    waiting = [each for each in seen if each.height > cursor.finalized_height]
    if not waiting:
        return rule
    at_stake = max(usd_worth(payment.cryptocurrency, int(payment.due), payment.decimals), _worth(here))
    profile = registry.known_profile(payment.environment, payment.network)
    stricter = profile.credit_rule(at_stake // 10**USD_SCALE)
    rule = CreditRule(max(rule.confirmations, stricter.confirmations))
    heights = {"head_height": cursor.head_height, "finalized_height": cursor.finalized_height}
    creditable = [each for each in waiting if rule.satisfied(height=each.height, **heights)]
    if stricter.require_finalized:
        reason = "so much has arrived"
    elif cursor.finality_standstill.total_seconds() >= profile.finality_stall_seconds:
        reason = "no further block becomes final"
    elif creditable and _is_above_cap(cursor, _worth(creditable)):
        reason = "as much as may be is credited below finality"
    else:
        return rule
    logger.info("payment waits for a final block", payment=payment.public_id, reason=reason)
    return replace(rule, require_finalized=True)


def _is_above_cap(cursor: ScanCursor, more: int) -> bool:
    """True if these dollars on top of what is credited in blocks that are not final are more than the operator allows.

    Whoever credits below finality takes turns on a network, until the end of the database transaction: two could
    otherwise both find room for what is left.
    """
    lock_until_commit(LockClass.BELOW_FINALITY, crc32(str(cursor).encode()) & 0x7FFFFFFF)
    rows = Deposit.objects.filter(
        environment=cursor.environment,
        network=cursor.network,
        status=DepositStatus.CREDITED,
        height__gt=cursor.finalized_height,
    )
    sums = rows.order_by().values_list("asset", "decimals").annotate(Sum("amount"))
    credited = sum(usd_worth(code, int(amount), decimals) for code, decimals, amount in sums)
    return bool(credited + more > settings.BELOW_FINALITY_USD * 10**USD_SCALE)


def _worth(deposits: Iterable[Deposit]) -> int:
    return sum(usd_worth(each.asset, int(each.amount), each.decimals) for each in deposits)
