"""What leaves the hot wallet: signing it, sending it, and reporting its outcome. Only processes that send load this.

A Horizon that lags answers 404 and tx_bad_seq for a transaction that is in the ledger. That a transaction took no
effect is therefore only reported as of a ledger that closed after it could have, by Horizons that have read that
ledger.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils import timezone
from stellar_sdk import Operation

from payments.chains.errors import ChainUnavailable, TransferRefused
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer, TransactionStatus
from payments.chains.protocol.scans import Head
from payments.chains.stellar import fees, results
from payments.chains.stellar.claimable import balance_id
from payments.chains.stellar.fees import FeeRules, Offer
from payments.chains.stellar.horizon import lookups, records
from payments.chains.stellar.horizon.client import Horizon, NotKnown, Submission
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.records import TransactionRecord
from payments.chains.stellar.keys import envelopes
from payments.chains.stellar.keys.wallet_keys import Signer

VALIDITY = timedelta(minutes=5)
"""How long a signed transfer stays good."""

LATER = timedelta(minutes=1)
"""How long after that a ledger must have closed before it counts as expired: servers behind one address differ."""

CLOCKS_DIFFER = timedelta(hours=1)
"""By how much a clock of ours may be ahead of the network's where a history is queried for what was signed then."""

MOST_PAGES = 50
"""Of an account's transactions, newest first, that are read to find who used a sequence."""


@dataclass(frozen=True, slots=True)
class _InLedger:
    found: TransactionRecord
    block_hash: str


@dataclass(frozen=True, slots=True)
class _Used:
    """Another transaction used the sequence."""

    by: TransactionRecord
    block_hash: str


@dataclass(frozen=True, slots=True)
class _Absent:
    """In no ledger up to the head. `for_good` where it can be in none that comes."""

    for_good: bool


