"""Puts a ledger of an earlier version right, in which a merchant could owe money and have some available beside it."""

from __future__ import annotations

import structlog
from django.db import transaction

from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Posting
from merchants.ledger.posting import AccountRef, Line, PostingDraft, lock_accounts, post_draft

logger = structlog.get_logger(__name__)

REPAID = "debt_repaid"


def repay_debt(environment: str, network: str, asset: str, owner: str) -> None:
    """Repay what a merchant owes in a coin from what is available in it."""
    available = AccountRef(network, asset, AccountKind.MERCHANT_AVAILABLE, owner)
    receivable = AccountRef(network, asset, AccountKind.MERCHANT_RECEIVABLE, owner)
    with transaction.atomic():
        amount = min(lock_accounts([available, receivable], environment=environment).values())
        if not amount:
            return
        of_account = f"{owner}:{network}:{asset}:"
        before = Posting.objects.filter(environment=environment, kind=REPAID, reference__startswith=of_account).count()
        lines = (Line(available, amount), Line(receivable, -amount))
        post_draft(PostingDraft(REPAID, f"{of_account}{before + 1}", lines), environment=environment)
        logger.warning("debt repaid", merchant=owner, network=network, asset=asset, amount=amount)
