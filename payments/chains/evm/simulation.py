"""Transfers that are only tried: whose trouble it is when the contract of a coin refuses one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from config.money import Asset
from payments.chains.errors import ChainUnavailable, RecipientRefused, SendingBlocked
from payments.chains.evm import abi, addresses
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import Question
from payments.chains.evm.nodes.rpc import RpcError
from payments.chains.protocol.sweeps import Unsweepable


def _nobody(name: str) -> str:
    """An address that nobody has the key of, and that no issuer has a reason to block."""
    return addresses.encode(hashlib.sha256(f"ballast: {name}".encode()).digest()[-addresses.ADDRESS_BYTES :])


ANYBODY, ANYBODY_ELSE = _nobody("nobody"), _nobody("nobody else")

CALLS_PER_BATCH = 50
REASON_MAX = 200


class TransferSimulation:
    """Transfers from the hot wallet and to the treasury that are tried without being sent.

    A single provider's answer is enough that a transfer would succeed. That it would fail is believed of two, after the
    same block. A transfer of nothing needs no money, and tokens that are paused or have a blocklist look at it all the
    same.
    """

    def __init__(self, providers: Providers, *, wallet: str, treasury: str = "") -> None:
        self._providers = providers
        self._wallet, self._treasury = wallet, treasury or wallet

    def require_payable(self, asset: Asset, recipient: str) -> None:
        """Raise RecipientRefused when the token refuses this account alone, SendingBlocked while it refuses the hot
        wallet or everybody, ChainUnavailable while it is unknown."""
        try:
            if _refusal(self._providers.query(_transfer(asset, self._wallet, recipient, 0, "latest"))) is None:
                return
        except RpcError:
            pass  # only one provider answered so
        moves = [(self._wallet, recipient, 0), (self._wallet, ANYBODY, 0), (ANYBODY_ELSE, ANYBODY, 0)]
        recipient_error, wallet_error, anybody_error = self._tried(asset, moves, self._providers.head().height)
        if recipient_error is None:
            return
        if wallet_error is None:
            message = f"The contract of {asset.code} forbids this account to receive it."
            raise RecipientRefused("destination_refused", message)
        if anybody_error is None:
            message = f"The contract of {asset.code} lets others send it, and not the hot wallet {self._wallet}."
            raise SendingBlocked("hot_wallet_blocked", message)
        raise SendingBlocked("coin_paused", f"The contract of {asset.code} lets nobody send it at the moment.")

    def require_sendable(self, asset: Asset) -> None:
        """SendingBlocked while the hot wallet can send this coin to nobody."""
        self.require_payable(asset, ANYBODY)

    def why_unsweepable(self, asset: Asset, addresses: Sequence[tuple[int, str]]) -> dict[int, Unsweepable]:
        """Those of these addresses whose coins could not be sent to the treasury, by number, and why."""
        height = self._providers.head().height
        queries = [questions.token_balance(asset.contract, address, height) for _, address in addresses]
        held = dict(zip(addresses, self._each(queries), strict=True))
        found = {place[0]: Unsweepable("empty") for place, units in held.items() if not units}
        tried = [(place, units) for place, units in held.items() if units]
        moves = [(address, self._treasury, units) for (_, address), units in tried]
        refused = [
            (place, error)
            for (place, _), error in zip(tried, self._tried(asset, moves, height), strict=True)
            if error is not None
        ]
        if not refused:
            return found
        elsewhere = [(address, ANYBODY, 0) for (_, address), _ in refused]
        anybody, wallet, *others = self._tried(
            asset, [(ANYBODY, ANYBODY_ELSE, 0), (ANYBODY, self._treasury, 0), *elsewhere], height
        )
        for ((number, _), error), from_here in zip(refused, others, strict=True):
            found[number] = Unsweepable(_reason(anybody, wallet, from_here), error.message[:REASON_MAX])
        return found

    def _tried(self, asset: Asset, moves: Iterable[tuple[str, str, int]], height: int) -> list[RpcError | None]:
        """The contract's objection to each transfer (sender, recipient, amount); None where it would succeed."""
        queries = [_transfer(asset, sender, recipient, units, height) for sender, recipient, units in moves]
        errors = [answer if isinstance(answer, RpcError) else _refusal(answer) for answer in self._each(queries)]
        if unclear := next((error for error in errors if error is not None and not error.is_reverted), None):
            raise ChainUnavailable(f"{self._providers.network} cannot try a transfer: {unclear}") from unclear
        return errors

    def _each(self, queries: Sequence[Question[Any]]) -> Iterator[Any]:
        for start in range(0, len(queries), CALLS_PER_BATCH):
            yield from self._providers.agree_each(*queries[start : start + CALLS_PER_BATCH])


def _transfer(asset: Asset, sender: str, recipient: str, units: int, block: int | str) -> Question[bytes]:
    call = abi.call("transfer(address,uint256)", recipient, units)
    return questions.result(asset.contract, call, block, sender=sender)


def _refusal(answer: bytes) -> RpcError | None:
    """A contract may return that it refuses instead of reverting; many return nothing at all."""
    is_refused = len(answer) == abi.WORD and not abi.uint(answer)
    return RpcError(3, "execution reverted: the transfer returned false") if is_refused else None


def _reason(
    anybody: RpcError | None, wallet: RpcError | None, from_here: RpcError | None
) -> Literal["paused", "wallet_refused", "frozen", "refused"]:
    if anybody is not None:
        return "paused"
    if wallet is not None:
        return "wallet_refused"
    return "refused" if from_here is None else "frozen"
