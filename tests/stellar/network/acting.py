"""Doing things on the local network without waiting: each is a real transaction in a ledger of its own."""

from __future__ import annotations

from stellar_sdk import (
    Account,
    Asset,
    IdMemo,
    Keypair,
    Memo,
    NoneMemo,
    TextMemo,
    TransactionBuilder,
    TransactionEnvelope,
)
from stellar_sdk.operation import (
    ChangeTrust,
    Clawback,
    CreateAccount,
    Operation,
    Payment,
    SetOptions,
    SetTrustLineFlags,
)
from stellar_sdk.operation.set_options import AuthorizationFlag
from stellar_sdk.operation.set_trust_line_flags import TrustLineFlags

from tests.stellar.network.entries import (
    AUTHORISED,
    CAN_BE_CLAWED_BACK,
    LARGEST,
    NATIVE,
    STROOPS,
    Trustline,
)
from tests.stellar.network.envelopes import BASE_FEE, Envelope
from tests.stellar.network.keys import ISSUER_KEYS
from tests.stellar.network.moving import asset_name
from tests.stellar.network.network import Network
from tests.stellar.network.validity import check

FIRST_NATIVE = 100 * STROOPS
"""What an account has that `mint` had to make first."""
_ISSUER_HAS = 10_000 * STROOPS


class Acting:
    """The ledgers it closes have the time of the one before, and hold nothing else: what waits goes on waiting."""

    def __init__(self, network: Network) -> None:
        self.network = network

    @property
    def root(self) -> Keypair:
        """Who had all of the native coins at the beginning."""
        return self.network.root

    def issuer(self, code: str) -> Keypair:
        """Who issues USDC, USDT or DAI here. They may freeze what they issued, and claw it back."""
        return Keypair.from_secret(ISSUER_KEYS[code])

    def asset(self, code: str) -> Asset:
        """`XLM`, or a coin of one of the issuers."""
        return Asset.native() if code == "XLM" else Asset(code, self.issuer(code).public_key)

    def set_up_issuers(self) -> None:
        for code in ISSUER_KEYS:
            issuer = self.issuer(code)
            self.fund_native(issuer.public_key, _ISSUER_HAS)
            powers = AuthorizationFlag.AUTHORIZATION_REVOCABLE | AuthorizationFlag.AUTHORIZATION_CLAWBACK_ENABLED
            self.act(issuer, SetOptions(set_flags=powers))

    def fund_native(self, account: str, stroops: int) -> str:
        """Give native coins, and make the account if there is none; the transaction's hash."""
        amount = Operation.from_xdr_amount(stroops)
        known = account in self.network.state.accounts
        return self.act(
            self.root, Payment(account, Asset.native(), amount) if known else CreateAccount(account, amount)
        )

    def trust(self, account: Keypair | str, code: str, limit: int = LARGEST) -> str:
        """Let an account, by its key or secret, trust a coin; the transaction's hash."""
        return self.act(_keypair(account), ChangeTrust(self.asset(code), Operation.from_xdr_amount(limit)))

    def mint(self, code: str, account: str, stroops: int) -> str:
        """Issue coins to an account; the transaction's hash. Makes the account and its trustline where they miss."""
        if account not in self.network.state.accounts:
            self.fund_native(account, FIRST_NATIVE)
        with self.network.lock:
            asset = asset_name(self.asset(code))
            if asset not in self.network.state.accounts[account].lines:
                # Without the account's key there can be no transaction: this alone happens outside of any.
                self.network.state.put_line(account, Trustline(asset, LARGEST, flags=AUTHORISED | CAN_BE_CLAWED_BACK))
                self.network.state.keep()
        return self.pay(self.issuer(code), account, code, stroops)

    def pay(
        self,
        sender: Keypair | str,
        destination: str,
        code: str,
        stroops: int,
        *,
        memo: Memo | str | int | None = None,
    ) -> str:
        """Pay a G or M address: a number is sent as memo id, text as memo text; the transaction's hash."""
        amount = Operation.from_xdr_amount(stroops)
        return self.act(_keypair(sender), Payment(destination, self.asset(code), amount), memo=memo)

    def deauthorise(self, account: str, code: str) -> str:
        """Freeze an account's coins: it can neither send nor receive them; the transaction's hash."""
        flags = SetTrustLineFlags(account, self.asset(code), clear_flags=TrustLineFlags.AUTHORIZED_FLAG)
        return self.act(self.issuer(code), flags)

    def authorise(self, account: str, code: str) -> str:
        """Take back `deauthorise`."""
        flags = SetTrustLineFlags(account, self.asset(code), set_flags=TrustLineFlags.AUTHORIZED_FLAG)
        return self.act(self.issuer(code), flags)

    def clawback(self, account: str, code: str, stroops: int) -> str:
        """Let the issuer take coins back without being asked; the transaction's hash."""
        return self.act(self.issuer(code), Clawback(self.asset(code), account, Operation.from_xdr_amount(stroops)))

    def act(self, source: Keypair, *operations: Operation, memo: Memo | str | int | None = None) -> str:
        """Apply operations of one account as one transaction; its hash. ValueError with the codes when it fails."""
        with self.network.lock:
            envelope = self.envelope(source, *operations, memo=memo)
            if (outcome := check(self.network.state, Envelope.of(envelope))) is not None:
                raise ValueError(f"the transaction is invalid: {outcome.codes()}")
            (applied,) = self.network.close_with(envelope)
        if not applied.successful:
            raise ValueError(f"the transaction failed: {applied.outcome.codes()}")
        return applied.hash

    def envelope(
        self,
        source: Keypair,
        *operations: Operation,
        memo: Memo | str | int | None = None,
        fee: int = BASE_FEE,
        signers: tuple[Keypair, ...] = (),
        max_time: int = 0,
        after: int = 0,
    ) -> TransactionEnvelope:
        """The next transaction of an account, signed, for whoever submits it; or a later one, `after` so many others.

        `max_time` 0 means that it is valid for ever.
        """
        before = Account(source.public_key, self.network.state.accounts[source.public_key].sequence + after)
        builder = TransactionBuilder(before, self.network.passphrase, base_fee=fee)
        for each in operations:
            builder.append_operation(each)
        built = builder.add_memo(_memo(memo)).add_time_bounds(0, max_time).build()
        for signer in signers or (source,):
            built.sign(signer)
        return built

    def balance(self, account: str, code: str) -> int:
        """What an account has of a coin, in stroops, by the network's newest ledger; 0 without a trustline."""
        held = self.network.state.accounts[account]
        asset = asset_name(self.asset(code))
        if asset == NATIVE:
            return held.native
        return held.lines[asset].balance if asset in held.lines else 0


def _keypair(account: Keypair | str) -> Keypair:
    return Keypair.from_secret(account) if isinstance(account, str) else account


def _memo(memo: Memo | str | int | None) -> Memo:
    match memo:
        case None:
            return NoneMemo()
        case int():
            return IdMemo(memo)
        case str():
            return TextMemo(memo)
        case _:
            return memo
