"""One round of a wallet, under its lock: follow what was sent, sign what may leave, send what is signed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby

import structlog
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from config.database.database_time import database_now
from merchants.ledger import stops
from merchants.ledger.posting import InsufficientFunds
from payments.chains import registry
from payments.chains.errors import (
    ChainError,
    ChainUnavailable,
    FeesAboveCap,
    RecipientRefused,
    SendingBlocked,
    SignerRefused,
    SignerUnavailable,
)
from payments.chains.protocol.chain import Chain, sweeps_of
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer, TransactionStatus
from payments.screening.matching import evidence_of, note_evidence, with_lists
from payments.screening.oracle import GIVEN_UP_AFTER, no_answer, query_oracle
from payments.transfers import services
from payments.transfers.execution.arrivals import NothingArrived, arrived_by
from payments.transfers.execution.nonces import Sequences, free_channels
from payments.transfers.execution.outcome import Outcome, OutcomeKind, outcome_of
from payments.transfers.models import Envelope, Payout, Transfer, Wallet
from payments.transfers.payouts import (
    FOR_COINS,
    HELD_FOR,
    fail_payout,
    goes_first,
    hold_for_trustline,
    hold_payout,
    hold_payouts,
    policy_of,
    postpone_payouts,
)
from payments.transfers.spending import Allowance, Lockable, Purse, why_not_again
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus, TransferPurpose

logger = structlog.get_logger(__name__)

SWEEPS_OPEN_MAX = 4
"""Number of transfers on their way that may be sweeps: the rest is for payouts only."""

ROUND_MAX = timedelta(seconds=20)
"""After so long a round begins nothing more, once it has done something of each kind. What is left stays due for the
next round."""

SILENCES_MAX = 3
"""After so many unanswered transfers and payouts of a round, the network counts as unavailable."""

TROUBLE_PAUSE = timedelta(seconds=15)
"""Pause of a transfer or payout that failed: the others come first."""

PAYOUTS_PER_ROUND = 500
"""Payouts that a round looks at; more where more than that may leave at once."""

STEP_MIN, STEP_MAX = timedelta(seconds=1), timedelta(seconds=30)
REPLACE_AFTER_BLOCKS = 5
"""A version that waits for more blocks than that, and longer than the network's profile has, is replaced."""

VERSIONS_MAX = 10
LIQUIDITY_PAUSE = timedelta(seconds=5)
FEES_PAUSE = BLOCKED_PAUSE = timedelta(seconds=30)


