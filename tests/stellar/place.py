"""The local network with a funded hot wallet, asked through two Horizons of it."""

from __future__ import annotations

from dataclasses import replace

from stellar_sdk import Keypair

from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.channels import Channels
from payments.chains.stellar.fees import FeeRules
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.keys.wallet_keys import Keys, Signer
from tests.stellar.front import Front
from tests.stellar.network import devnet, keys
from tests.stellar.network.horizon import LocalHorizon

XLM = 10**7
STOCK = 1_000 * XLM
PROFILE = devnet.profile("stellar")
USDC = PROFILE.assets["USDC"]
WALLET = Keypair.from_secret(keys.HOT_WALLET_KEY)


def key_of(number: int) -> Keypair:
    """Somebody's key, the same each time."""
    return Keypair.from_raw_ed25519_seed(number.to_bytes(32, "big"))


class Place:
    """`local` and `other` are two Horizons of one network, whose ledgers close when they are told to."""

    def __init__(
        self, *, channels: int = 1, cap: int = 100_000, prepared: bool = True, sets_aside: bool = False
    ) -> None:
        self.profile = replace(PROFILE, sets_aside=sets_aside)
        self.local = LocalHorizon()
        self.other = self.local.another()
        for each in (self.local, self.other):
            each.start()
        self.fronts = [Front(each) for each in (self.local, self.other)]
        self.horizons = Horizons(
            [Horizon(f"http://horizon-{number}", transport=each) for number, each in enumerate(self.fronts)],
            network="stellar",
            passphrase=keys.PASSPHRASE,
        )
        self.keys = Keys(keys.HOT_WALLET_KEY, channels=channels)
        self.chain = self.chain_through(self.horizons, self.keys, cap=cap)
        if prepared:
            self.local.fund_native(WALLET.public_key, 100 * XLM)
            for channel in self.keys.channels:
                if channel != WALLET.public_key:
                    self.local.fund_native(channel, XLM)
            for code in PROFILE.assets:
                self.local.trust(WALLET, code)
            self.local.mint("USDC", WALLET.public_key, STOCK)

    def chain_through(self, horizons: Horizons, known: Signer, *, cap: int = 100_000) -> StellarChain:
        """The network through these Horizons, with as many channels as there are keys."""
        return StellarChain(
            self.profile,
            horizons=horizons,
            wallet=WALLET.public_key,
            keys=lambda: known,
            rules=FeeRules(cap),
            channels=Channels(horizons, wallet=WALLET.public_key, count=len(known.channels), keys=lambda: known),
        )

    def stop(self) -> None:
        for each in (self.local, self.other):
            each.stop()

    def recipient(self, number: int = 1) -> Keypair:
        """Somebody with a trustline for USDC."""
        somebody = key_of(1_000 + number)
        if somebody.public_key not in self.local.network.state.accounts:
            self.local.fund_native(somebody.public_key, 10 * XLM)
            self.local.trust(somebody, "USDC")
        return somebody

    def pay(self, *amounts: int, to: str = "", memo: str | None = None) -> tuple[PayoutInstruction, ...]:
        """One payout for each amount, to somebody else each."""
        return tuple(
            PayoutInstruction(USDC, amount, to or self.recipient(number).public_key, memo)
            for number, amount in enumerate(amounts, 1)
        )

    def sign(
        self, *payouts: PayoutInstruction, channel: int = 0, replacing: tuple[SignedTransfer, ...] = ()
    ) -> SignedTransfer:
        sender = self.chain.channels()[channel]
        sequence = replacing[0].sequence if replacing else self.chain.hot_wallet.next_sequence(sender)
        return self.chain.sending.sign(payouts, sender=sender, sequence=sequence, replacing=replacing)

    def state(self, transfer: SignedTransfer) -> str:
        return self.chain.sending.status(transfer).state

    def held(self, somebody: Keypair) -> int:
        return self.local.balance(somebody.public_key, "USDC")
