"""Record of what a signer has signed and refused: lines that are only ever appended, each with the hash of the one
before.

Whoever changes or removes a line in between is found out at the next start. A line is on the disk before the signature
that it records is returned, so that limits count every signature across restarts.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from payments.chains.signer.messages import Intent, SigningRequest

DAY = timedelta(hours=24)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
REFUSALS_PER_MINUTE = 60
"""Refusals that are written; those beyond are in the log alone."""

FIRST = "0" * 64
"""What the first line has in the place of the hash of the one before."""

logger = structlog.get_logger(__name__)

Slot = tuple[str, str, str, int]
"""Environment, network, account and sequence: of all that is signed for one, a network takes one at most."""


class RecordRefused(Exception):
    """The record cannot be continued; the message gives the reason."""


class Record:
    """The file in a folder, held by one process, and what the limits count of it."""

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._slots: defaultdict[str, set[Slot]] = defaultdict(set)
        self._since: dict[str, datetime] = {}
        self._paid: dict[tuple[str, Slot], tuple[datetime, str, int]] = {}
        self._fees: dict[Slot, tuple[datetime, int]] = {}
        self._times: list[datetime] = []
        self._last, self._lines = FIRST, 0
        path.touch(mode=0o600, exist_ok=True)
        self._refusals: dict[tuple[str, ...], datetime] = {}
        self._file = path.open("r+b", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise RecordRefused(f"another signer is writing {path}") from None
        try:
            self._load(path)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()

    # Queries of limits

    def sequences_of(self, payout_id: str) -> frozenset[Slot]:
        """The sequences that were ever signed for with this payout."""
        return frozenset(self._slots.get(payout_id, ()))

    def is_old(self, payout_id: str, slot: Slot, age: timedelta) -> bool:
        """Whether the payout was first signed for so long ago, and never with this sequence."""
        since = self._since.get(payout_id)
        return since is not None and self._clock() - since > age and slot not in self.sequences_of(payout_id)

    def is_stale(self, intent: Intent, age: timedelta) -> bool:
        """Whether the payout was never signed for, and what it pays was made so long ago."""
        made_at = intent.made_at
        return made_at is not None and self._clock() - made_at > age and intent.payout_id not in self._since

    def paid_in_a_day(self, environment: str, network: str, coin: str) -> int:
        """Base units of a coin that were signed away on a network in the last 24 hours. What was signed for again, with
        the same sequence, is paid once, and counts from the last time: a later version may be the one that is paid."""
        since = self._clock() - DAY
        return sum(
            units
            for (_, slot), (at, code, units) in self._paid.items()
            if at > since and (*slot[:2], code) == (environment, network, coin)
        )

    def is_counted(self, payout_id: str, slot: Slot) -> bool:
        """Whether the payout is among what was signed away in the last 24 hours, with this sequence."""
        known = self._paid.get((payout_id, slot))
        return known is not None and known[0] > self._clock() - DAY

    def fees_in_a_day(self, environment: str, network: str) -> int:
        """The most that what was signed in the last 24 hours can cost, in base units of the native coin."""
        since = self._clock() - DAY
        return sum(fee for slot, (at, fee) in self._fees.items() if at > since and slot[:2] == (environment, network))

    def more_fees(self, request: SigningRequest, fee: int) -> int:
        """How much more it can cost than what was signed for the same sequence in the last 24 hours."""
        at, before = self._fees.get(_slot(request), (None, 0))
        is_counted = at is not None and at > self._clock() - DAY
        return max(fee, before) - before * is_counted

    def signatures_in_a_minute(self) -> int:
        since = self._clock() - MINUTE
        return sum(at > since for at in self._times)

    # What is written

    def signed(self, request: SigningRequest, *, fee: int, transaction_hash: str) -> None:
        """OSError when it cannot be written: then what was signed must not be given away."""
        self._append({**_content(request), "fee": str(fee), "hash": transaction_hash})

    def refused(self, request: SigningRequest, *, code: str, reason: str) -> None:
        """Record a refusal: the same one once an hour, as a refused request is repeated again and again, and so many
        in a minute. A client must not be able to fill the disk."""
        now, ids = self._clock(), (each.payout_id for each in request.intents)
        same = (code, request.environment, request.network, request.sweeps, request.prepares, *ids)
        if now - self._refusals.get(same, now - HOUR) < HOUR:
            return
        if sum(now - at < MINUTE for at in self._refusals.values()) >= REFUSALS_PER_MINUTE:
            return
        self._refusals = {key: at for key, at in self._refusals.items() if now - at < HOUR} | {same: now}
        self._append({**_content(request), "refused": code, "reason": reason})

    def _append(self, content: Mapping[str, Any]) -> None:
        now = self._clock()
        entry = {"at": now.isoformat(), **content, "previous": self._last}
        line = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode()
        end = self._file.seek(0, os.SEEK_END)
        try:
            if self._file.write(line + b"\n") != len(line) + 1:
                raise OSError(f"a line could not be written whole to {self._file.name}")
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(end)
            raise
        self._count(entry)
        self._last = hashlib.sha256(line).hexdigest()

    # What is read at the start

    def _load(self, path: Path) -> None:
        with path.open("rb") as lines:
            whole = self._read(path, lines)
        self._file.truncate(whole)

    def _read(self, path: Path, lines: Iterable[bytes]) -> int:
        """Count the entries of the lines; returns the number of bytes in whole lines."""
        whole = 0
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):  # the process ended while it wrote: nothing was given away for this line
                logger.warning("unfinished line of the signer's record removed", path=str(path), line=number)
                break
            whole += len(line)
            try:
                entry = json.loads(line)
                if entry["previous"] != self._last:
                    raise ValueError("it does not follow the line before")
                self._count(entry)
            except (ValueError, KeyError, TypeError) as error:
                raise RecordRefused(f"line {number} of {path} was changed: {error}") from error
            self._last = hashlib.sha256(line[:-1]).hexdigest()
        return whole

    def _count(self, entry: Mapping[str, Any]) -> None:
        if "refused" in entry:
            return
        at = datetime.fromisoformat(entry["at"])
        environment, network = entry["environment"], entry["network"]
        slot: Slot = (environment, network, entry["account"], entry["sequence"])
        for intent in entry["intents"]:
            self._slots[intent["payout_id"]].add(slot)
            self._since.setdefault(intent["payout_id"], at)
            self._paid[intent["payout_id"], slot] = at, intent["coin"], int(intent["amount"])
        _, before = self._fees.get(slot, (at, 0))
        self._fees[slot] = at, max(before, int(entry["fee"]))
        self._times.append(at)
        self._forget(at)

    def _forget(self, now: datetime) -> None:
        """Forget what no limit needs any more. Since when payouts are signed for, and with what, is kept for ever."""
        self._lines += 1
        if self._lines % 1000 == 0:
            self._paid = {key: each for key, each in self._paid.items() if each[0] > now - DAY}
            self._fees = {slot: each for slot, each in self._fees.items() if each[0] > now - DAY}
            self._times = [at for at in self._times if at > now - MINUTE]


def _slot(request: SigningRequest) -> Slot:
    return request.environment, request.network, request.account, request.sequence


def _content(request: SigningRequest) -> dict[str, Any]:
    environment, network, account, sequence = _slot(request)
    intents = [
        {"payout_id": each.payout_id, "coin": each.coin, "amount": str(each.amount)}
        | {"recipient": each.recipient, "memo": each.memo}
        for each in request.intents
    ]
    return {
        "environment": environment,
        "network": network,
        "account": account,
        "sequence": sequence,
        "sweeps": request.sweeps,
        "prepares": request.prepares,
        "intents": intents,
    }


def utc_now() -> datetime:
    return datetime.now(UTC)
