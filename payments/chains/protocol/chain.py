"""The protocol of every adapter: evm, stellar and simulated networks behave alike behind it.

An adapter knows addresses, blocks and transfers, never payments. Every method that talks to a network
may raise ChainUnavailable (try again later); FinalityViolation means stop and call a person.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from config.money import Asset
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import AddressDerivations, DepositAddress
from payments.chains.protocol.hot_wallet import HotWallet, SetUp
from payments.chains.protocol.operations import Operations, Preparations, Reserves
from payments.chains.protocol.oracles import SanctionsOracle
from payments.chains.protocol.providers import ProviderPool
from payments.chains.protocol.reading import Reading
from payments.chains.protocol.roles import Roles
from payments.chains.protocol.sending import Sending
from payments.chains.protocol.sweeps import Sweeps
from payments.chains.protocol.wallets import BuildsPayments, KnowsSigners


@runtime_checkable
class Chain(Protocol):
    """One network in one environment."""

    profile: NetworkProfile

    @property
    def reading(self) -> Reading: ...

    @property
    def sending(self) -> Sending: ...

    @property
    def hot_wallet(self) -> HotWallet: ...

    @property
    def set_up(self) -> SetUp: ...

    # Capabilities that not every network has: None where it lacks one.

    @property
    def sweeps(self) -> Sweeps | None: ...

    @property
    def roles(self) -> Roles | None: ...

    @property
    def derivations(self) -> AddressDerivations | None: ...

    @property
    def operations(self) -> Operations | None: ...

    @property
    def reserves(self) -> Reserves | None: ...

    @property
    def preparations(self) -> Preparations | None: ...

    @property
    def signers(self) -> KnowsSigners | None: ...

    @property
    def wallet_payments(self) -> BuildsPayments | None: ...

    @property
    def oracle(self) -> SanctionsOracle | None: ...

    @property
    def providers(self) -> ProviderPool | None: ...

    # Addresses and links: pure, fast, no network.

    def parse_address(self, text: str) -> str:
        """The canonical spelling of an account someone may be paid at; InvalidAddress names the fault."""
        ...

    def deposit_address(self, sequence: int) -> DepositAddress:
        """The address of the payment with this number. The same number always gives the same address."""
        ...

    def deposit_addresses(self, sequence: int) -> tuple[DepositAddress, ...]:
        """That address, and those at which the payer may have sent money by earlier settings."""
        ...

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        """The link a wallet opens with everything filled in (EIP-681, SEP-7)."""
        ...

    def qr_text(self, *, to: DepositAddress, payment_uri: str) -> str:
        """What the QR code contains: only what no scanner can misread into paying somebody else."""
        ...

    # Accounts of ours.

    def payout_address(self) -> str:
        """The hot wallet payouts leave from."""
        ...

    def cold_wallet(self) -> str:
        """The wallet that keeps what the hot wallet does not need, whose key no server has; empty: there is none."""
        ...

    def treasury(self) -> str:
        """Where sweeps go by the settings: the hot wallet, or the cold one."""
        ...

    def channels(self) -> tuple[str, ...]:
        """The accounts whose sequences payouts use: the hot wallet's own address where it has no others."""
        ...


def sweeps_of(chain: Chain) -> Sweeps:
    """The sweeps of a network with deposit addresses; ValueError for any other."""
    if chain.sweeps is None:
        raise ValueError(f"deposits on {chain.profile.network} arrive where payouts leave from")
    return chain.sweeps
