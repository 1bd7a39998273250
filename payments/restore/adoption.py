"""Adopts what our wallets have sent and the restored database does not have, and books it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import structlog
from django.db import transaction

from config.errors import DomainError
from config.money import from_units
from config.periodic.containment import contained
from merchants.ledger.posting import InsufficientFunds
from payments.chains.errors import ChainError
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import IncomingTransfer, SentTransaction
from payments.restore.findings import Found, LostPayout
from payments.transfers import services
from payments.transfers.audit.adopt_unknown import (
    NotAPayout,
    SequenceTaken,
    Unknown,
    adopt_idle,
    adopt_transaction,
    by_transaction,
    found_as,
    is_version,
    mined_as,
)
from payments.transfers.execution.nonces import known_sequence
from payments.transfers.models import Transfer, Wallet
from payments.transfers.owners import FOUND, attribute_found, follow_payouts, found_payouts
from payments.transfers.services import Mined
from payments.transfers.wallets import expected_sequences
from payments.treasury.cold import cold_wallets
from payments.treasury.house.cold.moves import follow
from payments.treasury.house.manual_transfers import attribute
from payments.treasury.lost_sweeps import adopt_sweep, lost_sweeps, numbers_of
from payments.treasury.sweep_booking import book_found, book_sweeps

logger = structlog.get_logger(__name__)

MOVEMENTS_PER_LINE = 500
"""After how many adopted transactions a line is printed."""


class Adoption:
    """Adopts what wallets of ours have sent on one network and the ledger lacks, in its order, and books it."""

    def __init__(
        self,
        environment: str,
        chain: Chain,
        first_height: int,
        lost: Mapping[str, int],
        found: Found,
        report: Callable[[str], None],
    ) -> None:
        self._environment, self._chain, self._network = environment, chain, chain.profile.network
        self._first, self._last = first_height, chain.reading.head().finalized_height
        self._lost, self._found, self._report = lost, found, report
        swept = lost_sweeps(environment, chain, first_height=first_height, last_height=self._last, lost=lost)
        self._sweeps = {moves[0].transaction_hash: moves for moves in swept}
        self._paid: list[tuple[Wallet, Unknown]] = []
        self._done = 0

    def adopt(self, wallet: Wallet, unknown: Sequence[Unknown]) -> None:
        """Everything that one wallet has sent, by itself or by its channels."""
        expected, groups = expected_sequences(wallet, self._chain), by_transaction(unknown)
        sent = [(channel, each) for channel in expected for each in self._sent(wallet, channel, expected, groups)]
        for channel, each in sorted(sent, key=lambda one: (one[1].height, one[1].sequence)):
            parts = groups.pop(each.transaction_hash, [])
            moves = self._sweeps.pop(each.transaction_hash, None)
            if moves is not None:
                self._found.sweeps += self._adopt_sweep(wallet, each, moves)
                if parts:  # a call of several contracts
                    groups[each.transaction_hash] = parts
            elif parts:
                if not self._pay(wallet, each, parts):
                    groups[each.transaction_hash] = parts
            else:
                self._found.without_coins += adopt_idle(wallet, channel, each, self._chain.profile.native)
            self._progress()
        strange = [each for parts in groups.values() for each in parts]
        self._found.payouts += [lost_payout(wallet, each) for each in strange]
        if strange:
            reason = "It has sent money that the ledger lacks, before a restore: manage.py thaw_wallet."
            freeze(wallet, reason, self._found)
        else:
            services.catch_up(wallet, expected)

    def finish(self) -> None:
        """Book what is left to be booked, and report transactions that no wallet of ours has sent."""
        for transaction_hash in self._sweeps:
            line = f"{self._named}: {transaction_hash} brought coins to a wallet of ours that are not adopted"
            self._report(f"  {line}")
            self._found.left.append(line)
        book_sweeps()
        for cold in cold_wallets(self._environment, self._network):
            follow(cold, until=self._last)
        follow_payouts()
        self._attribute()
        self._report(f"  {self._named}: {self._done:,} transactions of wallets of ours adopted")

    def _attribute(self) -> None:
        """Attribute what can have been for one owner only. While there is anything else, nothing is paid: it might be
        the same."""
        attribute_found(self._environment, self._network)
        if found_payouts(self._environment, self._network).exists():
            for wallet in Wallet.objects.filter(environment=self._environment, network=self._network).order_by("pk"):
                freeze(wallet, "It has paid what this database has no request of: manage.py book_sent.", self._found)
        for wallet, each in self._paid:
            if each.payout is not None:
                each.payout.refresh_from_db()
            self._found.payouts.append(lost_payout(wallet, each))
            self._found.adopted += bool(self._found.payouts[-1].paid)

    @property
    def _named(self) -> str:
        return f"{self._network} ({self._environment})"

    def _sent(
        self, wallet: Wallet, channel: str, expected: Mapping[str, int], groups: Collection[str]
    ) -> Iterable[SentTransaction]:
        known = known_sequence(wallet, channel)
        has_sent = Transfer.objects.filter(wallet=wallet, channel=channel).exists()
        return self._chain.hot_wallet.sent_by(
            wallet.account_of(channel),
            first_height=self._first,
            last_height=self._last,
            first_sequence=known if has_sent else expected[channel],  # else nobody knows where ours begin
            hashes={*groups, *self._sweeps},
        )

    def _adopt_sweep(self, wallet: Wallet, sent: SentTransaction, moves: Sequence[IncomingTransfer]) -> bool:
        coin = [each for each in moves if each.asset == moves[0].asset]
        sweep = adopt_sweep(wallet, sent.sequence, coin, self._mined(sent), self._lost)
        if sweep is None:
            return False
        numbers = numbers_of({each.sender for each in coin})
        with contained("sweep not booked yet", expected=(ChainError, DomainError), transfer=str(sweep.transfer)):
            book_found(sweep, coin, {**self._lost, **numbers})
        if rest := [each for each in moves if each not in coin]:
            self._sweeps[sent.transaction_hash] = rest
        return True

    def _pay(self, wallet: Wallet, sent: SentTransaction, parts: Sequence[Unknown]) -> bool:
        """Adopt what has paid payouts that wait, the house, another wallet of ours or somebody whom the database does
        not know of; False when it cannot be booked."""
        if is_version(wallet, parts):
            return True
        for tries_left in (1, 0):
            try:
                with transaction.atomic():
                    self._adopt_whole(wallet, sent, parts)
                return True
            except InsufficientFunds as error:
                failed: DomainError = error
                for cold in cold_wallets(self._environment, self._network) if tries_left else ():
                    follow(cold, until=sent.height)  # it may have refilled the hot wallet
            except (NotAPayout, SequenceTaken) as error:
                failed = error
                break
        logger.warning("transfer not adopted", transaction_hash=sent.transaction_hash, error=str(failed))
        return False

    def _adopt_whole(self, wallet: Wallet, sent: SentTransaction, parts: Sequence[Unknown]) -> None:
        mined = self._mined(sent)
        known = [found_as(wallet, self._of_house(wallet, each, mined)) for each in parts]
        adopt_transaction(wallet, known, mined)
        follow_payouts()
        self._paid += [(wallet, each) for each in known]

    def _of_house(self, wallet: Wallet, each: Unknown, mined: Mined) -> Unknown:
        if each.is_known or each.asset is None or each.sent.is_conditional:
            return each
        return replace(each, payout=attribute(wallet, each.sent, each.asset, mined))

    def _mined(self, sent: SentTransaction) -> Mined:
        return mined_as(self._chain, sent.transaction_hash, sent.height, sent.fee_units, sent.said_by)

    def _progress(self) -> None:
        self._done += 1
        if self._done % MOVEMENTS_PER_LINE == 0:
            self._report(f"  {self._named}: {self._done:,} transactions adopted")


def lost_payout(wallet: Wallet, each: Unknown) -> LostPayout:
    sent, asset = each.sent, each.asset
    return LostPayout(
        wallet.environment,
        wallet.network,
        wallet.address,
        sent.recipient,
        sent.memo or "",
        asset.code if asset else sent.contract,
        f"{from_units(sent.amount, asset.decimals):f}" if asset else str(sent.amount),
        sent.transaction_hash,
        sent.height,
        each.payout.reference if each.payout and not each.payout.reference.startswith(FOUND) else "",
    )


def freeze(wallet: Wallet, reason: str, found: Found) -> None:
    services.freeze_wallet(wallet, reason=reason)
    found.frozen.append(str(wallet))
