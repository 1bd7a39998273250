"""One round of a wallet, while it is held: follow what is on its way, sign what may leave, send what is signed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby

import structlog
from django.db.models import QuerySet
from django.utils import timezone

from merchants.ledger.posting import InsufficientFunds
from payments.chains import registry
from payments.chains.base import Chain, SignedTransfer
from payments.chains.base import Payout as ChainPayout
from payments.chains.base import TransferStatus as ChainStatus
from payments.chains.errors import ChainError, ChainUnavailable, FeesAboveCap, RecipientRefused, SendingBlocked
from payments.transfers import services
from payments.transfers.arrivals import NothingArrived, arrived_by
from payments.transfers.judging import Judgement, Verdict, judge
from payments.transfers.models import Envelope, Payout, Transfer, Wallet
from payments.transfers.payouts import (
    HELD_FOR,
    fail_payout,
    goes_first,
    hold_payout,
    hold_payouts,
    may_leave,
    policy_of,
    postpone_payouts,
)
from payments.transfers.spending import Allowance, Purse
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus, TransferPurpose

logger = structlog.get_logger(__name__)

OPEN_MAX = 16
"""Transfers of one wallet that may be on their way at once."""

SWEEPS_OPEN_MAX = 4
"""How many of them may be sweeps: the other places are for payouts alone."""

TURN = timedelta(seconds=20)
"""After so long a round begins nothing more, once it has done something of each kind. What is left stays due, and the
wallet is free for the next round."""

SILENCES_MAX = 3
"""Transfers and payouts of a round that the network may leave unanswered; then it is taken to be away."""

TROUBLE_PAUSE = timedelta(seconds=15)
"""How long a transfer or payout is left alone that could not be dealt with: the others come first."""

PAYOUTS_PER_ROUND = 500
STEP_MIN, STEP_MAX = timedelta(seconds=1), timedelta(seconds=30)
REPLACE_AFTER = timedelta(seconds=60)
"""A version that waits longer than this, and than five blocks, is replaced by one that offers more."""

VERSIONS_MAX = 10
LIQUIDITY_PAUSE = timedelta(seconds=5)
FEES_PAUSE = BLOCKED_PAUSE = timedelta(seconds=30)


class Round:
    """What one wallet does while it is held."""

    def __init__(self, wallet: Wallet, chain: Chain, *, clock: Callable[[], datetime] = timezone.now) -> None:
        self._clock, self._began_at = clock, clock()
        self._silences = 0
        self._wallet = wallet
        self._chain = chain
        step = timedelta(seconds=chain.profile.block_seconds / 2)
        self._step = min(max(step, STEP_MIN), STEP_MAX) if chain.profile.block_seconds else timedelta()
        self._trouble = ""
        self._replace_after = max(REPLACE_AFTER, timedelta(seconds=5 * chain.profile.block_seconds))

    def run(self) -> bool:
        try:
            self._chain.require_set_up(signing=True)
            moved = self._follow()
            if self.may_send:
                moved |= self._sign()
                moved |= self._send()
            else:
                self._wait()
            answered = {} if self._silences else {"checked_at": timezone.now()}
            Wallet.objects.filter(pk=self._wallet.pk).update(last_error=self._trouble, **answered)
        except ChainError as error:
            self._wait(HoldReason.NETWORK)
            Wallet.objects.filter(pk=self._wallet.pk).update(last_error=str(error)[:1000])
            logger.warning("wallet's network unavailable", wallet=str(self._wallet), error=str(error))
            return False
        return moved

    @property
    def may_send(self) -> bool:
        """Whether anything may leave just now: asked again each time, since an operator may stop it within a round."""
        return may_leave(policy_of(self._wallet.environment), self._wallet.network)

    @property
    def places(self) -> int:
        """How many more transfers may be on their way."""
        return OPEN_MAX - self._open().count()

    @property
    def may_sweep(self) -> bool:
        """Whether a sweep may be signed: not while payouts are due, nor into the places that are kept for them."""
        sweeps = self._open().filter(purpose=TransferPurpose.SWEEP).count()
        has_place = self.places > 0 and sweeps < SWEEPS_OPEN_MAX
        return has_place and self.may_send and not goes_first(self._wallet.environment, self._wallet.network)

    def sequence(self) -> int | None:
        """The sequence to sign for next, or None while the wallet is frozen: then somebody must look first.

        The network is asked before the books are read: whatever it has seen of ours is in them by then.
        """
        expected = self._chain.next_sequence(self._wallet.address)
        wallet = Wallet.objects.get(pk=self._wallet.pk)
        if wallet.frozen_at is not None:
            return None
        if expected > wallet.next_sequence:
            reason = (
                f"The network has seen transfers of this wallet up to sequence {expected - 1}, the books only up to "
                f"{wallet.next_sequence - 1}. Was the database restored from a backup, or is the key used elsewhere?"
            )
            services.freeze_wallet(wallet, reason=reason)
            return None
        return services.next_sequence(wallet, expected)

    # What is on its way

    def _open(self) -> QuerySet[Transfer]:
        return Transfer.objects.filter(wallet=self._wallet, status__in=OPEN_TRANSFERS).order_by("sequence")

    def _follow(self) -> bool:
        """Ask what became of transfers that were sent, and write down what is proved."""
        moved = False
        due = self._open().filter(next_step_at__lte=timezone.now(), sent_at__isnull=False)
        for number, transfer in enumerate(due):
            if number and self._has_used(TURN / 2):  # the other half is for what waits to be signed
                break
            with self._apart(partial(self._put_off_transfer, transfer), transfer=str(transfer)):
                versions = list(transfer.envelopes.all())
                answers = [self._chain.transfer_status(self._signed(transfer, version)) for version in versions]
                moved |= self._conclude(transfer, versions, answers, judge(answers))
        return moved

    def _conclude(
        self, transfer: Transfer, versions: Sequence[Envelope], answers: Sequence[ChainStatus], judgement: Judgement
    ) -> bool:
        match judgement.verdict:
            case Verdict.FINAL | Verdict.FAILED:
                assert judgement.version is not None  # noqa: S101 - narrows the type: both name a version
                return self._settle(transfer, versions[judgement.version], answers[judgement.version], judgement)
            case Verdict.USURPED:
                reason = f"Sequence {transfer.sequence} was used by an on-chain transaction that Ballast did not sign."
                services.freeze_wallet(self._wallet, reason=reason)
                services.record_dead(transfer)
                return True
            case Verdict.DEAD:
                services.record_dead(transfer)
                return True
            case Verdict.MINED:
                self._postpone(transfer)
                return False
            case Verdict.WAITING:
                if not self.may_send:
                    return False
                is_replaced = self._replace_late(transfer, versions)
                if not is_replaced and answers[-1].state == "unknown":  # lost, while one that offers less waits on
                    self._broadcast(transfer)
                return is_replaced
            case Verdict.MISSING:
                if self.may_send:
                    self._replace_late(transfer, versions)
                    self._broadcast(transfer)
                else:
                    self._postpone(transfer)
                return False

    def _settle(self, transfer: Transfer, version: Envelope, answer: ChainStatus, judgement: Judgement) -> bool:
        native = self._chain.profile.native
        mined = services.Mined(version.transaction_hash, answer.height, answer.fee_units, native)
        if judgement.verdict is Verdict.FAILED:
            services.record_failed(transfer, mined, error=answer.error or "")
            return True
        try:
            arrived = arrived_by(self._chain, transfer, version.transaction_hash)
            services.record_final(transfer, mined, arrived=arrived)
        except NothingArrived as error:
            services.postpone_transfer(transfer, until=timezone.now() + HELD_FOR, error=str(error))
            return False
        except InsufficientFunds as error:  # a sweep that brought the coins is final too, and not booked yet
            services.postpone_transfer(transfer, until=timezone.now() + LIQUIDITY_PAUSE, error=str(error))
            return False
        return True

    def _replace_late(self, transfer: Transfer, versions: Sequence[Envelope]) -> bool:
        """Offer more for a transfer that has waited too long, where that is possible; else wait on."""
        is_late = timezone.now() - versions[-1].signed_at >= self._replace_after
        if not is_late or len(versions) >= VERSIONS_MAX or not self._chain.can_replace():
            self._postpone(transfer)
            return False
        earlier = [self._signed(transfer, version) for version in versions]
        try:
            signed = self._sign_again(transfer, earlier)
        except FeesAboveCap as error:  # what was sent stays good, and others are still to be followed
            self._note(error)
            services.postpone_transfer(transfer, until=timezone.now() + self._step, error=str(error))
            return False
        if services.record_replacement(transfer, signed):
            self._broadcast(transfer)
        return True

    def _sign_again(self, transfer: Transfer, earlier: Sequence[SignedTransfer]) -> SignedTransfer:
        sender, sequence = self._wallet.address, transfer.sequence
        if transfer.purpose == TransferPurpose.SWEEP:
            coins = {**self._chain.profile.assets, self._chain.profile.native.code: self._chain.profile.native}
            return self._chain.sign_sweep(
                coins[transfer.asset], tuple(transfer.deposits), sender=sender, sequence=sequence, replacing=earlier
            )
        return self._chain.sign(earlier[-1].payouts, sender=sender, sequence=sequence, replacing=earlier)

    # What is to leave

    def _sign(self) -> bool:
        """Sign for everything that may leave, as many payouts in each transfer as the network allows."""
        moved = False
        batches = list(self._batches(self._allowed(self._due())))
        for place, batch in enumerate(batches):
            if place and self._has_used(TURN):
                break
            try:
                with self._apart(partial(self._put_off_payouts, batch), payouts=[str(payout) for payout in batch]):
                    moved |= self._sign_batch(batch)
            except FeesAboveCap as error:
                self._note(error)
                for payout in (each for later in batches[place:] for each in later):
                    hold_payout(payout.pk, HoldReason.FEES, until=timezone.now() + FEES_PAUSE)
                break
        return moved

    def _sign_batch(self, batch: Sequence[Payout]) -> bool:
        """Sign one transfer with these and store it; whether it was stored."""
        keys = [payout.pk for payout in batch]
        sequence = self.sequence() if self.places > 0 else None
        if sequence is None:
            postpone_payouts(keys, until=timezone.now() + self._step)
            return False
        payouts = tuple(self._chain_payout(payout) for payout in batch)
        signed = self._chain.sign(payouts, sender=self._wallet.address, sequence=sequence)
        return services.record_signed(self._wallet, signed, payout_ids=keys) is not None

    def _due(self) -> list[Payout]:
        waiting = Payout.objects.filter(
            environment=self._wallet.environment,
            network=self._wallet.network,
            status__in=[PayoutStatus.READY, PayoutStatus.HELD],
            next_attempt_at__lte=timezone.now(),
        )
        return list(waiting.order_by("id")[:PAYOUTS_PER_ROUND])

    def _allowed(self, due: Sequence[Payout]) -> list[Payout]:
        """Those that no limit holds, that the hot wallet can pay, and that the network would not refuse.

        The network is asked about no more than may leave now: with hundreds waiting it would be asked for nothing else.
        """
        allowed: list[Payout] = []
        later: list[Payout] = []
        room = self.places * self._chain.profile.payouts_per_transfer
        purse = Purse(self._wallet)
        allowance = Allowance(policy_of(self._wallet.environment))
        for payout in due:
            if allowed and self._has_used(TURN * 3 / 4):
                break
            reason = allowance.why_held(payout) or (None if purse.covers(payout) else HoldReason.LIQUIDITY)
            if reason is not None:
                pause = LIQUIDITY_PAUSE if reason is HoldReason.LIQUIDITY else HELD_FOR
                hold_payout(payout.pk, reason, until=timezone.now() + pause)
                continue
            is_turn = len(allowed) < room
            if is_turn and not self._is_payable(payout):
                continue
            allowance.take(payout)
            purse.take(payout)
            (allowed if is_turn else later).append(payout)
        postpone_payouts([payout.pk for payout in later], until=timezone.now() + self._step)
        return allowed

    def _is_payable(self, payout: Payout) -> bool:
        """Whether the network would not refuse it now. One that it refuses for good fails."""
        with self._apart(partial(self._put_off_payouts, [payout]), payout=str(payout)):
            try:
                self._chain.check_recipient(self._chain_payout(payout))
                return True
            except RecipientRefused as error:
                fail_payout(payout.pk, code=error.problem, message=str(error)[:300])
            except SendingBlocked as error:
                hold_payout(payout.pk, HoldReason(error.problem), until=timezone.now() + BLOCKED_PAUSE)
        return False

    def _batches(self, payouts: Sequence[Payout]) -> Iterable[list[Payout]]:
        size = self._chain.profile.payouts_per_transfer
        together = sorted((payout for payout in payouts if not payout.is_alone), key=lambda payout: payout.memo)
        for _, shared in groupby(together, key=lambda payout: payout.memo):
            batch = list(shared)
            yield from (batch[start : start + size] for start in range(0, len(batch), size))
        yield from ([payout] for payout in payouts if payout.is_alone)

    def _send(self) -> bool:
        """Hand over what is signed and was never sent, in the order of the sequences."""
        unsent = list(self._open().filter(sent_at__isnull=True))
        for number, transfer in enumerate(unsent):
            if (number and self._has_used(TURN)) or not self.may_send:
                return False
            with self._apart(partial(self._put_off_transfer, transfer), transfer=str(transfer)):
                self._broadcast(transfer)
        return bool(unsent)

    def _broadcast(self, transfer: Transfer) -> None:
        newest = transfer.envelopes.last()
        assert newest is not None  # noqa: S101 - a transfer is stored with its first version
        error = ""
        try:
            self._chain.broadcast(self._signed(transfer, newest))
        except ChainError as refusal:  # what became of it, the chain will say
            error = f"{type(refusal).__name__}: {refusal}"
        services.record_sent(transfer, next_step_at=timezone.now() + self._step, error=error)

    # Small change

    def _has_used(self, time: timedelta) -> bool:
        """Whether the round has lasted so long already."""
        return self._clock() - self._began_at >= time

    @contextmanager
    def _apart(self, put_off: Callable[[Exception], None], **what: object) -> Iterator[None]:
        """Keep the trouble with one transfer or payout from the others: it is put off, and they go on.

        ChainUnavailable once the network has left too many of them unanswered; FeesAboveCap always.
        """
        try:
            yield
        except FeesAboveCap:
            raise
        except ChainUnavailable as error:
            self._silences += 1
            if self._silences >= SILENCES_MAX:
                raise
            self._trouble = str(error)[:1000]
            put_off(error)
        except Exception as error:
            logger.exception("left for a later round", wallet=str(self._wallet), **what)
            put_off(error)

    def _put_off_transfer(self, transfer: Transfer, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}"
        services.postpone_transfer(transfer, until=timezone.now() + TROUBLE_PAUSE, error=said)

    def _put_off_payouts(self, payouts: Sequence[Payout], error: Exception) -> None:
        keys, until = [payout.pk for payout in payouts], timezone.now() + TROUBLE_PAUSE
        if isinstance(error, ChainUnavailable):
            hold_payouts(keys, HoldReason.NETWORK, until=until)
        else:
            postpone_payouts(keys, until=until)

    def _note(self, error: FeesAboveCap) -> None:
        """Operators see it on the wallet until a round ends without it."""
        self._trouble = str(error)[:1000]

    def _postpone(self, transfer: Transfer) -> None:
        services.postpone_transfer(transfer, until=timezone.now() + self._step)

    def _wait(self, reason: HoldReason | None = None) -> None:
        """Nothing can be done now: leave what is due for the next step instead of asking again at once."""
        later = timezone.now() + max(self._step, STEP_MIN)
        keys = [payout.pk for payout in self._due()]
        if reason is None:
            postpone_payouts(keys, until=later)
        else:
            hold_payouts(keys, reason, until=later)
        for transfer in self._open().filter(next_step_at__lte=timezone.now()):
            services.postpone_transfer(transfer, until=later)

    def _chain_payout(self, payout: Payout) -> ChainPayout:
        asset = registry.asset(payout.environment, payout.network, payout.asset)
        return ChainPayout(asset, int(payout.amount), payout.recipient, payout.memo or None)

    def _signed(self, transfer: Transfer, version: Envelope) -> SignedTransfer:
        lines = transfer.lines.select_related("payout").order_by("place")
        return SignedTransfer(
            raw=bytes(version.raw),
            transaction_hash=version.transaction_hash,
            sender=self._wallet.address,
            sequence=transfer.sequence,
            valid_until=version.valid_until,
            payouts=tuple(self._chain_payout(line.payout) for line in lines),
            fee_limit_units=int(version.fee_limit_units),
        )
