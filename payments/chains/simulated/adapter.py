"""The simulated networks behind the chain protocol. What happens on them, payments.chains.simulated.control says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import cast

from django.utils import timezone

from config.money import Asset
from payments.chains import recipients
from payments.chains.base import (
    Costs,
    DepositAddress,
    Payout,
    ProviderState,
    SignedTransfer,
    SweptFrom,
    TransferState,
    TransferStatus,
    Unsweepable,
)
from payments.chains.errors import ChainUnavailable, RecipientProblem, RecipientRefused, SendingBlocked
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import links as evm_links
from payments.chains.profiles import NetworkProfile
from payments.chains.simulated import actions, mempool, signing
from payments.chains.simulated.blocks import Timetable, finalized_height, next_sequences
from payments.chains.simulated.clock import locked
from payments.chains.simulated.models import (
    SimulatedAccount,
    SimulatedNetwork,
    SimulatedTransaction,
    TransactionStatus,
)
from payments.chains.simulated.networks import (
    factory,
    forwarder,
    hot_wallet,
    own_accounts,
    payout_work,
    price,
    sweep_work,
)
from payments.chains.simulated.reading import SCAN_TRANSACTIONS, Reading
from payments.chains.stellar import addresses as stellar_addresses
from payments.chains.stellar import links as stellar_links

VALIDITY = timedelta(minutes=5)
"""How long a signed transfer stays good where transfers can expire."""

_REFUSALS: Mapping[RecipientProblem, str] = {
    "destination_invalid": "There is no account at this address.",
    "no_trustline": "This account does not hold {code} yet: it must add a trustline for it first.",
    "memo_required": "This account belongs to many people: it needs a memo that says whom the money is for.",
    "destination_refused": "The issuer of {code} forbids this account to receive it.",
}


class SimulatedChain(Reading):
    """One simulated network: its addresses and links, and sending on it."""

    def __init__(self, profile: NetworkProfile, *, scan_transactions: int = SCAN_TRANSACTIONS) -> None:
        super().__init__(profile, scan_transactions=scan_transactions)
        self._is_evm = profile.family == "evm"
        self._own = own_accounts(profile.network)

    # Addresses and links

    def parse_address(self, text: str) -> str:
        return evm_addresses.parse(text) if self._is_evm else stellar_addresses.parse(text)

    def deposit_address(self, sequence: int) -> DepositAddress:
        if self._is_evm:
            return DepositAddress(
                evm_addresses.clone_address(
                    factory=factory(self._network),
                    implementation=forwarder(self._network),
                    salt=sequence,
                )
            )
        account = hot_wallet(self._network)
        memo = stellar_addresses.memo_of(sequence)
        return DepositAddress(account, memo=str(memo), muxed=stellar_addresses.mux(account, memo))

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        if self.profile.chain_id is not None:
            return evm_links.token_transfer(
                contract=asset.contract, chain_id=self.profile.chain_id, recipient=to.address, amount=amount
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
        return to.address if self._is_evm else payment_uri

    # Money out

    def payout_address(self) -> str:
        return hot_wallet(self._network)

    def own_accounts(self) -> frozenset[str]:
        return self._own

    def next_sequence(self, sender: str) -> int:
        self._answering()
        return next_sequences(self._network, [sender], pending=False)[sender]

    def check_recipient(self, payout: Payout) -> None:
        account = recipients.payable_account(self.profile, payout.recipient, own=self._own)
        self.check_sending(payout.asset)
        refusing = SimulatedAccount.objects.filter(network=self._network, address=account).exclude(refuses="").first()
        if refusing is None:
            return
        has_memo = bool(payout.memo) or account != payout.recipient
        if refusing.refuses == "memo_required" and has_memo:
            return
        problem = cast(RecipientProblem, refusing.refuses)
        raise RecipientRefused(problem, _REFUSALS[problem].format(code=payout.asset.code))

    def check_sending(self, asset: Asset) -> None:
        self._answering()
        concerned = SimulatedAccount.objects.filter(network=self._network, refuses="destination_refused")
        refusing = set(
            concerned.filter(address__in=[asset.contract, self.payout_address()]).values_list("address", flat=True)
        )
        if asset.contract in refusing:
            raise SendingBlocked("coin_paused", f"The issuer of {asset.code} lets nobody send it at the moment.")
        if refusing:
            raise SendingBlocked("hot_wallet_blocked", f"The issuer of {asset.code} forbids the hot wallet to send it.")

    def is_contract(self, address: str) -> bool:
        self._answering()
        known = self._own | set(self._assets) if self._is_evm else frozenset()
        if address in known - {self.payout_address()}:
            return True
        return SimulatedAccount.objects.filter(network=self._network, address=address, is_contract=True).exists()

    def sign(
        self,
        payouts: tuple[Payout, ...],
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
        valid_until = None if self._is_evm else timezone.now() + VALIDITY
        content = signing.Content(
            network=self._network,
            sender=sender,
            sequence=sequence,
            valid_until=None if valid_until is None else valid_until.isoformat(),
            fee_offer=self._offer(replacing),
            work=payout_work(self._network, len(payouts)),
            movements=[self._movement(payout) for payout in payouts],
        )
        return self._signed(content, payouts)

    def sign_sweep(
        self,
        asset: Asset,
        deposits: tuple[int, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        self._check_sweep(asset, deposits)
        content = signing.Content(
            network=self._network,
            sender=sender,
            sequence=sequence,
            valid_until=None,
            fee_offer=self._offer(replacing),
            work=sweep_work(len(deposits)),
            movements=[],
            swept_contract=asset.contract,
            swept_addresses=tuple(self.deposit_address(number).address for number in deposits),
        )
        return self._signed(content, ())

    def swept_by(
        self, transaction_hash: str, asset: Asset, deposits: Sequence[int], *, treasury: str
    ) -> tuple[SweptFrom, ...]:
        found = self.find_transaction(transaction_hash)
        if found is None or found.state == "pending":
            return ()
        here = [each for each in found.transfers if (each.contract, each.recipient) == (asset.contract, treasury)]
        moved = {each.sender: each.amount for each in here}
        addresses = [(number, self.deposit_address(number).address) for number in deposits]
        return tuple(SweptFrom(number, moved.get(address, 0), moved.get(address, 0)) for number, address in addresses)

    def why_unsweepable(self, asset: Asset, deposits: Sequence[int]) -> dict[int, Unsweepable]:
        self._answering()
        addresses = {self.deposit_address(number).address: number for number in deposits}
        wallet = self.payout_address()
        known = SimulatedAccount.objects.filter(network=self._network, refuses="destination_refused")
        concerned = [asset.contract, wallet, *addresses]
        refused = set(known.filter(address__in=concerned).values_list("address", flat=True))
        if asset.contract in refused:
            return dict.fromkeys(deposits, Unsweepable("paused"))
        if wallet in refused:
            return dict.fromkeys(deposits, Unsweepable("wallet_refused"))
        found = {addresses[address]: Unsweepable("frozen") for address in refused}
        for address, number in addresses.items():
            if not self.balance(address, asset):
                found[number] = Unsweepable("empty")
        return found

    def require_set_up(self, *, signing: bool = False) -> None:
        """There is nothing to set up here."""

    def can_replace(self) -> bool:
        return self._is_evm

    def broadcast(self, transfer: SignedTransfer) -> None:
        self._answering()
        with locked(self._network) as row:
            if _use_up(row, "broadcasts_to_lose"):
                return
            mempool.accept(row, transfer.raw)
            timed_out = _use_up(row, "broadcasts_to_time_out")
        if timed_out:
            raise ChainUnavailable(f"{self._network} did not answer in time.")

    def transfer_status(self, transfer: SignedTransfer) -> TransferStatus:
        self._answering()
        with locked(self._network) as row:
            sent = SimulatedTransaction.objects.filter(network=self._network, sender=transfer.sender)
            own = sent.filter(transaction_hash=transfer.transaction_hash).first()
            if own is not None and own.status == TransactionStatus.PENDING:
                return TransferStatus("pending")
            if own is not None and own.height is not None:
                state: TransferState = "included" if own.status == TransactionStatus.INCLUDED else "failed"
                return self._in_block(row, own, state, own.fee_units)
            other = sent.filter(sequence=transfer.sequence, height__isnull=False).first()
            if other is not None:
                return self._in_block(row, other, "replaced")
            final = finalized_height(row)
            expired = transfer.valid_until is not None and (
                transfer.valid_until < Timetable(row, final, final).closed_at(final)
            )
            return TransferStatus("expired", final=True) if expired else TransferStatus("unknown")

    def costs(self) -> Costs:
        unit = price(self._network, self._answering().fee_level)
        payout = payout_work(self._network, 1) * unit
        if not self.profile.sweeps_per_transfer:
            return Costs(payout)
        empty, one = sweep_work(0) * unit, sweep_work(1) * unit
        return Costs(payout, sweep=empty, first_time=one - empty, again=one - empty)

    # Looking after it

    def provider_states(self) -> tuple[ProviderState, ...]:
        return ()

    def _check_sweep(self, asset: Asset, deposits: tuple[int, ...]) -> None:
        most = self.profile.sweeps_per_transfer
        if not most:
            raise ValueError(f"deposits on {self._network} arrive where payouts leave from")
        if not 1 <= len(deposits) <= most:
            raise ValueError(f"a sweep on {self._network} empties 1 to {most} deposit addresses")
        if asset != self.profile.native and asset.contract not in self._assets:
            raise ValueError("only accepted coins and the network's own are swept")

    def _movement(self, payout: Payout) -> actions.Movement:
        return actions.movement(
            self._network,
            contract=payout.asset.contract,
            amount=payout.amount,
            recipient=payout.recipient,
            memo=payout.memo,
        )

    def _offer(self, replacing: Collection[SignedTransfer]) -> int:
        """What to offer just now. It only looks: a transfer is often signed inside a database transaction."""
        if replacing and not self.can_replace():
            raise ValueError(f"a transfer on {self._network} cannot be replaced")
        row = SimulatedNetwork.objects.filter(network=self._network).first() or SimulatedNetwork()
        self._refuse_in_outage(row)
        return signing.offer(self._network, row.fee_level, replacing)

    def _signed(self, content: signing.Content, payouts: tuple[Payout, ...]) -> SignedTransfer:
        raw = content.to_bytes()
        return SignedTransfer(
            raw=raw,
            transaction_hash=signing.hash_of(self._network, raw),
            sender=content.sender,
            sequence=content.sequence,
            valid_until=content.expires_at,
            payouts=payouts,
            fee_limit_units=content.fee_offer * content.work,
        )

    def _in_block(
        self, row: SimulatedNetwork, entry: SimulatedTransaction, state: TransferState, fee: int = 0
    ) -> TransferStatus:
        height = entry.block_height
        return TransferStatus(
            state=state,
            height=height,
            block_hash=Timetable(row, height, height).block_hash(height),
            confirmations=row.height - height + 1,
            final=height <= finalized_height(row),
            fee_units=fee,
            error=entry.error or None,
        )


def _use_up(row: SimulatedNetwork, counter: str) -> bool:
    """Whether a fault was left to happen; then there is one less."""
    left: int = getattr(row, counter)
    if left:
        setattr(row, counter, left - 1)
        row.save(update_fields=[counter])
    return left > 0
