"""The local network as a harness of the chain contract suite, asked through two Horizons of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace
from functools import cache

import httpx
from stellar_sdk import Asset, Keypair
from stellar_sdk.operation import AccountMerge, ChangeTrust, CreateAccount, ManageData, Operation, Payment

from payments.chains.errors import RecipientProblem
from payments.chains.networks import NETWORKS
from payments.chains.profiles import NetworkProfile, coins
from payments.chains.protocol.chain import Chain
from payments.chains.stellar import addresses, fees
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.fees import FeeRules
from payments.chains.stellar.horizon.client import Horizon, Submission
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.reading import RECORDS_PER_SCAN
from payments.chains.stellar.keys.wallet_keys import Keys
from tests.chains.harness import Outcome
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.network.keys import HOT_WALLET, HOT_WALLET_KEY, ISSUERS, PASSPHRASE

XLM = 10**7
PAYERS = 12
"""How many transactions wait for one ledger at most: the network takes one of each account."""


def profile() -> NetworkProfile:
    real = NETWORKS["stellar"].real
    here = coins("stellar", dict.fromkeys(ISSUERS, 7), **{code: f"{code}:{issuer}" for code, issuer in ISSUERS.items()})
    return replace(real, assets=here, metadata={"network_passphrase": PASSPHRASE})


@cache
def key_of(name: str) -> Keypair:
    """Somebody's key, the same each time."""
    return Keypair.from_raw_ed25519_seed(hashlib.sha256(name.encode()).digest())


class Losing(Horizon):
    """A Horizon that says that it handed over what it has lost."""

    losing = False

    def submit(self, envelope_xdr: str) -> Submission:
        if not self.losing:
            return super().submit(envelope_xdr)
        self.losing = False
        return Submission("pending")


