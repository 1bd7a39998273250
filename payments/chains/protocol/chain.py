"""The protocol of every adapter: evm, stellar and simulated networks behave alike behind it.

An adapter knows addresses, blocks and transfers, never payments. Every method that talks to a network
may raise ChainUnavailable (try again later); FinalityViolation means stop and call a person.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from config.money import Asset
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import AddressDerivations, DepositAddress
from payments.chains.protocol.operations import Operations, Preparations, Reserves
from payments.chains.protocol.oracles import SanctionsOracle
from payments.chains.protocol.payouts import Costs, PayoutInstruction
from payments.chains.protocol.providers import ProviderPool
from payments.chains.protocol.reading import Reading
from payments.chains.protocol.roles import Roles
from payments.chains.protocol.sending import Sending
from payments.chains.protocol.sweeps import Sweeps
from payments.chains.protocol.transfers import Identity, SentTransaction
from payments.chains.protocol.wallets import BuildsPayments, KnowsSigners


@runtime_checkable
class Chain(Protocol):
    """One network in one environment."""

    profile: NetworkProfile

    @property
    def reading(self) -> Reading: ...

    @property
    def sending(self) -> Sending: ...

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

    # Money out.

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

    def own_accounts(self) -> frozenset[str]:
        """The accounts and contracts of ours there, deposit addresses left out: nobody can be paid at one."""
        ...

    def next_sequence(self, sender: str) -> int:
        """The sequence (nonce) the chain expects next from this account, counting blocks only.

        It goes back when a reorg undoes a transfer.
        """
        ...

    def check_recipient(self, payout: PayoutInstruction) -> None:
        """Raise RecipientRefused when this payout would fail or be lost because of whom it goes to; SendingBlocked
        while the coin can be sent to nobody. Queries the network; changes nothing."""
        ...

    def check_sending(self, asset: Asset) -> None:
        """Raise SendingBlocked while the hot wallet can send this coin to nobody, TokenChanged when its contract counts
        it otherwise than we do. Queries the network; changes nothing."""
        ...

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        """The address that an incoming transfer of this sender can be paid back to without a question to anybody.

        None when it is unknown: the transfer came out of a contract, or out of an account that may be shared by many
        people and was not sent in the name of one of them. Queries the network.
        """
        ...

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        """What an account sent in these blocks, in its order: those of these on-chain transactions that are its own,
        and each other one from this sequence on, as far as the network still reports its place."""
        ...

    def costs(self) -> Costs:
        """What sending costs just now."""
        ...

    # Looking after it.

    def require_set_up(self, *, signing: bool = False) -> None:
        """Raise NotSetUp unless contracts and coins, and with `signing` the key, agree with the settings.

        Queries the network until one check has passed. ChainUnavailable while it does not answer.
        """
        ...


def sweeps_of(chain: Chain) -> Sweeps:
    """The sweeps of a network with deposit addresses; ValueError for any other."""
    if chain.sweeps is None:
        raise ValueError(f"deposits on {chain.profile.network} arrive where payouts leave from")
    return chain.sweeps