class Round:
    """One round of a wallet, whose lock the caller holds.

    `is_replaced`: another hot wallet pays now. Nothing is signed for this one, whose key may be gone: what it has sent
    is followed to its end, and what it has signed is sent.
    """

    def __init__(
        self,
        wallet: Wallet,
        chain: Chain,
        *,
        is_replaced: bool = False,
        clock: Callable[[], datetime] = timezone.now,
    ) -> None:
        self._clock, self._began_at = clock, clock()
        self._is_replaced = is_replaced
        self._silences = 0
        self._wallet = wallet
        self._chain = chain
        self._sequences = Sequences(wallet, chain)
        self._lockable = Lockable(wallet, chain)
        self._set_aside: set[uuid.UUID] = set()
        step = timedelta(seconds=chain.profile.block_seconds / 2)
        self._step = min(max(step, STEP_MIN), STEP_MAX) if chain.profile.block_seconds else timedelta()
        self._trouble = ""
        blocks = REPLACE_AFTER_BLOCKS * chain.profile.block_seconds
        self._replace_after = timedelta(seconds=max(chain.profile.replace_after_seconds, blocks))

    def run(self) -> bool:
        try:
            self._chain.set_up.require(signing=not self._is_replaced)
            moved = self._follow()
            if self.may_send:
                moved |= not self._is_replaced and self._sign()
                moved |= self._send()
            else:
                self._wait(HoldReason.STOPPED)
            answered = {} if self._silences else {"checked_at": timezone.now()}
            Wallet.objects.filter(pk=self._wallet.pk).update(last_error=self._trouble, **answered)
        except ChainError as error:
            self._wait(HoldReason.NETWORK)
            Wallet.objects.filter(pk=self._wallet.pk).update(last_error=str(error)[:1000])
            if str(error)[:1000] != self._wallet.last_error:  # once, and not each second
                logger.warning("wallet's network unavailable", wallet=str(self._wallet), error=str(error))
            return False
        return moved

    @property
    def may_send(self) -> bool:
        """True if anything may leave now: checked again each time, since an operator may stop it within a round."""
        return stops.may_leave(self._wallet.environment, self._wallet.network)

    @property
    def may_sweep(self) -> bool:
        """True if a sweep may be signed: not while payouts are due, and not with the capacity kept for them."""
        sweeps = self._open().filter(purpose=TransferPurpose.SWEEP).count()
        has_capacity = bool(self._free()) and sweeps < SWEEPS_OPEN_MAX
        return has_capacity and self.may_send and not goes_first(self._wallet.environment, self._wallet.network)

    def _free(self) -> list[str]:
        return free_channels(self._wallet, self._chain)

    # What was sent

    def _open(self) -> QuerySet[Transfer]:
        return Transfer.objects.filter(wallet=self._wallet, status__in=OPEN_TRANSFERS).order_by("sequence")

    def _follow(self) -> bool:
        """Query the status of sent transfers, and record what is proved."""
        moved = False
        ended = Envelope.objects.filter(transfer=OuterRef("pk"), valid_until__lte=Now())
        due = self._open().filter(Q(sent_at__isnull=False) | Exists(ended), next_step_at__lte=timezone.now())
        for number, transfer in enumerate(due):
            if number and self._has_used(ROUND_MAX / 2):  # the other half of the time is for signing
                break
            with self._apart(partial(self._put_off_transfer, transfer), transfer=str(transfer)):
                versions = list(transfer.envelopes.all())
                statuses = [self._chain.sending.status(self._signed(transfer, version)) for version in versions]
                moved |= self._conclude(transfer, versions, statuses, outcome_of(statuses))
        return moved

    def _conclude(
        self,
        transfer: Transfer,
        versions: Sequence[Envelope],
        statuses: Sequence[TransactionStatus],
        outcome: Outcome,
    ) -> bool:
        match outcome.kind:
            case OutcomeKind.FINAL | OutcomeKind.FAILED:
                assert outcome.version is not None  # noqa: S101 - narrows the type: both name a version
                return self._settle(transfer, versions[outcome.version], statuses[outcome.version], outcome)
            case OutcomeKind.USURPED:
                account = self._wallet.account_of(transfer.channel)
                prepared = self._chain.preparations
                if not (prepared and prepared.only_set_up(account, transfer.sequence, transfer.sequence)):
                    reason = (
                        f"Sequence {transfer.sequence} of {account} was used by a transaction that Ballast did not "
                        "sign."
                    )
                    services.freeze_wallet(self._wallet, reason=reason)
                services.record_dead(transfer, said_by=_believed(statuses))
                return True
            case OutcomeKind.DEAD:
                services.record_dead(transfer, said_by=_believed(statuses))
                return True
            case OutcomeKind.MINED:
                self._postpone(transfer)
                return False
            case OutcomeKind.WAITING:
                is_replaced = self._replace_late(transfer, versions)
                if not is_replaced and statuses[-1].state == "unknown":  # lost, while a version with a lower fee waits
                    self._broadcast(transfer)
                return is_replaced
            case OutcomeKind.MISSING:
                self._replace_late(transfer, versions)
                self._broadcast(transfer)
                return False

    def _settle(self, transfer: Transfer, version: Envelope, status: TransactionStatus, outcome: Outcome) -> bool:
        if status.height is None:  # final, and in no block: wait for a provider that knows it
            self._postpone(transfer)
            return False
        native = self._chain.profile.native
        found = status.included_as or version.transaction_hash
        mined = services.Mined(found, status.height, status.fee_units, native, status.said_by)
        if outcome.kind is OutcomeKind.FAILED:
            services.record_failed(transfer, mined, error=status.error or "", refused=status.refused)
            return True
        try:
            arrived = arrived_by(self._chain, transfer, found)
            services.record_final(transfer, mined, arrived=arrived)
        except NothingArrived as error:
            services.postpone_transfer(transfer, until=timezone.now() + HELD_FOR, error=str(error))
            return False
        except InsufficientFunds as error:  # a sweep that brought the coins is final too, and not booked yet
            services.postpone_transfer(transfer, until=timezone.now() + LIQUIDITY_PAUSE, error=str(error))
            return False
        return True

    def _replace_late(self, transfer: Transfer, versions: Sequence[Envelope]) -> bool:
        """Replace a transfer that has waited too long by a version with a higher fee, where that is possible."""
        now, valid_until = timezone.now(), versions[-1].valid_until
        is_late = now - versions[-1].signed_at >= self._replace_after and (valid_until is None or now < valid_until)
        can_be = is_late and len(versions) < VERSIONS_MAX and self._chain.profile.can_replace
        if not can_be or self._is_replaced or not self.may_send:
            self._postpone(transfer)
            return False
        try:
            signed = self._sign_again(transfer, versions)
        except (FeesAboveCap, SignerRefused, SignerUnavailable) as error:
            # The sent version stays valid, and others must still be followed.
            self._note(error)
            services.postpone_transfer(transfer, until=timezone.now() + self._step, error=str(error))
            return False
        if not services.record_replacement(transfer, signed):
            self._postpone(transfer)
            return False
        self._broadcast(transfer)
        return True

    def _sign_again(self, transfer: Transfer, versions: Sequence[Envelope]) -> SignedTransfer:
        earlier = [self._signed(transfer, version) for version in versions]
        sender, sequence = self._wallet.account_of(transfer.channel), transfer.sequence
        if transfer.purpose == TransferPurpose.SWEEP:
            coins = {**self._chain.profile.assets, self._chain.profile.native.code: self._chain.profile.native}
            return sweeps_of(self._chain).sign(
                coins[transfer.asset], tuple(transfer.deposits), sender=sender, sequence=sequence, replacing=earlier
            )
        return self._chain.sending.sign(earlier[-1].payouts, sender=sender, sequence=sequence, replacing=earlier)

    # What may leave

    def _sign(self) -> bool:
        """Sign for everything that may leave, as many payouts in each transfer as the network allows."""
        moved = False
        batches = list(self._batches(self._allowed(self._due())))
        for place, batch in enumerate(batches):
            if place and self._has_used(ROUND_MAX):
                break
            try:
                with self._apart(partial(self._put_off_payouts, batch), payouts=[str(payout) for payout in batch]):
                    moved |= self._sign_batch(batch)
            except (FeesAboveCap, SignerUnavailable) as error:
                self._note(error)
                reason = HoldReason.FEES if isinstance(error, FeesAboveCap) else HoldReason.SIGNER
                for payout in (each for later in batches[place:] for each in later):
                    hold_payout(payout.pk, reason, until=timezone.now() + FEES_PAUSE)
                break
            except SignerRefused as error:
                self._note(error)
                moved |= self._hold_refused(batch, error)
        return moved

    def _sign_batch(self, batch: Sequence[Payout]) -> bool:
        """Sign one transfer with these payouts; returns whether it was stored."""
        keys = [payout.pk for payout in batch]
        channel = next(iter(self._free()), None)
        sequence = None if channel is None else self._sequences.next(channel)
        if channel is None or sequence is None:
            postpone_payouts(keys, until=timezone.now() + self._step)
            return False
        payouts = tuple(self._chain_payout(payout, set_aside=payout.pk in self._set_aside) for payout in batch)
        if not self.may_send:
            return False
        signed = self._chain.sending.sign(payouts, sender=self._wallet.account_of(channel), sequence=sequence)
        return services.record_signed(self._wallet, signed, payout_ids=keys) is not None

    def _hold_refused(self, batch: Sequence[Payout], error: SignerRefused) -> bool:
        """Hold those that the signer names, or all when it names none; returns whether others may go on at once."""
        named = [payout for payout in batch if str(payout.pk) in error.payouts]
        for payout in named or batch:
            hold_payout(payout.pk, HoldReason.SIGNER, until=timezone.now() + HELD_FOR)
        return 0 < len(named) < len(batch)

    def _due(self) -> list[Payout]:
        waiting = Payout.objects.filter(
            environment=self._wallet.environment,
            network=self._wallet.network,
            status__in=[PayoutStatus.READY, PayoutStatus.HELD],
            next_attempt_at__lte=timezone.now(),
        )
        room = len(self._free()) * self._chain.profile.payouts_per_transfer
        return list(with_lists(waiting).order_by("id")[: max(PAYOUTS_PER_ROUND, room)])

    def _allowed(self, due: Sequence[Payout]) -> list[Payout]:
        """Payouts that no limit holds, that the hot wallet can pay, and that the network would not refuse.

        The network is queried only about as many as may leave now: hundreds may be waiting.
        """
        allowed: list[Payout] = []
        later: list[Payout] = []
        room = len(self._free()) * self._chain.profile.payouts_per_transfer
        purse = Purse(self._wallet, self._chain)
        allowance = Allowance(policy_of(self._wallet.environment))
        stopped = stops.stopped_coins(self._wallet.environment, self._wallet.network)
        checked = 0
        note_evidence(due)
        for payout in due:
            if checked and self._has_used(ROUND_MAX * 3 / 4):
                break
            reason = HoldReason.STOPPED if payout.asset in stopped else None
            reason = reason or allowance.why_held(payout) or purse.why_short(payout)
            if reason is not None:
                pause = LIQUIDITY_PAUSE if reason in FOR_COINS else HELD_FOR
                hold_payout(payout.pk, reason, until=timezone.now() + pause, evidence=payout.evidence)
                continue
            is_turn = len(allowed) < room
            checked += is_turn
            if is_turn and not (self._is_screened(payout) and self._is_payable(payout)):
                continue
            allowance.take(payout)
            purse.take(payout)
            (allowed if is_turn else later).append(payout)
        postpone_payouts([payout.pk for payout in later], until=timezone.now() + self._step)
        return allowed

    def _is_screened(self, payout: Payout) -> bool:
        """True if the network's oracle does not name its recipient. Without an answer it waits, and after a day two
        people decide."""
        if self._chain.oracle is None or payout.evidence:  # evidence that is left here was released
            return True
        is_answered, reason = payout.recipient in query_oracle(self._chain, [payout.recipient]), HoldReason.REVIEW
        evidence = evidence_of([payout.recipient]).get(payout.recipient, "")
        if is_answered and not evidence:
            return True
        if not evidence and (timezone.now() - (payout.held_since or timezone.now())) >= GIVEN_UP_AFTER:
            evidence = no_answer(self._chain)
        elif not evidence:
            reason = HoldReason.NETWORK
        hold_payout(payout.pk, reason, until=timezone.now() + HELD_FOR, evidence=evidence)
        return False

    def _why_unscreened(self, transfer: Transfer) -> HoldReason | None:
        """The reason a transfer may not be signed anew while the network's oracle gives no answer about a recipient."""
        recipients = set(transfer.payouts.filter(evidence="").values_list("recipient", flat=True))
        return None if recipients <= set(query_oracle(self._chain, recipients)) else HoldReason.NETWORK

    def _is_payable(self, payout: Payout) -> bool:
        """True if the network would accept it now. One that it refuses for good fails, one that the recipient's account
        cannot hold yet waits."""
        with self._apart(partial(self._put_off_payouts, [payout]), payout=str(payout)):
            try:
                self._chain.hot_wallet.check_recipient(self._chain_payout(payout))
                return True
            except RecipientRefused as error:
                if error.problem == "no_trustline":
                    return self._sets_aside(payout, may_be=error.may_be_set_aside)
                fail_payout(payout.pk, code=error.problem, message=str(error)[:300])
            except SendingBlocked as error:
                hold_payout(payout.pk, HoldReason(error.problem), until=timezone.now() + BLOCKED_PAUSE)
        return False

    def _sets_aside(self, payout: Payout, *, may_be: bool) -> bool:
        """True if a payout that waits for a trustline becomes a claimable balance now; else it is held."""
        has_waited = payout.set_aside_at is not None and payout.set_aside_at <= timezone.now()
        if may_be and has_waited and self._lockable.take():
            self._set_aside.add(payout.pk)
            return True
        if may_be and has_waited:
            native = self._chain.profile.native.code
            self._trouble = f"The hot wallet holds too little {native} to set aside what waits for a trustline."
        hold_for_trustline(payout.pk, may_be_set_aside=may_be)
        return False

    def _batches(self, payouts: Sequence[Payout]) -> Iterable[list[Payout]]:
        size = self._chain.profile.payouts_per_transfer
        together = sorted((payout for payout in payouts if not payout.is_alone), key=_memo_of)
        for _, shared in groupby(together, key=_memo_of):
            batch = list(shared)
            yield from (batch[start : start + size] for start in range(0, len(batch), size))
        yield from ([payout] for payout in payouts if payout.is_alone)

    def _send(self) -> bool:
        """Send what is signed and was never sent, in the order of the sequences."""
        unsent, is_any_sent = list(self._open().filter(sent_at__isnull=True)), False
        for number, transfer in enumerate(unsent):
            if (number and self._has_used(ROUND_MAX)) or not self.may_send:
                return False
            with self._apart(partial(self._put_off_transfer, transfer), transfer=str(transfer)):
                if self._is_sendable(transfer):
                    self._broadcast(transfer)
                    is_any_sent = True
        return is_any_sent

    def _is_sendable(self, transfer: Transfer) -> bool:
        """True if a transfer that was never sent may be. Bytes that are void are signed anew, for the same nonce and
        under the limits of now; where transfers expire, an expired one is followed to its end instead."""
        versions = list(transfer.envelopes.all())
        if not services.is_void(versions[-1]):
            return True
        if self._chain.profile.transfers_expire or (transfer.next_step_at or self._began_at) > timezone.now():
            return False
        if self._is_replaced:
            problem = (
                "Signed by a hot wallet of before, never sent, and void: only the key of that wallet signs it anew."
            )
            services.postpone_transfer(transfer, until=timezone.now() + HELD_FOR, error=problem)
            return False
        reason = self._why_unscreened(transfer) or why_not_again(policy_of(self._wallet.environment), transfer)
        try:
            if reason is None and services.record_replacement(transfer, self._sign_again(transfer, versions)):
                return True
        except (FeesAboveCap, SignerRefused, SignerUnavailable) as error:
            self._note(error)
            services.postpone_transfer(transfer, until=timezone.now() + FEES_PAUSE, error=str(error))
            return False
        problem = f"Signed and never sent, and void by now; not signed again: {reason.label if reason else 'stopped'}."
        services.postpone_transfer(transfer, until=timezone.now() + HELD_FOR, error=problem)
        return False

    def _broadcast(self, transfer: Transfer) -> None:
        """Send its newest version, unless that has expired, or nothing may leave at this moment."""
        newest = transfer.envelopes.last()
        assert newest is not None  # noqa: S101 - a transfer is stored with its first version
        signed, error = self._signed(transfer, newest), ""
        has_expired = newest.valid_until is not None and newest.valid_until <= database_now()
        if has_expired or not self.may_send:
            self._postpone(transfer)
            return
        try:
            self._chain.sending.broadcast(signed)
        except ChainError as refusal:  # the chain will show what became of it
            error = f"{type(refusal).__name__}: {refusal}"
        services.record_sent(transfer, next_step_at=timezone.now() + self._step, error=error)

    # Helpers

    def _has_used(self, time: timedelta) -> bool:
        """True if the round has lasted so long already."""
        return self._clock() - self._began_at >= time

    @contextmanager
    def _apart(self, put_off: Callable[[Exception], None], **what: object) -> Iterator[None]:
        """Contain a failure of one transfer or payout: it is put off, and the others go on.

        ChainUnavailable passes once too many were unanswered, FeesAboveCap and the errors of a signer always.
        """
        try:
            yield
        except (FeesAboveCap, SignerRefused, SignerUnavailable):
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
        problem = f"{type(error).__name__}: {error}"
        services.postpone_transfer(transfer, until=timezone.now() + TROUBLE_PAUSE, error=problem)

    def _put_off_payouts(self, payouts: Sequence[Payout], error: Exception) -> None:
        keys, until = [payout.pk for payout in payouts], timezone.now() + TROUBLE_PAUSE
        if isinstance(error, ChainUnavailable):
            hold_payouts(keys, HoldReason.NETWORK, until=until)
        else:
            postpone_payouts(keys, until=until)

    def _note(self, error: FeesAboveCap | SignerRefused | SignerUnavailable) -> None:
        """Show the error on the wallet until a round ends without one."""
        self._trouble = str(error)[:1000]
        if not isinstance(error, FeesAboveCap):
            is_refused = isinstance(error, SignerRefused)
            services.note_not_signed(self._wallet, reason=str(error), is_refused=is_refused)

    def _postpone(self, transfer: Transfer) -> None:
        services.postpone_transfer(transfer, until=timezone.now() + self._step)

    def _wait(self, reason: HoldReason) -> None:
        """Hold what is due until the next step, because nothing can be done now."""
        later = timezone.now() + max(self._step, STEP_MIN)
        keys = [] if self._is_replaced else [payout.pk for payout in self._due()]
        hold_payouts(keys, reason, until=later)
        for transfer in self._open().filter(next_step_at__lte=timezone.now()):
            services.postpone_transfer(transfer, until=later)

    def _chain_payout(self, payout: Payout, *, set_aside: bool = False) -> PayoutInstruction:
        asset = registry.asset(payout.environment, payout.network, payout.asset)
        return PayoutInstruction(
            asset,
            int(payout.amount),
            payout.recipient,
            payout.memo or None,
            memo_type=payout.memo_type,
            set_aside=set_aside,
            payout_id=str(payout.pk),
            intent_mac=payout.intent_mac,
        )

    def _signed(self, transfer: Transfer, version: Envelope) -> SignedTransfer:
        lines = transfer.lines.select_related("payout").order_by("place")
        return SignedTransfer(
            raw=bytes(version.raw),
            transaction_hash=version.transaction_hash,
            sender=self._wallet.account_of(transfer.channel),
            sequence=transfer.sequence,
            valid_until=version.valid_until,
            payouts=tuple(self._chain_payout(line.payout, set_aside=bool(line.claimable_balance)) for line in lines),
            fee_limit_units=int(version.fee_limit_units),
        )


def _memo_of(payout: Payout) -> tuple[str, str]:
    """The part that all payouts of one transfer have in common."""
    return payout.memo, payout.memo_type


def _believed(statuses: Sequence[TransactionStatus]) -> list[str]:
    """Everybody who was believed about one of these."""
    return list(dict.fromkeys(name for status in statuses for name in status.said_by))