class Sending:
    """The hot wallet, and the accounts that lend their sequences."""

    def __init__(
        self,
        profile: NetworkProfile,
        horizons: Horizons,
        *,
        wallet: str,
        keys: Callable[[], Signer],
        rules: FeeRules,
        clock: Callable[[], datetime] = timezone.now,
    ) -> None:
        self._profile, self._network = profile, profile.network
        self._passphrase: str = profile.metadata["network_passphrase"]
        self._assets = {asset.contract for asset in profile.assets.values()}
        self._horizons = horizons
        self._wallet = wallet
        self._keys = keys
        self._rules = rules
        self._clock = clock

    def sign(
        self,
        payouts: tuple[PayoutInstruction, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        self._check(payouts)
        keys = self._keys()
        if keys.address != self._wallet:
            raise ValueError(f"payouts on {self._network} leave from {self._wallet} alone")
        price = fees.price(self._horizons)
        if replacing:
            return self._bumped(payouts, tuple(replacing), keys, price, sender=sender, sequence=sequence)
        valid_until = self._until()
        signed = keys.sign_payouts(
            payouts,
            passphrase=self._passphrase,
            sender=sender,
            sequence=sequence,
            fee_per_operation=self._rules.offer(price=price),
            valid_until=valid_until,
        )
        return _transfer(signed, payouts, sender, sequence, valid_until)

    def _bumped(
        self,
        payouts: tuple[PayoutInstruction, ...],
        replacing: tuple[SignedTransfer, ...],
        keys: Signer,
        price: int,
        *,
        sender: str,
        sequence: int,
    ) -> SignedTransfer:
        """The same envelope with a higher fee: what it pays, to whom and until when stays as it was signed."""
        earlier = [envelopes.read(each.raw, passphrase=self._passphrase) for each in replacing]
        paid = {tuple(_what(each.account, each.contract, each) for each in read.payments) for read in earlier}
        wanted = tuple(_what(each.recipient, each.asset.contract, each) for each in payouts)
        places = {(read.source, read.sequence, read.inner_hash) for read in earlier}
        if paid != {wanted} or len(places) != 1 or {place[:2] for place in places} != {(sender, sequence)}:
            raise ValueError(f"what replaces a transfer on {self._network} pays the same")
        offered = [Offer(read.fee, read.operations) for read in earlier]
        fee = self._rules.offer(price=price, replacing=offered)
        signed = keys.raise_fee(
            replacing[0].raw,
            payouts,
            passphrase=self._passphrase,
            sender=sender,
            sequence=sequence,
            fee_per_operation=fee,
        )
        return _transfer(signed, payouts, sender, sequence, earlier[0].valid_until)

    def sign_operations(self, operations: Sequence[Operation], *, sequence: int) -> SignedTransfer:
        """Operations of the hot wallet itself, which pay nobody: what prepares it."""
        price, valid_until = fees.price(self._horizons), self._until()
        signed = self._keys().sign_operations(
            operations,
            passphrase=self._passphrase,
            sequence=sequence,
            fee_per_operation=self._rules.offer(price=price),
            valid_until=valid_until,
        )
        return _transfer(signed, (), self._wallet, sequence, valid_until)

    def _until(self) -> datetime:
        return (self._clock() + VALIDITY).replace(microsecond=0)

    def _check(self, payouts: tuple[PayoutInstruction, ...]) -> None:
        most = self._profile.payouts_per_transfer
        if not 1 <= len(payouts) <= most:
            raise ValueError(f"a transfer on {self._network} carries 1 to {most} payouts")
        if len({(payout.memo, payout.memo_type) for payout in payouts}) > 1:
            raise ValueError("payouts with different memos cannot share a transfer")
        if any(payout.asset.contract not in self._assets for payout in payouts):
            raise ValueError("only accepted coins are paid out")
        if any(payout.set_aside and (payout.memo or not payout.recipient.startswith("G")) for payout in payouts):
            raise ValueError("only an account of one person's own can claim what is set aside")

    def broadcast(self, transfer: SignedTransfer) -> None:
        """Submit the envelope to every Horizon. Their answers prove nothing; sending it again costs nothing."""
        xdr = base64.b64encode(transfer.raw).decode()
        responses = self._horizons.submit(lambda horizon: horizon.submit(xdr))
        if any(each.state in ("pending", "duplicate") for each in responses):
            return
        # In a ledger already, the network calls its sequence used.
        known = self._hashes(transfer)
        if self._horizons.anyone(lambda horizon: _known_by(horizon, known)) is None:
            raise TransferRefused(_refusal(responses[0]))

    def status(self, transfer: SignedTransfer) -> TransactionStatus:
        head = self._horizons.head()
        believed = self._horizons.believe(
            lambda horizon: self._became(horizon, transfer, head),
            subject=f"What became of {transfer.transaction_hash}",
            up_to=head.height,
        )
        return replace(self._status(transfer, believed.answer, head), said_by=believed.by)

    def _status(self, transfer: SignedTransfer, became: _InLedger | _Used | _Absent, head: Head) -> TransactionStatus:
        if isinstance(became, _InLedger):
            return self._in_ledger(transfer, became.found, became.block_hash, head)
        if isinstance(became, _Used):
            used = became.by
            return TransactionStatus(
                state="replaced",
                height=used.ledger,
                block_hash=became.block_hash,
                confirmations=head.height - used.ledger + 1,
                final=True,
            )
        if became.for_good:
            return TransactionStatus("expired", final=True)
        return TransactionStatus("unknown")  # no Horizon reports what waits for a ledger: sending it again is free

    def _in_ledger(
        self, transfer: SignedTransfer, found: TransactionRecord, block_hash: str, head: Head
    ) -> TransactionStatus:
        codes = () if found.successful else results.operation_codes(found.result_xdr)
        return TransactionStatus(
            state="included" if found.successful else "failed",
            included_as="" if found.hash == transfer.transaction_hash else found.hash,
            height=found.ledger,
            block_hash=block_hash,
            confirmations=head.height - found.ledger + 1,
            final=True,
            # Anybody may pay for what we signed, by a fee bump of their own.
            fee_units=found.fee_charged if found.fee_account == self._wallet else 0,
            error=None if found.successful else _failure(codes),
            refused=results.refused(codes, [payout.set_aside for payout in transfer.payouts]),
        )

    def _became(self, horizon: Horizon, transfer: SignedTransfer, head: Head) -> _InLedger | _Used | _Absent:
        """The outcome by one Horizon that has read the ledgers up to the head: an absence is one up to that ledger."""
        found = _known_by(horizon, self._hashes(transfer))
        if found is not None and found.ledger <= head.height:
            return _InLedger(found, _ledger_hash(horizon, found.ledger))
        if found is not None:  # in a ledger that is not the head yet
            return _Absent(for_good=False)
        if self._is_used(horizon, transfer):
            other = _user_of(horizon, transfer, head)
            if other is not None:
                return _Used(other, _ledger_hash(horizon, other.ledger))
        if transfer.valid_until is None or head.closed_at <= transfer.valid_until + LATER:
            return _Absent(for_good=False)
        return _Absent(for_good=_has_all_since(horizon, transfer.valid_until - VALIDITY - CLOCKS_DIFFER))

    def _is_used(self, horizon: Horizon, transfer: SignedTransfer) -> bool:
        try:
            account = horizon.query(records.account, f"/accounts/{transfer.sender}")
        except NotKnown:
            return False
        return account.sequence >= transfer.sequence

    def _hashes(self, transfer: SignedTransfer) -> tuple[str, ...]:
        """A fee bump and what is in it are one transfer: either found proves it.

        Of one that another database signed only the hash in the ledger is known.
        """
        if not transfer.raw:
            return (transfer.transaction_hash,)
        envelope = envelopes.read(transfer.raw, passphrase=self._passphrase)
        return tuple(dict.fromkeys((envelope.transaction_hash, envelope.inner_hash)))


def _transfer(
    signed: envelopes.Signed,
    payouts: tuple[PayoutInstruction, ...],
    sender: str,
    sequence: int,
    valid_until: datetime | None,
) -> SignedTransfer:
    return SignedTransfer(
        raw=signed.raw,
        transaction_hash=signed.transaction_hash,
        sender=sender,
        sequence=sequence,
        valid_until=valid_until,
        payouts=payouts,
        fee_limit_units=signed.fee,
        claimable_balances={
            place: balance_id(sender, sequence, place) for place, payout in enumerate(payouts) if payout.set_aside
        },
    )


def _what(account: str, contract: str, paid: envelopes.Sent | PayoutInstruction) -> tuple[str, str, int, bool]:
    """What must be the same in every version of a transfer."""
    return account, contract, paid.amount, paid.set_aside


def _known_by(horizon: Horizon, hashes: Collection[str]) -> TransactionRecord | None:
    return next((found for each in hashes if (found := lookups.transaction(horizon, each)) is not None), None)


def _ledger_hash(horizon: Horizon, height: int) -> str:
    return horizon.query(records.ledger, f"/ledgers/{height}").hash


def _has_all_since(horizon: Horizon, instant: datetime) -> bool:
    """Whether a Horizon still has every ledger since then: an absence from a shorter history proves nothing."""
    elder = horizon.query(records.root, "/").elder_ledger
    return elder <= 1 or horizon.query(records.ledger, f"/ledgers/{elder}").closed_at <= instant


def _user_of(horizon: Horizon, transfer: SignedTransfer, head: Head) -> TransactionRecord | None:
    """The transaction of this account that used the sequence, in a ledger up to the head; None when it is not found."""
    newer: int | str = ""
    for _ in range(MOST_PAGES):
        page = horizon.query(
            records.page(records.transaction),
            f"/accounts/{transfer.sender}/transactions",
            order="desc",
            limit=records.PAGE,
            include_failed="true",
            **({"cursor": newer} if newer else {}),
        )
        own = [each for each in page if each.source_account == transfer.sender and each.ledger <= head.height]
        for each in own:
            if each.sequence == transfer.sequence:
                return each
        if len(page) < records.PAGE or any(each.sequence < transfer.sequence for each in own):
            return None
        newer = page[-1].paging_token
    raise ChainUnavailable(f"{horizon.name} has too many transactions since sequence {transfer.sequence} was used")


def _refusal(response: Submission) -> str:
    if response.state == "try_again":
        return "TRY_AGAIN_LATER: another transaction of this account waits, or fees are higher: underpriced."
    return " ".join(part for part in (response.result_code, response.detail) if part)


def _failure(codes: tuple[str, ...]) -> str:
    faults = [f"{code} ({place + 1})" for place, code in enumerate(codes) if code != "op_success"]
    return f"The network refused: {', '.join(faults[:10])}." if faults else "The network refused the transaction."
