"""Of all that happens on a busy network only what is watched is read, and that as strictly as ever."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from payments.chains.evm import abi
from payments.chains.evm.addresses import encode
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.questions import TRANSFER
from payments.chains.evm.reading import RecipientsOfScan
from tests.chains.harness import Watched
from tests.evm.fakes import block_hash

OURS, THEIRS = encode(b"\xab" * 20), encode(b"\xcd" * 20)
WATCHED = {OURS[2:].lower()}


def transfer(recipient: str, **changes: Any) -> dict[str, Any]:
    return {
        "address": "0x" + "aa" * 20,
        "topics": [TRANSFER, abi.address_topic(THEIRS), abi.address_topic(recipient)],
        "data": "0x" + f"{7:064x}",
        "blockNumber": "0x32",
        "blockHash": block_hash(50),
        "transactionHash": "0x" + "cd" * 32,
        "logIndex": "0x0",
    } | changes


def arrivals(*found: Any) -> list[tuple[str, int]]:
    asked = questions.arrivals(1, 60, watched=WATCHED.intersection)
    return [(log.recipient, log.amount) for log in asked.read(list(found))]


def test_what_goes_to_others_is_not_read() -> None:
    odd = transfer(THEIRS, blockNumber="soon", transactionHash=None, removed=True)
    assert arrivals(odd, transfer(OURS)) == [(OURS, 7)]


def test_how_a_recipient_is_spelled_makes_no_difference() -> None:
    loud = transfer(OURS)
    loud["topics"][2] = "0x" + loud["topics"][2][2:].upper()
    assert arrivals(loud) == [(OURS, 7)]


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "0x" + "00" * 32},
        {"data": "0x"},
        {"topics": [TRANSFER, abi.address_topic(THEIRS)]},
        {"topics": [TRANSFER, abi.address_topic(THEIRS), abi.address_topic(OURS), "0x" + "01" * 32]},
        {"topics": ["0x" + "ee" * 32, abi.address_topic(THEIRS), abi.address_topic(OURS)]},
    ],
)
def test_what_moves_no_money_is_no_arrival(changes: dict[str, Any]) -> None:
    assert arrivals(transfer(OURS, **changes)) == []


@pytest.mark.parametrize(
    "odd",
    [
        None,
        {},
        transfer(OURS, topics=None),
        transfer(OURS, topics=[TRANSFER, None, 7]),
        transfer(OURS, topics=[TRANSFER, abi.address_topic(THEIRS), OURS.lower()]),
        transfer(OURS, removed=True),
        transfer(OURS, blockNumber="0x3d"),
        transfer(OURS, transactionHash="0x12"),
    ],
)
def test_what_cannot_be_read_of_ours_is_no_answer(odd: Any) -> None:
    with pytest.raises((LookupError, TypeError, ValueError)):
        arrivals(transfer(OURS), odd)


def test_a_scan_asks_about_each_recipient_once() -> None:
    asked: list[Collection[str]] = []

    class Counting(Watched):
        def matching(self, candidates: Collection[str]) -> set[str]:
            asked.append(candidates)
            return super().matching(candidates)

    ours, theirs, more = (address[2:].lower() for address in (OURS, THEIRS, encode(b"\xef" * 20)))
    recipients = RecipientsOfScan(Counting(OURS))
    assert recipients.watched({ours, theirs}) == {ours}
    assert recipients.watched({ours, theirs}) == {ours}
    assert recipients.watched({theirs, more}) == set()
    assert [sorted(each) for each in asked] == [sorted([OURS, THEIRS]), [encode(b"\xef" * 20)]]
    with pytest.raises(ValueError, match="hexadecimal"):
        recipients.watched({"no address"})
