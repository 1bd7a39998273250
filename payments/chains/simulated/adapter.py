"""The simulated networks behind the chain protocol. payments.chains.simulated.control decides what happens on them."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from django.db.models import Q

from config.money import Asset
from payments.chains import recipients
from payments.chains.errors import RecipientProblem, SendingBlocked
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import links as evm_links
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.protocol.operations import Preparations
from payments.chains.protocol.payouts import (
    Costs,
    PayoutInstruction,
)
from payments.chains.protocol.transfers import Identity, SentTransaction
from payments.chains.simulated.blocks import next_sequences
from payments.chains.simulated.clock import answering
from payments.chains.simulated.models import (
    SimulatedAccount,
    SimulatedStatus,
    SimulatedTransaction,
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
from payments.chains.simulated.sending import Sending
from payments.chains.simulated.sweeps import Sweeps
from payments.chains.stellar import addresses as stellar_addresses
from payments.chains.stellar.payer_wallets import links as stellar_links


class SimulatedChain:
    """One simulated network: its addresses and links, and sending on it."""

    roles = derivations = operations = reserves = signers = wallet_payments = oracle = providers = None

    def __init__(self, profile: NetworkProfile, *, scan_transactions: int = SCAN_TRANSACTIONS) -> None:
        self.profile = profile
        self._network, self._assets = profile.network, contracts(profile.network)
        self.reading = Reading(profile, scan_transactions=scan_transactions)
        self._is_evm = profile.family == "evm"
        self._own = own_accounts(profile.network)
        self.sending = Sending(profile, wallet=self.payout_address())
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

    def costs(self) -> Costs:
        unit = price(self._network, answering(self._network).fee_level)
        payout = payout_work(self._network, 1) * unit
        if self.profile.shares_account:
            return Costs(payout)
        empty, one = sweep_work(0) * unit, sweep_work(1) * unit
        return Costs(payout, sweep=empty, first_time=one - empty, again=one - empty)
