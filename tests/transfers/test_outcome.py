"""The outcome of a transfer: nothing but a final status of the chain ends one."""

from __future__ import annotations

from itertools import product

import pytest

from payments.chains.protocol.payouts import TransactionStatus
from payments.transfers.execution.outcome import Outcome, OutcomeKind, outcome_of

UNKNOWN = TransactionStatus("unknown")
PENDING = TransactionStatus("pending")
MINED = TransactionStatus("included", height=7, final=False)
FINAL = TransactionStatus("included", height=7, final=True)
REVERTED = TransactionStatus("failed", height=7, final=True)
REVERTING = TransactionStatus("failed", height=7, final=False)
REPLACED = TransactionStatus("replaced", height=7, final=True)
REPLACING = TransactionStatus("replaced", height=7, final=False)
EXPIRED = TransactionStatus("expired", final=True)


@pytest.mark.parametrize(
    ("statuses", "kind", "version"),
    [
        ([UNKNOWN], OutcomeKind.MISSING, None),
        ([PENDING], OutcomeKind.WAITING, None),
        ([UNKNOWN, PENDING], OutcomeKind.WAITING, None),
        ([MINED], OutcomeKind.MINED, 0),
        ([REVERTING], OutcomeKind.MINED, 0),
        ([FINAL], OutcomeKind.FINAL, 0),
        ([REVERTED], OutcomeKind.FAILED, 0),
        ([REPLACED, FINAL], OutcomeKind.FINAL, 1),
        ([FINAL, REPLACED], OutcomeKind.FINAL, 0),
        ([REPLACING, MINED], OutcomeKind.MINED, 1),
        ([REPLACING, UNKNOWN], OutcomeKind.MINED, None),
        ([REPLACED], OutcomeKind.USURPED, None),
        ([REPLACED, REPLACED], OutcomeKind.USURPED, None),
        ([EXPIRED], OutcomeKind.DEAD, None),
        ([EXPIRED, UNKNOWN], OutcomeKind.MISSING, None),
        ([REPLACED, PENDING], OutcomeKind.MINED, None),
    ],
)
def test_what_the_answers_about_all_versions_amount_to(
    statuses: list[TransactionStatus], kind: OutcomeKind, version: int | None
) -> None:
    assert outcome_of(statuses) == Outcome(kind, version)


def test_nothing_is_given_up_while_one_version_may_still_be_mined() -> None:
    everything = [UNKNOWN, PENDING, MINED, FINAL, REVERTED, REVERTING, REPLACED, REPLACING, EXPIRED]
    for statuses in product(everything, repeat=3):
        kind = outcome_of(statuses).kind
        if kind in (OutcomeKind.DEAD, OutcomeKind.USURPED):
            assert all(status in (REPLACED, EXPIRED) for status in statuses)
        if kind is OutcomeKind.FINAL:
            assert FINAL in statuses