class LocalHarness:
    """Ledgers close when they are told to. Issuers pay, in transactions of others, of whom there are enough."""

    deepest_reorg = 0
    shows_waiting = False
    versions_are_one = takes_next_alone = True
    has_transfers_of_nothing = False

    def __init__(self) -> None:
        self.profile = profile()
        self.local = LocalHorizon()
        self.servers = [self.local, self.local.another()]
        for each in self.servers:
            each.start()
        self._payers = [key_of(f"payer {number}") for number in range(PAYERS)]
        self._waiting = 0
        self._look_alike = key_of("look-alike")
        self._foreign = Asset("USDC", self._look_alike.public_key)
        self.foreign_contract = f"USDC:{self._look_alike.public_key}"
        self._issuers = {f"{code}:{issuer}": self.local.issuer(code) for code, issuer in ISSUERS.items()}
        self._issuers[self.foreign_contract] = self._look_alike
        self._clients = [Losing(each.url) for each in self.servers]
        self._prepare()
        self.chain: Chain = self.chain_through()

    def chain_through(
        self,
        *transports: httpx.BaseTransport,
        records_per_scan: int = RECORDS_PER_SCAN,
        poll_seconds: float = 0,
    ) -> StellarChain:
        """The network as seen through these Horizons; without any through both of the harness."""
        servers = [Horizon(f"http://horizon-{number}", transport=each) for number, each in enumerate(transports, 1)]
        return StellarChain(
            self.profile,
            horizons=Horizons(
                servers or self._clients,
                network="stellar",
                passphrase=PASSPHRASE,
                one_may_decide=len(servers) == 1,
            ),
            wallet=HOT_WALLET,
            keys=lambda: Keys(HOT_WALLET_KEY),
            rules=FeeRules(),
            records_per_scan=records_per_scan,
            poll_seconds=poll_seconds,
        )

    def impatient(self, transactions: int) -> Chain:
        return self.chain_through(records_per_scan=transactions)

    def stop(self) -> None:
        for each in self.servers:
            each.stop()

    def pay(self, *parts: tuple[str, int, str, str | None], sender: str | None = None) -> str:
        memo = next((memo for *_, memo in parts if memo is not None), None)
        operations = [
            Payment(to, asset := self._asset(contract), _amount(units), source=sender or asset.issuer)
            for contract, units, to, _ in parts
        ]
        signers = {contract: self._issuers[contract] for contract, *_ in parts}.values()
        return self._submit(
            *operations,
            signers=[_stranger(addresses.split(sender)[0])] if sender else signers,
            memo=int(memo) if memo and memo.isdigit() else memo,
        )

    def stranger(self, number: int) -> str:
        somebody = key_of(f"stranger {number}")
        if somebody.public_key not in self.local.network.state.accounts:
            self.local.fund_native(somebody.public_key, 10 * XLM)
            for code in ISSUERS:
                self.local.trust(somebody, code)
        return somebody.public_key

    def fund(self, address: str, code: str, amount: int) -> None:
        self.local.mint(code, address, amount)

    def mine(self, count: int = 1) -> None:
        for _ in range(count):
            self.local.close_ledger()
        self._waiting = 0

    def reorg(self, depth: int, outcome: Outcome) -> None:
        raise AssertionError("a closed ledger stays")

    def rewrite_finality(self) -> None:
        ledgers = self.local.network.history.ledgers
        ledgers[:] = [replace(each, hash=hashlib.sha256(each.hash.encode()).hexdigest()) for each in ledgers]

    def fund_native(self, address: str, amount: int) -> None:
        self.local.fund_native(address, amount)

    def pay_native(self, address: str, amount: int) -> str:
        return self._submit(Payment(address, Asset.native(), _amount(amount)), signers=())

    def raise_fees(self, times: int) -> None:
        # An offer is ten times the price: what is more than it can bear is more than that.
        self.local.surge(fees.LEAST * times * (1 if times == 1 else fees.MARGIN // 2))

    def drain_native(self, address: str) -> None:
        reserves = self.chain.reserves
        assert reserves is not None
        free = self.local.balance(address, "XLM") - reserves.reserve(address)
        self._submit(
            Payment(self.local.root.public_key, Asset.native(), _amount(free), source=address), signers=[_WALLET]
        )

    def refuse(self, address: str, problem: RecipientProblem) -> bool:
        match problem:
            case "destination_refused":
                for code in ISSUERS:
                    self.local.deauthorise(address, code)
            case "memo_required":
                self.local.act(_stranger(address), ManageData("config.memo_required", b"1"))
            case "no_trustline":
                self._forget_coins(_stranger(address))
            case "destination_invalid":
                self._forget_coins(_stranger(address))
                self.local.act(_stranger(address), AccountMerge(self.local.root.public_key))
        return True

    def pause(self, code: str, *, is_paused: bool) -> bool:
        return False

    def contract(self) -> str:
        return self.stranger(1_000)

    def forget_waiting(self) -> None:
        self.local.freeze_submissions()
        self.mine(5)
        self.local.thaw_submissions()

    def lose_next_broadcast(self) -> None:
        for each in self._clients:
            each.losing = True

    def time_out_next_broadcast(self) -> None:
        for each in self.servers:
            each.drop_after_accept(2)  # it is asked once more, on a fresh connection

    def muxed(self, address: str, identifier: int) -> str:
        return addresses.mux(address, identifier)

    def break_down(self) -> None:
        for each in self.servers:
            each.answer_next(503, times=10**6)

    def recover(self) -> None:
        for each in self.servers:
            each._faults.clear()

    def let_time_pass(self, seconds: int) -> None:
        self.local.close_ledger(seconds)

    def _prepare(self) -> None:
        """The wallet and two strangers trust all coins; the wallet trusts the look-alike as well, as nobody should."""
        strangers = [key_of(f"stranger {number}") for number in (1, 2)]
        somebody = [_WALLET, *strangers, *self._payers, self._look_alike]
        self.local.act(self.local.root, *[CreateAccount(each.public_key, "10000") for each in somebody])
        assets = list(map(self.local.asset, ISSUERS))
        for each in strangers:
            self.local.act(each, *map(ChangeTrust, assets))
        self.local.act(_WALLET, *map(ChangeTrust, [*assets, self._foreign]))

    def _forget_coins(self, somebody: Keypair) -> None:
        held = self.local.network.state.accounts[somebody.public_key].lines
        self.local.act(somebody, *(ChangeTrust(self.local.asset(code), limit="0") for code in ISSUERS if held))

    def _asset(self, contract: str) -> Asset:
        code, _, issuer = contract.partition(":")
        return Asset(code, issuer)

    def _submit(self, *operations: Operation, signers: Collection[Keypair], memo: str | int | None = None) -> str:
        """Into the next ledger, in a transaction of a payer who has none in it yet."""
        payer = self._payers[self._waiting]
        self._waiting += 1
        envelope = self.local.envelope(payer, *operations, memo=memo, signers=(payer, *signers))
        self.local.network.submit(envelope.to_xdr())
        return envelope.hash_hex()

    def own_contracts(self) -> Collection[str]:
        return ()


_WALLET = Keypair.from_secret(HOT_WALLET_KEY)
_STRANGERS = {key_of(f"stranger {number}").public_key: key_of(f"stranger {number}") for number in range(20)}


def _stranger(address: str) -> Keypair:
    return _STRANGERS[address]


def _amount(units: int) -> str:
    return Operation.from_xdr_amount(units)
