"""Transfers that take longer than their network usually does: told of by `reconcile`, and by an alarm."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from payments.chains.networks import ETHEREUM, POLYGON, STELLAR
from payments.transfers.models import Transfer
from payments.transfers.states import OPEN_TRANSFERS

FINAL_WITHIN = {ETHEREUM: timedelta(minutes=15), POLYGON: timedelta(minutes=5), STELLAR: timedelta(minutes=1)}
"""How long a network takes until a block is final, generously."""

FINAL_ELSEWHERE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LateTransfer:
    """A transfer on its way since an instant, though it should have been final within a limit."""

    transfer: Transfer
    since: datetime
    limit: timedelta

    @property
    def allowed(self) -> str:
        return f"final within {self.limit // timedelta(minutes=1)} minutes"

    @property
    def state(self) -> str:
        return f"{self.transfer.status} since {self.since:%Y-%m-%d %H:%M:%S}"

    @property
    def said(self) -> str:
        """What the network said last."""
        return self.transfer.last_error or "nothing"


def late_transfers(environments: Collection[str], network: str | None = None) -> Iterator[LateTransfer]:
    """Those of every network when none is named, the oldest first."""
    waiting = Transfer.objects.filter(status__in=OPEN_TRANSFERS, environment__in=environments)
    if network:
        waiting = waiting.filter(network=network)
    now = timezone.now()
    for transfer in waiting.order_by("id").iterator(chunk_size=500):
        since = transfer.sent_at or transfer.created_at
        limit = 2 * FINAL_WITHIN.get(transfer.network, FINAL_ELSEWHERE)
        if now - since > limit:
            yield LateTransfer(transfer, since, limit)
