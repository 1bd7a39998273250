"""The simulated networks behind the chain protocol. payments.chains.simulated.control decides what happens on them."""

from __future__ import annotations

from config.money import Asset
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm import links as evm_links
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.simulated.networks import (
    channels,
    cold_wallet,
    deposit_address,
    hot_wallet,
    treasury,
)
from payments.chains.simulated.reading import SCAN_TRANSACTIONS, Reading
from payments.chains.simulated.sending import HotWallet, Sending
from payments.chains.simulated.sweeps import Sweeps
from payments.chains.stellar import addresses as stellar_addresses
from payments.chains.stellar.payer_wallets import links as stellar_links


class SimulatedChain:
    """One simulated network: its addresses and links, and sending on it."""

    roles = derivations = operations = reserves = signers = wallet_payments = oracle = providers = None

    def __init__(self, profile: NetworkProfile, *, scan_transactions: int = SCAN_TRANSACTIONS) -> None:
        self.profile = profile
        self._network = profile.network
        self.reading = Reading(profile, scan_transactions=scan_transactions)
        self._is_evm = profile.family == "evm"
        wallet = self.payout_address()
        self.sending, self.set_up = Sending(profile, wallet=wallet), _NothingToSetUp()
        self.hot_wallet = HotWallet(profile, self.reading, wallet=wallet)
        self.preparations = None if self._is_evm else self.hot_wallet
        self.sweeps = None if profile.shares_account else Sweeps(profile, self.reading)

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

    # Accounts of ours

    def payout_address(self) -> str:
        return hot_wallet(self._network)

    def cold_wallet(self) -> str:
        return cold_wallet(self._network)

    def treasury(self) -> str:
        return treasury(self._network)

    def channels(self) -> tuple[str, ...]:
        return channels(self._network)


class _NothingToSetUp:
    def require(self, *, signing: bool = False) -> None:
        """Do nothing: a simulated network has neither contracts nor a key."""
