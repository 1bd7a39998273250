"""The record of a signer: appended, chained, on the disk before anything is given away, and one process's alone."""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pytest

from payments.chains.signer.record import REFUSALS_PER_MINUTE, Record, RecordRefused
from tests.signer.signer import POLYGON, OwnSigner
from tests.signer.test_service import COIN, payout


def signed(signer: OwnSigner, count: int) -> None:
    for sequence in range(count):
        assert signer.service.reply_to(payout(signer, sequence=sequence, payout_id=f"{sequence}")).raw


def test_a_line_says_what_was_signed_and_follows_the_one_before(signer: OwnSigner) -> None:
    signed(signer, 2)
    first, second = map(json.loads, signer.lines())
    assert first["intents"] == [
        {"payout_id": "0", "coin": "USDC", "amount": str(COIN), "recipient": "0x" + "11" * 20, "memo": ""}
    ]
    assert (first["environment"], first["network"], first["sequence"]) == (*POLYGON, 0)
    assert first["previous"] == "0" * 64
    assert len({first["hash"], second["hash"], second["previous"]}) == 3


@pytest.mark.parametrize("damage", ["changed", "removed", "moved", "no line"])
def test_a_record_that_somebody_has_changed_stops_the_signer(signer: OwnSigner, damage: str) -> None:
    signed(signer, 3)
    signer.stop()
    lines = signer.lines()
    match damage:
        case "changed":
            lines[1] = lines[1].replace(f'"amount":"{COIN}"', '"amount":"1"')
        case "removed":
            del lines[1]
        case "moved":
            lines[0], lines[1] = lines[1], lines[0]
        case "no line":
            lines[1] = "nothing"
    (signer.folder / "record.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordRefused, match="was changed"):
        Record(signer.folder / "record.jsonl", signer.clock)


def test_a_line_that_was_not_finished_counts_for_nothing_and_is_removed(signer: OwnSigner) -> None:
    signed(signer, 2)
    signer.stop()
    path = signer.folder / "record.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    signer.start()
    assert signer.record.paid_in_a_day(*POLYGON, "USDC") == COIN
    assert signer.service.reply_to(payout(signer, sequence=1, payout_id="1")).raw
    assert path.read_bytes() == whole


def test_the_same_refusal_is_written_once_an_hour(signer: OwnSigner) -> None:
    (signer.folder / "stop").touch()
    for lines, minutes in ((1, 0), (1, 59), (2, 1)):
        signer.let_pass(timedelta(minutes=minutes))
        assert signer.service.reply_to(payout(signer, sequence=minutes)).refused == "stopped"
        assert len(signer.lines()) == lines
    assert signer.service.reply_to(payout(signer, payout_id="another")).refused == "stopped"
    assert len(signer.lines()) == 3


def test_two_signers_do_not_write_one_record(signer: OwnSigner) -> None:
    with pytest.raises(RecordRefused, match="another signer"):
        Record(signer.folder / "record.jsonl", signer.clock)


def test_nothing_is_given_away_that_could_not_be_recorded(signer: OwnSigner, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            signer.service.reply_to(payout(signer))
    assert signer.lines() == []
    signed(signer, 1)
    assert len(signer.lines()) == 1


def test_whoever_may_ask_cannot_fill_the_disk_with_refusals(signer: OwnSigner) -> None:
    for number in range(REFUSALS_PER_MINUTE + 5):
        assert signer.service.reply_to(payout(signer, payout_id=f"{number}", said={"mac": ""})).refused
    assert len(signer.lines()) == REFUSALS_PER_MINUTE
    assert signer.service.reply_to(payout(signer)).raw
    signer.let_pass(timedelta(minutes=1))
    assert signer.service.reply_to(payout(signer, payout_id="later", said={"mac": ""})).refused
    assert len(signer.lines()) == REFUSALS_PER_MINUTE + 2
