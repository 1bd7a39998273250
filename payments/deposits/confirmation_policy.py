"""Required certainty of a payment's money: by what has arrived, and by all that a network could still undo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def raise_rule(payment: Payment, deposits: Sequence[Deposit], cursor: ScanCursor | None) -> bool:
    """Make the rule of a locked payment as strict as what is at stake demands; it never becomes less strict.

    `deposits` are all of the payment's, `cursor` has how far its network is read. What was credited stays so. Returns
    whether it requires more confirmations, which the payment's record shows.
    """
    before = payment.required_confirmations
    if cursor is not None and not payment.require_finalized:
        _raise(payment, deposits, cursor)
    return payment.required_confirmations > before


def _raise(payment: Payment, deposits: Sequence[Deposit], cursor: ScanCursor) -> None:
    here = [each for each in deposits if each.network == payment.network and each.status != DepositStatus.ORPHANED]
    waiting = [each for each in here if each.status == DepositStatus.SEEN and each.height > cursor.finalized_height]
    if not waiting:
        return
    profile = registry.known_profile(payment.environment, payment.network)
    due = usd_worth(payment.cryptocurrency, int(payment.due), payment.decimals)
    stricter = profile.credit_rule(max(due, _worth(here)) // 10**USD_SCALE)
    payment.required_confirmations = max(payment.required_confirmations, stricter.confirmations)
    rule = CreditRule(payment.required_confirmations)
    creditable = [each for each in waiting if _is_met(rule, each, cursor)]
    if stricter.require_finalized:
        reason = "so much has arrived"
    elif cursor.finality_standstill.total_seconds() >= profile.finality_stall_seconds:
        reason = "no further block becomes final"
    elif creditable and _is_above_cap(cursor, _worth(creditable)):
        reason = "as much as may be is credited below finality"
    else:
        return
    payment.require_finalized = True
    logger.info("payment waits for a final block", payment=payment.public_id, reason=reason)


def _is_met(rule: CreditRule, deposit: Deposit, cursor: ScanCursor) -> bool:
    return rule.satisfied(
        height=deposit.height, head_height=cursor.head_height, finalized_height=cursor.finalized_height
    )


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
