"""The simulated networks behind the chain protocol. payments.chains.simulated.control decides what happens on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import cast

from django.db.models import Q

from config.database.database_time import database_now
from config.money import Asset
from payments.chains import recipients
from payments.chains.errors import ChainUnavailable, RecipientProblem, SendingBlocked
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import links as evm_links
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.protocol.operations import Preparations
from payments.chains.protocol.payouts import (
    Costs,
    PayoutInstruction,
    SignedTransfer,
    TransactionState,
    TransactionStatus,
)
from payments.chains.protocol.transfers import Identity, SentTransaction
from payments.chains.simulated import actions, mempool, signing
from payments.chains.simulated.blocks import Timetable, finalized_height, next_sequences
from payments.chains.simulated.clock import answering, locked, refuse_in_outage
from payments.chains.simulated.mempool import offer_now
from payments.chains.simulated.models import (
    SimulatedAccount,
    SimulatedNetwork,
    SimulatedStatus,
    SimulatedTransaction,
    versions_of,
)
from payments.chains.simulated.networks import (
    channels,
    cold_wallet,
    contracts,
    deposit_address,
    hot_wallet,
    own_accounts,
    payout_work,
    price,
    sweep_work,
    treasury,
)
from payments.chains.simulated.reading import SCAN_TRANSACTIONS, Reading
from payments.chains.simulated.sweeps import Sweeps
from payments.chains.stellar import addresses as stellar_addresses
from payments.chains.stellar.payer_wallets import links as stellar_links

VALIDITY = timedelta(minutes=5)
"""How long a signed transfer stays good where transfers can expire."""


class SimulatedChain:
    """One simulated network: its addresses and links, and sending on it."""

    roles = derivations = operations = reserves = signers = wallet_payments = oracle = providers = None

    def __init__(self, profile: NetworkProfile, *, scan_transactions: int = SCAN_TRANSACTIONS) -> None:
        self.profile = profile
        self._network, self._assets = profile.network, contracts(profile.network)
        self.reading = Reading(profile, scan_transactions=scan_transactions)
        self._is_evm = profile.family == "evm"
        self._own = own_accounts(profile.network)
        self.sweeps = None if profile.shares_account else Sweeps(profile, self.reading)

    @property
    def preparations(self) -> Preparations | None:
        return None if self._is_evm else self

    # Addresses and links

    def parse_address(self, text: str) -> str:
        return evm_addresses.parse(text) if self._is_evm else stellar_addresses.parse(text)

    def deposit_address(self, sequence: int) -> DepositAddress:
        return deposit_address(self.profile, sequence)

    def deposit_addresses(self, sequence: int) -> tuple[DepositAddress, ...]:
        return (self.deposit_address(sequence),)

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        if self._is_evm:
            return evm_links.token_transfer(
                contract=asset.contract, chain_id=self.profile.evm_chain_id, recipient=to.address, amount=amount
            )
        code, _, issuer = asset.contract.partition(":")
        return stellar_links.pay(
            destination=to.address,
            amount=amount,
            decimals=asset.decimals,
            asset_code=code,
            asset_issuer=issuer,
            memo=to.memo,
            message=message,
            network_passphrase=self.profile.metadata["network_passphrase"],
        )

    def qr_text(self, *, to: DepositAddress, payment_uri: str) -> str:
        return payment_uri if self.profile.qr_has_amount else to.address

    # Money out

    def payout_address(self) -> str:
        return hot_wallet(self._network)

    def cold_wallet(self) -> str:
        return cold_wallet(self._network)

    def treasury(self) -> str:
        return treasury(self._network)

    def channels(self) -> tuple[str, ...]:
        return channels(self._network)

    def own_accounts(self) -> frozenset[str]:
        return self._own

    def next_sequence(self, sender: str) -> int:
        answering(self._network)
        return next_sequences(self._network, [sender], pending=False)[sender]

    def only_set_up(self, account: str, first_sequence: int, last_sequence: int) -> bool:
        answering(self._network)
        sent = SimulatedTransaction.objects.filter(
            network=self._network, sender=account, sequence__range=(first_sequence, last_sequence), height__isnull=False
        )
        return not sent.filter(Q(transfers__isnull=False) | ~Q(swept_contract="")).exists()

    def check_recipient(self, payout: PayoutInstruction) -> None:
        account = recipients.payable_account(self.profile, payout.recipient, own=self._own)
        self.check_sending(payout.asset)
        refusing = SimulatedAccount.objects.filter(network=self._network, address=account).exclude(refuses="").first()
        if refusing is None:
            return
        has_memo = bool(payout.memo) or account != payout.recipient
        if refusing.refuses == "memo_required" and has_memo:
            return
        raise recipients.refusal(cast(RecipientProblem, refusing.refuses), payout.asset.code)

    def check_sending(self, asset: Asset) -> None:
        answering(self._network)
        concerned = SimulatedAccount.objects.filter(network=self._network, refuses="destination_refused")
        refusing = set(
            concerned.filter(address__in=[asset.contract, self.payout_address()]).values_list("address", flat=True)
        )
        if asset.contract in refusing:
            raise SendingBlocked("coin_paused", f"The issuer of {asset.code} lets nobody send it at the moment.")
        if refusing:
            raise SendingBlocked("hot_wallet_blocked", f"The issuer of {asset.code} forbids the hot wallet to send it.")

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        answering(self._network)
        account, identifier = recipients.account_of(self.profile, sender)
        known = SimulatedAccount.objects.filter(network=self._network, address=account).first() or SimulatedAccount()
        if self._is_evm:
            is_contract = known.is_contract or sender in (self._own | set(self._assets)) - {self.payout_address()}
            return None if is_contract else sender
        if identifier is not None:
            return sender if known.refuses in ("", "memo_required") else None
        transfer = self.reading.moved().filter(transaction__transaction_hash=identity[0], ordinal=identity[1]).first()
        # A memo, or none, can be that of a shared account; a wallet that pays to a muxed address is somebody's own.
        is_own = transfer is not None and transfer.muxed_id and not transfer.transaction_memo
        return sender if is_own and not known.refuses else None

    def sign(
        self,
        payouts: tuple[PayoutInstruction, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        if not 1 <= len(payouts) <= self.profile.payouts_per_transfer:
            raise ValueError(f"a transfer on {self._network} carries 1 to {self.profile.payouts_per_transfer} payouts")
        if len({payout.memo for payout in payouts}) > 1:
            raise ValueError("payouts with different memos cannot share a transfer")
        if any(payout.asset.contract not in self._assets for payout in payouts):
            raise ValueError("only accepted coins are paid out")
        content = signing.Content(
            network=self._network,
            sender=sender,
            sequence=sequence,
            valid_until=(database_now() + VALIDITY).isoformat() if self.profile.transfers_expire else None,
            fee_offer=offer_now(self.profile, replacing),
            work=payout_work(self._network, len(payouts)),
            movements=[self._movement(payout) for payout in payouts],
            source="" if sender == self.payout_address() else self.payout_address(),
        )
        return signing.signed(content if self._is_evm else self._bumped(content, replacing), payouts)

    def _bumped(self, content: signing.Content, replacing: Collection[SignedTransfer]) -> signing.Content:
        """What only raises the fee of an earlier version, as on stellar: it pays the same, until the same instant."""
        if not replacing:
            return content
        earlier = next(iter(replacing))
        first = signing.read(earlier.raw)
        bumped = replace(first, fee_offer=content.fee_offer, inner=first.inner or earlier.transaction_hash)
        if (bumped.sender, bumped.sequence, list(bumped.movements)) != (
            content.sender,
            content.sequence,
            list(content.movements),
        ):
            raise ValueError(f"what replaces a transfer on {self._network} pays the same")
        return bumped

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        self.reading.reached(last_height)
        sent = SimulatedTransaction.objects.filter(
            Q(sequence__gte=first_sequence) | Q(transaction_hash__in=hashes, sequence__isnull=False),
            network=self._network,
            sender=account,
            height__range=(first_height, last_height),
        )
        return tuple(
            SentTransaction(
                transaction_hash=each.transaction_hash,
                sequence=each.sequence or 0,
                height=each.block_height,
                succeeded=each.status == SimulatedStatus.INCLUDED,
                fee_units=int(each.fee_units),
            )
            for each in sent.order_by("sequence")
        )

    def require_set_up(self, *, signing: bool = False) -> None:
        """There is nothing to set up here."""

    def broadcast(self, transfer: SignedTransfer) -> None:
        with locked(self._network) as row:
            refuse_in_outage(row)
            if _use_up(row, "broadcasts_to_lose"):
                return
            mempool.accept(row, transfer.raw)
            timed_out = _use_up(row, "broadcasts_to_time_out")
        if timed_out:
            raise ChainUnavailable(f"{self._network} did not answer in time.")

    def transfer_status(self, transfer: SignedTransfer) -> TransactionStatus:
        with locked(self._network) as row:
            refuse_in_outage(row)
            sent = SimulatedTransaction.objects.filter(network=self._network, sender=transfer.sender)
            root = signing.read(transfer.raw).inner if transfer.raw else ""
            same = sent.filter(versions_of(root or transfer.transaction_hash))
            mined = same.filter(height__isnull=False).first()
            if mined is not None:
                state: TransactionState = "included" if mined.status == SimulatedStatus.INCLUDED else "failed"
                return self._in_block(row, mined, state, mined.fee_units, queried=transfer.transaction_hash)
            if same.filter(transaction_hash=transfer.transaction_hash, status=SimulatedStatus.PENDING).exists():
                return TransactionStatus("pending")
            other = sent.filter(sequence=transfer.sequence, height__isnull=False).first()
            if other is not None:
                return self._in_block(row, other, "replaced")
            final = finalized_height(row)
            expired = transfer.valid_until is not None and (
                transfer.valid_until < Timetable(row, final, final).closed_at(final)
            )
            return TransactionStatus("expired", final=True) if expired else TransactionStatus("unknown")

    def costs(self) -> Costs:
        unit = price(self._network, answering(self._network).fee_level)
        payout = payout_work(self._network, 1) * unit
        if self.profile.shares_account:
            return Costs(payout)
        empty, one = sweep_work(0) * unit, sweep_work(1) * unit
        return Costs(payout, sweep=empty, first_time=one - empty, again=one - empty)

    def _movement(self, payout: PayoutInstruction) -> actions.Movement:
        return actions.movement(
            self._network,
            contract=payout.asset.contract,
            amount=payout.amount,
            recipient=payout.recipient,
            memo=payout.memo,
        )

    def _in_block(
        self,
        row: SimulatedNetwork,
        entry: SimulatedTransaction,
        state: TransactionState,
        fee: int = 0,
        *,
        queried: str = "",
    ) -> TransactionStatus:
        height = entry.block_height
        return TransactionStatus(
            state=state,
            height=height,
            block_hash=Timetable(row, height, height).block_hash(height),
            confirmations=row.height - height + 1,
            final=height <= finalized_height(row),
            fee_units=fee,
            error=entry.error or None,
            refused={int(place): problem for place, problem in entry.refused.items()},
            included_as=entry.transaction_hash if queried and queried != entry.transaction_hash else "",
        )


def _use_up(row: SimulatedNetwork, counter: str) -> bool:
    """Whether a fault was left to happen; then there is one less."""
    left: int = getattr(row, counter)
    if left:
        setattr(row, counter, left - 1)
        row.save(update_fields=[counter])
    return left > 0
