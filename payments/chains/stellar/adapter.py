"""The stellar network behind the chain protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from config.money import Asset
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.readiness import Readiness
from payments.chains.stellar import addresses
from payments.chains.stellar.accounts import Accounts
from payments.chains.stellar.channels import Channels
from payments.chains.stellar.fees import FeeRules
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.reading import POLL_SECONDS, RECORDS_PER_SCAN, Reading
from payments.chains.stellar.hot_wallet import HotWallet
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
        self._accounts = Accounts(profile, horizons)
        self.hot_wallet = HotWallet(
            profile, horizons, self._accounts, self.reading, wallet=wallet, channels=self._channels
        )
        self.operations, self.reserves, self.signers = self.reading, self._accounts, self._accounts
        self.wallet_payments, self.providers = WalletPayments(profile, horizons), horizons
        self.set_up = SetUp(
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

    # Accounts of ours

    def payout_address(self) -> str:
        return self._wallet

    def cold_wallet(self) -> str:
        return self._cold_wallet

    def treasury(self) -> str:
        return self._wallet

    def channels(self) -> tuple[str, ...]:
        return self._channels.names()

    def issuer_powers(self) -> dict[str, tuple[str, ...]]:
        """What the issuer of each coin can do to whoever holds it, in words."""
        return {code: self._accounts.issuer_powers(asset) for code, asset in self.profile.assets.items()}

    def preparation(self) -> Preparation:
        """What `manage.py setup_stellar` does to the hot wallet."""
        from payments.chains.stellar.provisioning import Preparation

        return Preparation(
            self.profile, self._accounts, self.horizons, wallet=self._wallet, keys=self._keys, sending=self.sending
        )
