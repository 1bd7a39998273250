"""What a payer is told to send, and where: as text, as codes, as a link, and as words for a wallet in the browser."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from payments import wording
from payments.chains import registry
from payments.chains.base import DepositAddress
from payments.chains.profiles import NetworkProfile
from payments.models import Payment
from payments.qr import data_uri, render_png


@dataclass(frozen=True, slots=True)
class WalletTransfer:
    """The transfer that a wallet in the payer's browser is asked for.

    `units` is text, because numbers of scripts end at 2**53. `rpc_url` is set where everybody may ask that node: the
    operator's own are nobody's business. `seen` are the on-chain transactions that have been counted.
    """

    chain_id: int
    network: str
    token: str
    recipient: str
    units: str
    native: str
    rpc_url: str
    seen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HowToPay:
    """What to send, and where. Present only while sending is right."""

    amount: str
    address: str
    memo: str
    qr: str
    qr_has_amount: bool
    payment_uri: str
    wallet: WalletTransfer | None

    @property
    def qr_with_amount(self) -> str:
        """The link as a code, for those who choose it: drawn when the page is, and not for every question after it.

        Never the first code: a scanner that reads only the front of an evm link would pay the token contract.
        """
        return data_uri(_drawn(self.payment_uri))


@lru_cache(maxsize=256)
def _drawn(text: str) -> bytes:
    """As render_png, remembered: the page of a payment that waits for the rest asks every few seconds."""
    return render_png(text)


def how_to_pay(payment: Payment, network: NetworkProfile, *, missing: int, seen: Collection[str]) -> HowToPay:
    """What is still to be sent for a payment that waits for money; `seen` are on-chain transactions by their hash."""
    asset = network.assets[payment.cryptocurrency]
    uri, png = payment.payment_uri, bytes(payment.qr_png)
    if missing < payment.due:
        chain = registry.chain(payment.environment, payment.network)
        to = DepositAddress(payment.deposit_address, payment.memo or None, payment.muxed_address or None)
        uri = chain.payment_uri(to=to, asset=asset, amount=missing)
        png = _drawn(chain.qr_text(to=to, payment_uri=uri))
    return HowToPay(
        amount=wording.coins_asked(missing, payment.decimals),
        address=payment.deposit_address,
        memo=payment.memo,
        qr=data_uri(png),
        qr_has_amount=network.family == "stellar",
        payment_uri=uri,
        wallet=_wallet_transfer(payment, network, missing=missing, seen=seen),
    )


def _wallet_transfer(
    payment: Payment, network: NetworkProfile, *, missing: int, seen: Collection[str]
) -> WalletTransfer | None:
    """None where no wallet of a browser can pay: on another kind of network, or on one that is only simulated."""
    if network.chain_id is None or registry.is_simulated(payment.environment):
        return None
    return WalletTransfer(
        chain_id=network.chain_id,
        network=network.name,
        token=network.assets[payment.cryptocurrency].contract,
        recipient=payment.deposit_address,
        units=str(missing),
        native=network.native.code,
        rpc_url=network.metadata.get("public_rpc_url", ""),
        seen=tuple(sorted(seen)),
    )
