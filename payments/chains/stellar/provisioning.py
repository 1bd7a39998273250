"""Preparing the hot wallet: trustlines, its wish for memos, and channel accounts. Only processes that send load this.

All that is missing is added by one transaction, so that it is done or not done; what is there already is left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stellar_sdk import Asset as LedgerAsset
from stellar_sdk import ChangeTrust, CreateAccount, ManageData, Operation
from stellar_sdk.utils import from_xdr_amount

from payments.chains.errors import ChainError, NotSetUp
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import SignedTransfer, TransactionStatus
from payments.chains.stellar import addresses, fees
from payments.chains.stellar.accounts import (
    IS_REQUIRED,
    LEAST_ENTRIES,
    MEMO_REQUIRED,
    Accounts,
    reserve_of,
)
from payments.chains.stellar.channels import entry_name
from payments.chains.stellar.horizon import holdings
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.records import AccountRecord
from payments.chains.stellar.keys.wallet_keys import Signer
from payments.chains.stellar.sending import Sending

POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is missing, and the stroops that it locks up or hands to an account of ours."""

    text: str
    reserve: int
    operation: Operation


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done. Amounts in stroops of XLM."""

    steps: tuple[Step, ...]
    fee: int
    """What the network charges at this moment."""
    spendable: int
    """What the wallet has beyond the reserve of what belongs to it already."""
    exists: bool

    @property
    def reserves(self) -> int:
        return sum(step.reserve for step in self.steps)

    @property
    def lacking(self) -> int:
        """How much XLM the wallet needs before this can be done; 0 when it has enough."""
        return max(0, self.reserves + self.fee - self.spendable)


class Preparation:
    def __init__(
        self,
        profile: NetworkProfile,
        accounts: Accounts,
        horizons: Horizons,
        *,
        wallet: str,
        keys: Callable[[], Signer],
        sending: Sending,
    ) -> None:
        self._profile, self._accounts, self._horizons, self._wallet = profile, accounts, horizons, wallet
        self._keys, self._sending = keys, sending

    def plan(self) -> Plan:
        """What is missing by now, and what it costs."""
        base = self._horizons.ledger(self._horizons.head().height).base_reserve
        wallet = self._horizons.agree(lambda horizon: holdings.account(horizon, self._wallet))
        steps = tuple(self._steps(wallet, base))
        price = fees.price(self._horizons)
        spendable = wallet.native_balance - reserve_of(wallet, base) if wallet else -LEAST_ENTRIES * base
        return Plan(steps, fee=price * len(steps), spendable=spendable, exists=wallet is not None)

    def sign(self, plan: Plan) -> SignedTransfer:
        """The one transaction that does all of it. NotSetUp where the wallet cannot pay for it."""
        if plan.lacking:
            raise NotSetUp(f"The hot wallet lacks {from_xdr_amount(plan.lacking)} XLM.")
        sequence = self._horizons.agree(lambda horizon: _sequence_of(holdings.account(horizon, self._wallet))) + 1
        return self._sending.sign_operations([step.operation for step in plan.steps], sequence=sequence)

    def follow(self, transfer: SignedTransfer, *, sleep: Callable[[float], None] = time.sleep) -> TransactionStatus:
        """Send it until it is known what became of it: at most until it has expired."""
        while True:
            try:
                status = self._sending.status(transfer)
                if status.final:
                    return status
                if status.state == "unknown":
                    self._sending.broadcast(transfer)
            except ChainError:  # a Horizon that lags, or none that answers: the outcome is found out in the end
                pass
            sleep(POLL_SECONDS)

    def standing(self) -> Iterator[str]:
        """What is there, a line each: coins with what their issuers can do, the wish for memos, channels."""
        wallet = self._horizons.agree(lambda horizon: holdings.account(horizon, self._wallet))
        if wallet is None:
            return
        for code, asset in self._profile.assets.items():
            issuer = asset.contract.partition(":")[2]
            powers = self._accounts.issuer_powers(asset)
            has = "trustline" if asset.contract in wallet.trustlines else "no trustline"
            can = f"; the issuer can {' and '.join(powers)}" if powers else ""
            yield f"{code}  {has}, issuer {issuer}{can}"
        yield f"memos  {'asked for' if wallet.data.get(MEMO_REQUIRED) == IS_REQUIRED else 'not asked for'} (SEP-29)"
        for number, channel in enumerate(self._made_channels(), 1):
            yield f"channel {number}  {channel}"

    def _steps(self, wallet: AccountRecord | None, base_reserve: int) -> Iterator[Step]:
        for asset in self._profile.assets.values():
            if wallet is None or asset.contract not in wallet.trustlines:
                trust = ChangeTrust(LedgerAsset(*asset.contract.split(":")))
                yield Step(f"trustline for {asset.contract}", base_reserve, trust)
        if wallet is None or wallet.data.get(MEMO_REQUIRED) != IS_REQUIRED:
            is_new = wallet is None or MEMO_REQUIRED not in wallet.data
            entry = ManageData(MEMO_REQUIRED, IS_REQUIRED)
            yield Step(
                f"data entry {MEMO_REQUIRED}: wallets refuse to pay without a memo", base_reserve * is_new, entry
            )
        made = self._made_channels()
        for number, channel in enumerate(self._channels(), 1):
            if channel not in made:
                least = LEAST_ENTRIES * base_reserve
                creation = CreateAccount(channel, from_xdr_amount(least))
                yield Step(f"channel account {number}, {channel}", least, creation)
            name, key = entry_name(number), addresses.key_of(channel)
            if wallet is None or wallet.data.get(name) != key:
                is_new = wallet is None or name not in wallet.data
                yield Step(f"data entry that names channel {number}", base_reserve * is_new, ManageData(name, key))

    def _channels(self) -> Sequence[str]:
        """The channel accounts there should be, beside the wallet."""
        return [channel for channel in self._keys().channels if channel != self._wallet]

    def _made_channels(self) -> list[str]:
        def is_made(address: str) -> bool:
            return self._horizons.agree(lambda horizon: holdings.account(horizon, address) is not None)

        return [channel for channel in self._channels() if is_made(channel)]


def _sequence_of(account: AccountRecord | None) -> int:
    if account is None:
        raise NotSetUp("The hot wallet does not exist yet.")
    return account.sequence
