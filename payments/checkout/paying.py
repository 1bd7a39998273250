"""Amount and address to pay: as text, as QR codes, as a link, and as a request to a wallet in the browser."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from config.pages import wording
from config.pages.qr import data_uri, drawn
from payments.chains import registry
from payments.chains.profiles import Family, NetworkProfile
from payments.models import Payment
from payments.records import payment_link_and_code


@dataclass(frozen=True, slots=True)
class WalletTransfer:
    """The transfer requested from a wallet in the payer's browser.

    `units` is text, because JavaScript numbers are exact only up to 2**53. `rpc_url` is set where the node is public;
    the operator's own stay private. `seen` are the on-chain transactions that were counted.
    """

    family: Family
    chain_id: int | None
    passphrase: str
    """The identity of a network without chain ids."""
    network: str
    token: str
    recipient: str
    units: str
    native: str
    rpc_url: str
    seen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HowToPay:
    """Amount and address to pay; only while the payment can be paid."""

    amount: str
    address: str
    memo: str
    muxed: str
    """Address and memo as one, for wallets with a single field; empty where there is no memo."""
    issuer: str
    """The issuer of the coin, on networks where anybody can issue one of the same name."""
    exchange_names: str
    """What exchanges call the network."""
    qr: str
    qr_has_amount: bool
    payment_uri: str
    wallet: WalletTransfer | None

    @property
    def qr_with_amount(self) -> str:
        """The link as a QR code, drawn only when the page is rendered, not when it polls.

        It is not the first code of an EVM network: a scanner that reads only the beginning of the link would pay the
        token contract.
        """
        return self.qr if self.qr_has_amount else data_uri(drawn(self.payment_uri))

    @property
    def qr_of_address(self) -> str:
        """The address alone as a QR code, for scanners that read no links."""
        return data_uri(drawn(self.address)) if self.qr_has_amount else self.qr

    @property
    def amount_groups(self) -> list[str]:
        """The amount in groups of three digits, the last with its fraction; joined they are the amount."""
        whole, point, fraction = self.amount.partition(".")
        first = len(whole) % 3 or 3
        groups = [whole[:first], *(whole[place : place + 3] for place in range(first, len(whole), 3))]
        return [*groups[:-1], f"{groups[-1]}{point}{fraction}"]


def how_to_pay(payment: Payment, network: NetworkProfile, *, missing: int, seen: Collection[str]) -> HowToPay:
    """Amount and address still to pay for a payment that waits for money; `seen` are on-chain transactions by their
    hash."""
    asset = network.assets[payment.cryptocurrency]
    uri, png = payment_link_and_code(payment, missing)
    return HowToPay(
        amount=wording.coins_to_send(missing, payment.decimals),
        address=payment.deposit_address,
        memo=payment.memo,
        muxed=payment.muxed_address,
        issuer=asset.contract.partition(":")[2],
        exchange_names=", ".join((network.name, *network.exchange_names)),
        qr=data_uri(png),
        qr_has_amount=network.qr_has_amount,
        payment_uri=uri,
        wallet=_wallet_transfer(payment, network, missing=missing, seen=seen),
    )


def _wallet_transfer(
    payment: Payment, network: NetworkProfile, *, missing: int, seen: Collection[str]
) -> WalletTransfer | None:
    """None where no wallet of a browser can pay: on a simulated network."""
    if registry.is_simulated(payment.environment):
        return None
    return WalletTransfer(
        family=network.family,
        chain_id=network.chain_id,
        passphrase=network.metadata.get("network_passphrase", ""),
        network=network.name,
        token=network.assets[payment.cryptocurrency].contract,
        recipient=payment.deposit_address,
        units=str(missing),
        native=network.native.code,
        rpc_url=network.metadata.get("public_rpc_url", ""),
        seen=tuple(sorted(seen)),
    )
