"""Transfers that take longer than usual on their network, for `reconcile` and for an alarm."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from payments.chains.networks import NETWORKS
from payments.transfers.models import Transfer
from payments.transfers.states import OPEN_TRANSFERS

FINAL_ELSEWHERE = timedelta(hours=1)
"""Time until a block is final on a network that is not known any more."""


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
    def last_error_words(self) -> str:
        """The last error of the network."""
        return self.transfer.last_error or "nothing"


def late_transfers(environments: Collection[str], network: str | None = None) -> Iterator[LateTransfer]:
    """Late transfers, the oldest first; of every network when none is named."""
    waiting = Transfer.objects.filter(status__in=OPEN_TRANSFERS, environment__in=environments)
    if network:
        waiting = waiting.filter(network=network)
    now = timezone.now()
    for transfer in waiting.order_by("id").iterator(chunk_size=500):
        since = transfer.sent_at or transfer.created_at
        limit = 2 * _final_within(transfer.network)
        if now - since > limit:
            yield LateTransfer(transfer, since, limit)


def _final_within(network: str) -> timedelta:
    known = NETWORKS.get(network)
    return FINAL_ELSEWHERE if known is None else timedelta(seconds=known.real.final_within_seconds)
