"""The stellar network behind the chain protocol."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING

from config.money import Asset
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.protocol.payouts import Costs, PayoutInstruction
from payments.chains.protocol.transfers import (
    Identity,
    SentTransaction,
)
from payments.chains.readiness import Readiness
from payments.chains.stellar import addresses, fees
from payments.chains.stellar.accounts import Accounts
from payments.chains.stellar.channels import Channels
from payments.chains.stellar.fees import FeeRules
from payments.chains.stellar.horizon import lookups
from payments.chains.stellar.horizon.providers import Horizons, LacksHistory
from payments.chains.stellar.horizon.reading import POLL_SECONDS, RECORDS_PER_SCAN, Reading
from payments.chains.stellar.payer_wallets import links
from payments.chains.stellar.payer_wallets.wallet_requests import WalletPayments
from payments.chains.stellar.readiness_checks import SetUp

if TYPE_CHECKING:
    from payments.chains.stellar.keys.wallet_keys import Signer
    from payments.chains.stellar.preparing import Preparations
    from payments.chains.stellar.provisioning import Preparation
    from payments.chains.stellar.sending import Sending


class StellarChain:
    """Stellar. Deposits arrive at the account that payouts leave from, distinguished by memos and muxed ids.

    `keys` is only called when something is signed, and for the names of several channels: it needs a library that
    processes which only read never load.
    """

    sweeps = roles = derivations = oracle = None
    """Deposits arrive where payouts leave from, so that nothing is swept."""

    def __init__(
        self,
        profile: NetworkProfile,
        *,
        horizons: Horizons,
        wallet: str,
        cold_wallet: str = "",
        memo_key: bytes = b"",
        keys: Callable[[], Signer],
        rules: FeeRules,
        channels: Channels | None = None,
        readiness: Readiness | None = None,
        records_per_scan: int = RECORDS_PER_SCAN,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self.profile = profile
        self.horizons = horizons
        self._wallet, self._keys, self._rules = wallet, keys, rules
        self._cold_wallet, self._memo_key = cold_wallet, memo_key
        self._channels = channels or Channels(horizons, wallet=wallet, count=1, keys=keys)
        passphrase: str = profile.metadata["network_passphrase"]
        self._passphrase_in_links = None if passphrase == links.PUBLIC_PASSPHRASE else passphrase
        self.reading = Reading(
            profile,
            horizons,
            wallet=wallet,
            channels=self.channels,
            records_per_scan=records_per_scan,
            poll_seconds=poll_seconds,
        )
        self._accounts = Accounts(profile, horizons, wallet=wallet)
        self.operations, self.reserves, self.signers = self.reading, self._accounts, self._accounts
        self.wallet_payments, self.providers = WalletPayments(profile, horizons), horizons
        self._set_up = SetUp(
            profile,
            horizons,
            wallet=wallet,
            channels=self.channels,
            key_of=lambda: keys().address,
            readiness=readiness,
        )

    @cached_property
    def sending(self) -> Sending:
        from payments.chains.stellar.sending import Sending

        return Sending(
            self.profile,
            self.horizons,
            wallet=self._wallet,
            keys=self._keys,
            rules=self._rules,
        )

    @cached_property
    def preparations(self) -> Preparations:
        from payments.chains.stellar.preparing import Preparations

        return Preparations(self.profile, self.horizons, channels=self.channels)

    # Addresses and links

    def parse_address(self, text: str) -> str:
        return addresses.parse(text)

    def deposit_address(self, sequence: int) -> DepositAddress:
        memo = addresses.memo_of(sequence, self._memo_key)
        return DepositAddress(self._wallet, memo=str(memo), muxed=addresses.mux(self._wallet, memo))

    def deposit_addresses(self, sequence: int) -> tuple[DepositAddress, ...]:
        present = self.deposit_address(sequence)
        if not self._memo_key:
            return (present,)
        return present, DepositAddress(self._wallet, memo=str(addresses.memo_of(sequence)))  # from before the key

    def payment_uri(self, *, to: DepositAddress, asset: Asset, amount: int, message: str = "") -> str:
        code, _, issuer = asset.contract.partition(":")
        return links.pay(
            destination=to.address,
            amount=amount,
            decimals=asset.decimals,
            asset_code=code,
            asset_issuer=issuer,
            memo=to.memo,
            message=message,
            network_passphrase=self._passphrase_in_links,
        )

    def qr_text(self, *, to: DepositAddress, payment_uri: str) -> str:
        return payment_uri

    # Money out

    def payout_address(self) -> str:
        return self._wallet

    def cold_wallet(self) -> str:
        return self._cold_wallet

    def treasury(self) -> str:
        return self._wallet

    def channels(self) -> tuple[str, ...]:
        return self._channels.names()

    def own_accounts(self) -> frozenset[str]:
        return frozenset({self._wallet, *self._channels.names_known()})

    def next_sequence(self, sender: str) -> int:
        return self._accounts.sequence(sender) + 1

    def issuer_powers(self) -> dict[str, tuple[str, ...]]:
        """What the issuer of each coin can do to whoever holds it, in words."""
        return {code: self._accounts.issuer_powers(asset) for code, asset in self.profile.assets.items()}

    def preparation(self) -> Preparation:
        """What `manage.py setup_stellar` does to the hot wallet."""
        from payments.chains.stellar.provisioning import Preparation

        return Preparation(
            self.profile, self._accounts, self.horizons, wallet=self._wallet, keys=self._keys, sending=self.sending
        )

    def check_recipient(self, payout: PayoutInstruction) -> None:
        self._accounts.check_recipient(payout, own=self.own_accounts())

    def check_sending(self, asset: Asset) -> None:
        self._accounts.check_sending(asset)

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        try:
            paid = self.reading.payment(identity)
        except LacksHistory:  # it does not come back by itself, so nobody knows
            return None
        return self._accounts.pay_back_address(paid, sender)

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        believed = self.horizons.believe(
            lambda horizon: lookups.sent_by(horizon, account, first_height, last_height),
            subject=f"Transactions of {account} from ledger {first_height} to {last_height}",
            first_height=first_height,
            up_to=last_height,
        )
        return tuple(
            SentTransaction(
                transaction_hash=each.hash,
                sequence=each.sequence,
                height=each.ledger,
                succeeded=each.successful,
                fee_units=each.fee_charged if each.fee_account in (account, self._wallet) else 0,
                said_by=believed.by,
            )
            for each in sorted(believed.answer, key=lambda each: each.sequence)
            if each.sequence >= first_sequence or each.hash in hashes
        )

    def costs(self) -> Costs:
        price = fees.price(self.horizons)
        locked = self._accounts.base_reserve() if self.profile.sets_aside else 0
        return Costs(payout=price, set_aside=locked)

    # Looking after it

    def require_set_up(self, *, signing: bool = False) -> None:
        self._set_up.require(signing=signing)
