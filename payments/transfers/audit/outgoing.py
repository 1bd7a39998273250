"""Compares what left a hot wallet, as the network shows it, with our rows."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min, QuerySet

from config.installation.services import found_by_resume
from merchants.ledger.checking import CouldNotCheck, Finding, Severity
from payments.chains.errors import ChainError
from payments.chains.providers.sources import another_provider
from payments.transfers.audit.wallet_snapshot import WalletSnapshot
from payments.transfers.execution.arrivals import as_shown
from payments.transfers.execution.hashes import signed_as
from payments.transfers.models import Payout, Transfer, TransferLine
from payments.transfers.states import OPEN_TRANSFERS, TransferPurpose, TransferStatus

BLOCKS_AT_A_TIME = 10_000
TRANSFERS_AT_A_TIME = 1_000

MAY_HAVE_MOVED = (TransferStatus.SIGNED, TransferStatus.SENT, TransferStatus.FINAL)


@dataclass(frozen=True, slots=True)
class Move:
    """One transfer of a coin to somebody, or a claimable balance that is set aside for somebody."""

    asset: str
    amount: int
    recipient: str
    memo: str
    set_aside: bool = False

    def __str__(self) -> str:
        memo = f" memo {self.memo}" if self.memo else ""
        word = "set aside for" if self.set_aside else "to"
        return f"{self.amount:,} {self.asset} {word} {self.recipient}{memo}"


Moves = Counter[Move]


class Comparison:
    """Compares both ways: what the network shows must be in our rows, and final transfers must be on the network."""

    def __init__(self, snapshot: WalletSnapshot, address: str, *, since: datetime | None) -> None:
        self._snapshot = snapshot
        self._address = address
        self._since = since
        self._codes = {asset.contract: code for code, asset in snapshot.chain.profile.assets.items()}
        self._seen: set[uuid.UUID] = set()
        self._sequences: dict[str, tuple[str, int]] = {}
        """By transaction hash, whose sequence it used, and which: the channel is empty for the wallet itself."""

    def findings(self) -> Iterator[Finding]:
        try:
            for on_chain in self._windows():
                hashes = list(on_chain)
                for start in range(0, len(hashes), TRANSFERS_AT_A_TIME):
                    yield from self._compare(hashes[start : start + TRANSFERS_AT_A_TIME], on_chain)
            yield from self._not_seen()
        except ChainError as error:
            raise CouldNotCheck(f"{self._snapshot.network} did not answer: {error}") from error

    # What the network shows

    def _windows(self) -> Iterator[dict[str, Moves]]:
        """Outgoing moves of the wallet by transaction hash, some blocks at a time."""
        last = self._snapshot.finalized_height
        for first in range(self._first_height(), last + 1, BLOCKS_AT_A_TIME):
            moves: defaultdict[str, Moves] = defaultdict(Counter)
            window = self._snapshot.chain.reading.outgoing(
                self._address, first_height=first, last_height=min(last, first + BLOCKS_AT_A_TIME - 1)
            )
            for left in window:
                code = self._codes.get(left.contract, left.contract)
                move = Move(code, left.amount, left.recipient, left.memo or "", bool(left.claimable_balance))
                if left.recipient not in self._snapshot.addresses:  # else from one hot wallet to another: still ours
                    moves[left.transaction_hash][move] += 1
                if left.sequence is not None:
                    self._sequences[left.transaction_hash] = left.channel, left.sequence
            yield moves

    def _first_height(self) -> int:
        """The first height to read: a day before the wallet was first used, or the requested time."""
        if self._since is not None:
            return self._snapshot.height_before(self._since)
        used_at = self._ours().aggregate(first=Min("height"))["first"]
        return max(
            0, (self._snapshot.finalized_height if used_at is None else used_at) - self._snapshot.blocks_of_a_day
        )

    def _compare(self, hashes: Sequence[str], on_chain: dict[str, Moves]) -> Iterator[Finding]:
        signed = signed_as(hashes)
        signed |= self._raised({each: on_chain[each] for each in hashes if each not in signed})
        wanted = self._wanted({transfer.pk for transfer in signed.values()})
        for transaction_hash in hashes:
            moved = on_chain[transaction_hash]
            transfer = signed.get(transaction_hash)
            if transfer is None:
                yield from self._unknown(transaction_hash, moved)
                continue
            is_it = transfer.status != TransferStatus.FINAL or transfer.transaction_hash == transaction_hash
            expected = wanted[transfer.pk] if transfer.status in MAY_HAVE_MOVED and is_it else Counter()
            self._seen.add(transfer.pk)
            if not self._is_explained(transfer, expected, moved):
                yield self._difference(transfer, transaction_hash, expected, moved)

    def _raised(self, unknown: dict[str, Moves]) -> dict[str, Transfer]:
        """Our transfers on their way whose fee somebody else has raised: the hash is new, the rest as it was signed."""
        places = {each: self._sequences[each] for each in unknown if each in self._sequences}
        if not places or self._snapshot.chain.profile.family == "evm":
            return {}
        open_now = self._ours().filter(
            status__in=OPEN_TRANSFERS, sequence__in={sequence for _, sequence in places.values()}
        )
        ours = {(each.channel, each.sequence): each for each in open_now}
        wanted = self._wanted({each.pk for each in ours.values()})
        return {
            each: transfer
            for each, place in places.items()
            if (transfer := ours.get(place)) is not None and wanted[transfer.pk] == unknown[each]
        }

    def _unknown(self, transaction_hash: str, moved: Moves) -> Iterator[Finding]:
        resumed = found_by_resume(transaction_hash)
        for move, count in moved.items():
            yield self._snapshot.finding(
                f"{self._snapshot.network}:{transaction_hash} from {self._address}",
                "a transfer of ours",
                str(move) if count == 1 else f"{count} times {move}",
                "somebody else signs for this wallet: freeze it, move what is left to another key, then find out who"
                if resumed is None
                else f"sent before the restore that was resumed at {resumed.ended_at:%Y-%m-%d %H:%M} UTC, which has "
                "frozen the wallet: a payout that the backup lacks, or somebody else with the key; look whose it is",
                delta=-move.amount * count,
                severity=None if resumed is None else Severity.WARNING,
                asset=move.asset,
            )

    # What our rows show

    def _ours(self) -> QuerySet[Transfer]:
        return Transfer.objects.filter(
            environment=self._snapshot.environment,
            network=self._snapshot.network,
            wallet__address=self._address,
            purpose=TransferPurpose.PAYOUT,
        )

    def _wanted(self, transfers: Iterable[uuid.UUID]) -> defaultdict[uuid.UUID, Moves]:
        """The moves that transfers were signed for."""
        wanted: defaultdict[uuid.UUID, Moves] = defaultdict(Counter)
        for line in TransferLine.objects.filter(transfer__in=list(transfers)).select_related("payout"):
            payout = line.payout
            recipient, memo = as_shown(self._snapshot.chain.profile, payout.recipient, payout.memo)
            move = Move(payout.asset, int(payout.amount), recipient, memo, bool(line.claimable_balance))
            wanted[line.transfer_id][move] += 1
        return wanted

    def _is_explained(self, transfer: Transfer, expected: Moves, moved: Moves) -> bool:
        """True if the expected amounts moved, or amounts less what tokens kept, as in the rows."""
        missing, extra = expected - moved, moved - expected
        if not missing:
            return not extra
        if _by_coin(extra) != _by_coin(missing) or not _recipients(missing) <= _recipients(extra):
            return False
        arrived = self._moves(line.payout for line in transfer.lines.select_related("payout") if line.payout.token_fee)
        return transfer.is_open or (bool(arrived) and arrived <= extra)

    def _moves(self, payouts: Iterable[Payout]) -> Moves:
        """The moves of these payouts' arrived amounts, by the rows."""
        profile = self._snapshot.chain.profile
        return Counter(
            Move(each.asset, int(each.amount) - each.token_fee, *as_shown(profile, each.recipient, each.memo))
            for each in payouts
        )

    def _not_seen(self) -> Iterator[Finding]:
        """Final transfers that were in none of the blocks read: looked up one by one."""
        final = self._ours().filter(status=TransferStatus.FINAL)
        if self._since is not None:
            final = final.filter(finished_at__gte=self._since)
        for transfer in final.iterator(chunk_size=TRANSFERS_AT_A_TIME):
            if transfer.pk in self._seen:
                continue
            moved = self._moved_by(transfer)
            wanted = self._wanted([transfer.pk])[transfer.pk]
            if not self._is_explained(transfer, wanted, moved):
                yield self._difference(transfer, transfer.transaction_hash, wanted, moved)

    def _moved_by(self, transfer: Transfer) -> Moves:
        known, chain = transfer.transaction_hash, self._snapshot.chain
        operations = chain.operations if transfer.lines.exclude(claimable_balance="").exists() else None
        found = [(each, False) for each in chain.reading.find_transfers(known)]
        found += [(each, True) for each in (operations.find_set_aside(known) if operations else ())]
        return Counter(
            Move(self._codes.get(each.contract, each.contract), each.amount, each.recipient, each.memo or "", set_aside)
            for each, set_aside in found
            if each.sender == self._address and each.recipient not in self._snapshot.addresses
        )

    def _difference(self, transfer: Transfer, transaction_hash: str, expected: Moves, moved: Moves) -> Finding:
        coins = {move.asset for move in expected | moved}
        [coin] = coins if len(coins) == 1 else [None]
        return self._snapshot.finding(
            f"transfer {transfer.pk} ({transfer.status}), {self._snapshot.network}:{transaction_hash}",
            _moves_text(expected),
            _moves_text(moved),
            "stop payouts; compare its payouts with what the network shows of this hash, by "
            f"{another_provider(transfer.said_by)}",
            delta=_total(moved) - _total(expected) if coin else None,
            asset=coin,
        )


def _moves_text(moves: Moves) -> str:
    return "; ".join(sorted(f"{count} times {move}" if count > 1 else str(move) for move, count in moves.items())) or (
        "nothing moved"
    )


def _total(moves: Moves) -> int:
    return sum(move.amount * count for move, count in moves.items())


def _by_coin(moves: Moves) -> Counter[str]:
    total: Counter[str] = Counter()
    for move, count in moves.items():
        total[move.asset] += move.amount * count
    return total


def _recipients(moves: Moves) -> set[tuple[str, str]]:
    return {(move.recipient, move.memo) for move in moves}
