"""Differences between two providers' answers, written so that a person can compare them with a block explorer. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from payments.chains.evm.nodes.questions import Header, Log, Question, Receipt, SentTransaction, UnreadReceipt
from payments.chains.evm.nodes.rpc import RpcError

_TRANSFERS_SHOWN = 2
_LONGEST_ANSWER = 200


def differing(
    questions: Sequence[Question[Any]], mine: Sequence[Any], theirs: Sequence[Any]
) -> tuple[Question[Any], Any, Any]:
    """The first question that the two answer differently, with both answers; one about money before any other."""
    found = [each for each in zip(questions, mine, theirs, strict=True) if not alike(each[1], each[2])]
    return next((each for each in found if is_about_money(each[1], each[2])), found[0])


def alike(mine: Any, theirs: Any) -> bool:
    """Equal answers. Clients word errors differently: two refusals of a contract are equal, or two other errors."""
    if isinstance(mine, RpcError) and isinstance(theirs, RpcError):
        return mine.is_reverted == theirs.is_reverted
    return bool(mine == theirs)


def is_about_money(mine: Any, theirs: Any) -> bool:
    """Whether one of them reports a transaction that the other does not know, or reports with other effects.

    The same transaction in another block is no such difference: a reorganisation looks like that while it happens.
    """
    if isinstance(mine, UnreadReceipt) or isinstance(theirs, UnreadReceipt):
        return False
    known = [each for each in (mine, theirs) if isinstance(each, Receipt)]
    return len(known) == 1 or (len(known) == 2 and _done(known[0]) != _done(known[1]))


def contradicts(mine: Any, theirs: Any, *, newest_height: int, final_height: int) -> bool:
    """Whether one provider's answer cannot be true beside the others' answers, at least when it persists for a while.

    One that is behind knows nothing of what is new: its silence counts below the newest block that it has reported.
    Another block counts where it calls the height final itself: above that, blocks change. What clients word
    differently counts for nothing.
    """
    if mine is None and isinstance(theirs, Receipt):
        return theirs.height < newest_height
    if isinstance(mine, Header) and isinstance(theirs, Header):
        return theirs.height <= final_height
    return is_about_money(mine, theirs) or (isinstance(mine, int) and isinstance(theirs, int))


def has_moved(log: Log, receipt: Receipt | None) -> bool:
    """Whether this receipt records what the event records, in whatever block."""
    return receipt is not None and any(_content(each) == _content(log) for each in receipt.logs)


def describe_question(question: Question[Any]) -> str:
    """The question, without the parts that only the node needs."""
    subject = next((each for each in question.call.params if isinstance(each, str)), "")
    return f"{question.call.method} {subject}".strip()


def describe_answer(answer: Any) -> str:
    match answer:
        case None:
            text = "nothing"
        case RpcError():
            text = f"the error “{answer.message}”"
        case Header():
            text = f"block {answer.height} is {answer.block_hash}"
        case Receipt():
            text = _describe_receipt(answer)
        case UnreadReceipt():
            text = f"a receipt that cannot be read: {answer.record.problem}"
        case SentTransaction():
            place = "waits" if answer.height is None else f"is in block {answer.height}"
            text = f"number {answer.nonce} of {answer.sender} {place}"
        case bytes():
            text = f"0x{answer.hex()}"
        case tuple():
            text = f"{len(answer)} entries"
        case _:
            text = str(answer)
    return text if len(text) <= _LONGEST_ANSWER else f"{text[:_LONGEST_ANSWER]}…"


def describe_log(log: Log) -> str:
    if not log.is_token_transfer:
        return f"something of {log.contract}"
    return f"{log.amount} units of {log.contract} from {log.sender} to {log.recipient}"


def _describe_receipt(receipt: Receipt) -> str:
    outcome = "it succeeded" if receipt.succeeded else "it failed"
    moved = [describe_log(log) for log in receipt.logs if log.is_token_transfer]
    more = f" and {len(moved) - _TRANSFERS_SHOWN} more" if len(moved) > _TRANSFERS_SHOWN else ""
    transfers = f", moving {'; '.join(moved[:_TRANSFERS_SHOWN])}{more}" if moved else ""
    return f"{outcome} in block {receipt.height}{transfers}"


def _done(receipt: Receipt) -> tuple[bool, list[tuple[Any, ...]]]:
    return receipt.succeeded, [_content(log) for log in receipt.logs]


def _content(log: Log) -> tuple[Any, ...]:
    return log.contract, log.topics, log.data
