"""The judge of transfers: nothing but a final answer of the chain ends one."""

from __future__ import annotations

from itertools import product

import pytest

from payments.chains.base import TransferStatus
from payments.transfers.judging import Judgement, Verdict, judge

UNKNOWN = TransferStatus("unknown")
PENDING = TransferStatus("pending")
MINED = TransferStatus("included", height=7, final=False)
FINAL = TransferStatus("included", height=7, final=True)
REVERTED = TransferStatus("failed", height=7, final=True)
REVERTING = TransferStatus("failed", height=7, final=False)
REPLACED = TransferStatus("replaced", height=7, final=True)
REPLACING = TransferStatus("replaced", height=7, final=False)
EXPIRED = TransferStatus("expired", final=True)


@pytest.mark.parametrize(
    ("answers", "verdict", "version"),
    [
        ([UNKNOWN], Verdict.MISSING, None),
        ([PENDING], Verdict.WAITING, None),
        ([UNKNOWN, PENDING], Verdict.WAITING, None),
        ([MINED], Verdict.MINED, 0),
        ([REVERTING], Verdict.MINED, 0),
        ([FINAL], Verdict.FINAL, 0),
        ([REVERTED], Verdict.FAILED, 0),
        ([REPLACED, FINAL], Verdict.FINAL, 1),
        ([FINAL, REPLACED], Verdict.FINAL, 0),
        ([REPLACING, MINED], Verdict.MINED, 1),
        ([REPLACING, UNKNOWN], Verdict.MINED, None),
        ([REPLACED], Verdict.USURPED, None),
        ([REPLACED, REPLACED], Verdict.USURPED, None),
        ([EXPIRED], Verdict.DEAD, None),
        ([EXPIRED, UNKNOWN], Verdict.MISSING, None),
        ([REPLACED, PENDING], Verdict.MINED, None),
    ],
)
def test_what_the_answers_about_all_versions_amount_to(
    answers: list[TransferStatus], verdict: Verdict, version: int | None
) -> None:
    assert judge(answers) == Judgement(verdict, version)


def test_nothing_is_given_up_while_one_version_may_still_be_mined() -> None:
    everything = [UNKNOWN, PENDING, MINED, FINAL, REVERTED, REVERTING, REPLACED, REPLACING, EXPIRED]
    for answers in product(everything, repeat=3):
        verdict = judge(answers).verdict
        if verdict in (Verdict.DEAD, Verdict.USURPED):
            assert all(answer in (REPLACED, EXPIRED) for answer in answers)
        if verdict is Verdict.FINAL:
            assert FINAL in answers
