"""What is known of a network beforehand: its coins, its pace, its traits, when a deposit counts. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from config.coins import COINS
from config.money import Asset

Family = Literal["evm", "stellar"]
"""Which adapter speaks to a network, and how addresses and hashes are spelled there."""


@dataclass(frozen=True, slots=True)
class CreditRule:
    """When a deposit counts: so many confirmations and, if required, only once its block is final."""

    confirmations: int
    require_finalized: bool = False

    def satisfied(self, *, height: int, head_height: int, finalized_height: int) -> bool:
        confirmed = head_height - height + 1 >= self.confirmations
        return confirmed and (not self.require_finalized or height <= finalized_height)


Rules = tuple[tuple[int | None, CreditRule], ...]
"""Credit rules by amount: (USD limit, rule), ascending; the limit None matches everything."""

STALLED_BLOCKS, SHORTEST_STALL_SECONDS = 20, 60.0
"""A network without a new block for the time of so many is delayed, but no sooner than after a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkProfile:
    """Fixed properties of a network, known without a query to it. The traits' defaults are those of evm networks."""

    network: str
    """Its name in the API, in settings and in the database: at most 20 characters, never changed again."""
    name: str
    """Its name for people."""
    family: Family
    chain_id: int | None = None
    """The number that identifies an evm network in signatures and to wallets of browsers: see chainlist.org."""
    block_seconds: float
    """The usual time between two blocks, rather too much."""
    assets: Mapping[str, Asset]
    """Accepted coins by code, from the issuer's own list; what only a bridge issues if the operator answers for it."""
    decimals: Mapping[str, int]
    """The scale of every coin there by code, of the token itself (USDC has 18 digits on some networks), also of a coin
    that is not accepted or accepted no longer."""
    rules: Rules
    native: Asset
    """The coin that the network's fees are paid in. Nobody is paid in it, and it has no contract."""
    native_usd: str
    """About what it is worth in dollars, rather too much: separates dust from what is worth sweeping, unless set."""

    transfer_usd: str
    """About what a payer's wallet pays to send a coin, in dollars: while nothing was measured, networks are compared by
    it."""

    shares_account: bool = False
    """Whether deposits arrive at the account that payouts leave from. Else each payment's address is swept."""
    takes_memos: bool = False
    """Whether a transfer can name by a memo whom in a shared account it is for."""
    can_replace: bool = True
    """Whether a transfer that waits can be replaced by one that offers more."""
    replace_after_seconds: float = 60
    """How long a version waits for a block, at least, before it is replaced."""
    sets_aside: bool = False
    """Whether the operator lets a payout become a claimable balance while its recipient's account cannot take it."""
    transfers_expire: bool = False
    """Whether signed transfers have a `valid_until`: a block closed after it proves that they never get into one."""
    hash_prefix: str = "0x"
    """What stands before the 64 hexadecimal digits of a transaction hash."""
    qr_has_amount: bool = False
    """Whether every wallet reads the payment link as a QR code. Else the code holds the address alone."""

    payouts_per_transfer: int = 1
    """How many payouts one on-chain transaction can carry."""
    transfers_in_flight: int = 16
    """How many transfers of one channel may be on their way at once."""
    sweeps_per_transfer: int = 100
    """How many deposit addresses one can empty: with enough gas for each, what ethereum allows one transaction."""
    final_within_seconds: float
    """How long it takes until a block is final, generously."""
    finality_stall_seconds: float = 120
    """How long no further block may become final before it is called a delay; several times what is usual."""
    tip_floor_gwei: str = "0"
    """The least a transaction offers above the base fee for a unit of gas, unless set."""
    fee_cap_gwei: str = "200"
    """The most it offers for a unit of gas, base fee and tip together, unless set. Above it nothing is signed."""
    gas_reserve: int
    """For how many usual sweeps and their payouts the hot wallet holds native coins before an alarm, unless set."""
    exchange_names: tuple[str, ...] = ()
    """What exchanges call it beside its name."""
    explorer: str = ""
    """Where people look an on-chain transaction up: its hash follows. Empty where nobody can."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """`known_not_accepted`: bridged look-alikes by name, so that a payer who sent one learns why it does not count."""

    @property
    def explorer_of_accounts(self) -> str:
        """Where people look an address up: it follows. Empty where nobody can."""
        words = {"evm": "address/", "stellar": "account/"}[self.family]
        return f"{self.explorer.removesuffix('tx/')}{words}" if self.explorer else ""

    @property
    def head_stall_seconds(self) -> float:
        """How long the newest block may stay the same before it is called a delay."""
        return max(SHORTEST_STALL_SECONDS, STALLED_BLOCKS * self.block_seconds)

    @property
    def evm_chain_id(self) -> int:
        """The chain id; LookupError where there is none."""
        if self.chain_id is None:
            raise LookupError(f"{self.network} has no chain id")
        return self.chain_id

    def credit_rule(self, usd_amount: int) -> CreditRule:
        """The rule for an amount worth so many whole US dollars."""
        for limit, rule in self.rules:
            if limit is None or usd_amount < limit:
                return rule
        raise LookupError("the last rule of a profile has no limit")

    @property
    def strictest_rule(self) -> CreditRule:
        """That of any amount, however large."""
        return self.rules[-1][1]

    def shares_addresses_with(self, other: NetworkProfile) -> bool:
        """Whether a payment has the same deposit address on both."""
        return self.family == other.family


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """How a network is simulated in the sandbox. The numbers are small, so that payments confirm while one watches."""

    chain_id: int | None = None
    """That of no real network: a link made in the sandbox can never spend real money."""
    finality_depth: int
    """Blocks between the head and the newest final one; a reorganisation never goes deeper, unless it is forced."""
    rules: Rules
    usual_price: int
    """Of one unit of work, in base units of the native coin."""
    payout_work: int = 65_000
    """Gas, or operations, of one payout."""
    channels: int = 0
    """How many accounts beside the hot wallet lend payouts their sequences; 0: it uses its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Everything that is data about one network: a file in payments.chains.networks declares it as `NETWORK`."""

    position: int
    """Where it stands in lists, counted from 1."""
    real: NetworkProfile
    test: NetworkProfile | None = None
    """The test network in its place, with the coins whose issuers put them there."""
    simulation: Simulation


def coins(network: str, decimals: Mapping[str, int], **contracts: str) -> Mapping[str, Asset]:
    """Accepted coins of a network by code, from the contract of each."""
    return MappingProxyType({code: Asset(network, code, decimals[code], contracts[code]) for code in contracts})


def declared_decimals(network: str) -> Mapping[str, int]:
    """The scale of each coin that is declared to be on a network, by code."""
    return MappingProxyType({code: coin.on[network].decimals for code, coin in COINS.items() if network in coin.on})


def declared_coins(network: str, *, test: bool = False) -> Mapping[str, Asset]:
    """The coins whose issuers are declared on a network, or on the test network in its place, by code."""
    contracts = {
        code: contract
        for code, coin in COINS.items()
        if network in coin.on and (contract := coin.on[network].test if test else coin.on[network].real)
    }
    return coins(network, declared_decimals(network), **contracts)
