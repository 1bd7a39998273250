"""What a signer does with a request: stop, intents, what it would sign, limits; then the signature and the record.

Nothing here reads the database: whoever can write there must not be able to have money signed away.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import structlog

from payments.chains.signer.messages import Intent, Reply, SigningRequest, is_requested
from payments.chains.signer.policy import Place, PlacePolicy, Policy
from payments.chains.signer.record import Record

logger = structlog.get_logger(__name__)

SEQUENCES_PER_PAYOUT = 5
"""A payout whose transfer has failed or expired is signed for again. The signer cannot see which have: more than so
many sequences take a person."""

SIGNED_AGAIN_FOR = timedelta(days=7)
"""How long after its first signature another sequence is signed for with a payout: much later nobody is still trying
to pay it, and its row was set back."""

SIGNED_WITHIN = timedelta(days=90)
"""How long after what it pays was made a payout is signed for the first time."""


class Refused(Exception):
    """It is not signed. `payouts` are the ids of those that are at fault, if any are."""

    def __init__(self, code: str, reason: str, payouts: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.code, self.reason, self.payouts = code, reason, payouts


@dataclass(frozen=True, slots=True)
class Signed:
    raw: bytes
    transaction_hash: str


class WalletSigner(Protocol):
    """The hot wallet of one network: what it would sign, and signing it."""

    def most_fee(self, request: SigningRequest) -> int:
        """The most that the request can cost, in base units of the native coin. Refused, with the code `differs`, where
        its fields are not exactly those of its intents or its sweep, or what it would prepare by itself."""
        ...

    def sign(self, request: SigningRequest) -> Signed: ...


class Service:
    """One signer. Requests are dealt with one after the other."""

    def __init__(
        self, wallets: Mapping[Place, WalletSigner], policy: Policy, record: Record, *, intent_key: str, stop: Path
    ) -> None:
        self._wallets, self._policy, self._record = wallets, policy, record
        self._intent_key, self._stop = intent_key, stop
        self._lock = threading.Lock()

    def reply_to(self, request: SigningRequest) -> Reply:
        with self._lock:
            try:
                return Reply(raw=self._signed(request))
            except Refused as refused:
                logger.warning("not signed", code=refused.code, reason=refused.reason, network=request.network)
                self._record.refused(request, code=refused.code, reason=refused.reason)
                return Reply(refused=refused.code, reason=refused.reason, payouts=refused.payouts)

    def _signed(self, request: SigningRequest) -> bytes:
        if self._stop.exists():
            raise Refused("stopped", f"The signer was stopped. {_text_of(self._stop)}".rstrip())
        place = request.environment, request.network
        wallet, policy = self._wallets.get(place), self._policy.places.get(place)
        if wallet is None or policy is None:
            raise Refused("unknown_network", f"The signer has no wallet or no limits of {' '.join(place)}.")
        if sum(map(bool, (request.intents, request.sweeps, request.prepares))) != 1:
            raise Refused("differs", "The signer signs payouts, or a sweep, or what prepares a wallet or a factory.")
        self._check_intents(request)
        fee = wallet.most_fee(request)
        self._check_limits(request, policy)
        self._check_fees(request, policy, fee)
        signed = wallet.sign(request)
        self._record.signed(request, fee=fee, transaction_hash=signed.transaction_hash)
        return signed.raw

    def _check_intents(self, request: SigningRequest) -> None:
        """Require that a process with the key has requested each payout exactly as it is, and that none is repeated."""
        place = {"environment": request.environment, "network": request.network}
        unknown = [each for each in request.intents if not is_requested(self._intent_key, each, **place)]
        if unknown:
            reason = "Nobody who may has asked for this payout as it is now: its amount, recipient or memo was changed."
            raise Refused("not_asked_for", reason, _ids(unknown))
        if len({each.payout_id for each in request.intents}) < len(request.intents):
            raise Refused("differs", "The same payout is in it twice.")
        slot = request.environment, request.network, request.account, request.sequence
        worn = [
            each
            for each in request.intents
            if len(self._record.sequences_of(each.payout_id) | {slot}) > SEQUENCES_PER_PAYOUT
        ]
        if worn:
            reason = f"It was signed for with {SEQUENCES_PER_PAYOUT} sequences already."
            raise Refused("too_often", reason, _ids(worn))
        old = [each for each in request.intents if self._record.is_old(each.payout_id, slot, SIGNED_AGAIN_FOR)]
        if old:
            reason = f"It was signed for with another sequence more than {SIGNED_AGAIN_FOR.days} days ago."
            raise Refused("too_late", reason, _ids(old))
        stale = [each for each in request.intents if self._record.is_stale(each, SIGNED_WITHIN)]
        if stale:
            reason = f"What it pays is more than {SIGNED_WITHIN.days} days old, and it was never signed for."
            raise Refused("too_old", reason, _ids(stale))

    def _check_limits(self, request: SigningRequest, policy: PlacePolicy) -> None:
        """No payout exceeds the limit of a transfer, and all signed in 24 hours not that of a day."""
        slot = request.environment, request.network, request.account, request.sequence
        above: list[Intent] = []
        spent: dict[str, int] = {}
        for each in request.intents:
            limits = policy.coins.get(each.coin)
            if limits is None or each.amount > limits.transfer:
                above.append(each)
                continue
            before = spent.get(each.coin)
            if before is None:
                before = self._record.paid_in_a_day(request.environment, request.network, each.coin)
            is_new = not self._record.is_counted(each.payout_id, slot)
            if is_new and before + each.amount > limits.day:
                above.append(each)
                continue
            spent[each.coin] = before + each.amount * is_new
        if above:
            raise Refused("over_limit", "It is above what the signer's policy allows.", _ids(above))

    def _check_fees(self, request: SigningRequest, policy: PlacePolicy, fee: int) -> None:
        spent = self._record.fees_in_a_day(request.environment, request.network)
        if spent + self._record.more_fees(request, fee) > policy.fees_per_day:
            raise Refused("fees", "Fees of 24 hours could exceed fees_per_day of the signer's policy.")
        if self._record.signatures_in_a_minute() >= self._policy.signatures_per_minute:
            raise Refused("rate", "More signatures are asked for than the signer's policy allows in a minute.")


def _ids(intents: list[Intent]) -> tuple[str, ...]:
    return tuple(each.payout_id for each in intents)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()[:300]
    except OSError:
        return ""
