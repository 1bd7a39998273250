"""Sweeps of deposit addresses on a simulated network."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from config.money import Asset
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.protocol.sweeps import SweptFrom, Unsweepable
from payments.chains.simulated import signing
from payments.chains.simulated.clock import answering
from payments.chains.simulated.mempool import offer_now
from payments.chains.simulated.models import SimulatedAccount
from payments.chains.simulated.networks import contracts, deposit_address, sweep_work, treasury
from payments.chains.simulated.reading import Reading


class Sweeps:
    def __init__(self, profile: NetworkProfile, reading: Reading) -> None:
        self._profile, self._network, self._reading = profile, profile.network, reading

    def together(self, deposits: Sequence[int]) -> tuple[int, ...]:
        return tuple(deposits)

    def sign(
        self,
        asset: Asset,
        deposits: tuple[int, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        self._check(asset, deposits)
        content = signing.Content(
            network=self._network,
            sender=sender,
            sequence=sequence,
            valid_until=None,
            fee_offer=offer_now(self._profile, replacing),
            work=sweep_work(len(deposits)),
            movements=[],
            swept_contract=asset.contract,
            swept_addresses=tuple(deposit_address(self._profile, number).address for number in deposits),
        )
        return signing.signed(content, ())

    def swept_by(
        self, transaction_hash: str, asset: Asset, deposits: Sequence[int], *, treasury: str
    ) -> tuple[SweptFrom, ...]:
        found = self._reading.find_transaction(transaction_hash)
        if found is None or found.state == "pending":
            return ()
        left = {each.sender: each for each in found.transfers if each.contract == asset.contract}
        swept: list[SweptFrom] = []
        for number in deposits:
            move = left.get(deposit_address(self._profile, number).address)
            arrived = move.amount if move and move.recipient == treasury else 0
            swept.append(SweptFrom(number, left=move.amount if move else 0, arrived=arrived))
        return tuple(swept)

    def why_unsweepable(self, asset: Asset, deposits: Sequence[int]) -> dict[int, Unsweepable]:
        answering(self._network)
        addresses = {deposit_address(self._profile, number).address: number for number in deposits}
        wallet = treasury(self._network)
        known = SimulatedAccount.objects.filter(network=self._network, refuses="destination_refused")
        concerned = [asset.contract, wallet, *addresses]
        refused = set(known.filter(address__in=concerned).values_list("address", flat=True))
        if asset.contract in refused:
            return dict.fromkeys(deposits, Unsweepable("paused"))
        if wallet in refused:
            return dict.fromkeys(deposits, Unsweepable("wallet_refused"))
        found = {addresses[address]: Unsweepable("frozen") for address in refused}
        for address, number in addresses.items():
            if not self._reading.balance(address, asset):
                found[number] = Unsweepable("empty")
        return found

    def _check(self, asset: Asset, deposits: tuple[int, ...]) -> None:
        most = self._profile.sweeps_per_transfer
        if not 1 <= len(deposits) <= most:
            raise ValueError(f"a sweep on {self._network} empties 1 to {most} deposit addresses")
        if asset != self._profile.native and asset.contract not in contracts(self._network):
            raise ValueError("only accepted coins and the network's own are swept")
