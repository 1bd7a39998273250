"""How a block of a simulated network is filled: who gets in, what moves, and what it costs."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from payments.chains.simulated.blocks import NATIVE, Timetable, holdings, next_sequences
from payments.chains.simulated.models import (
    SimulatedAccount,
    SimulatedNetwork,
    SimulatedStatus,
    SimulatedTransaction,
    SimulatedTransfer,
)
from payments.chains.simulated.networks import is_evm, mint, price, treasury

_UNENFORCED = "memo_required"
"""The one refusal that is a custom among wallets: the network itself carries money without a memo."""

_FORBIDDEN = "destination_refused"


def fill(row: SimulatedNetwork, height: int) -> None:
    """Give everything that waits to the block at this height, oldest first."""
    waiting = list(
        SimulatedTransaction.objects.filter(network=row.network, status=SimulatedStatus.PENDING)
        .order_by("id")
        .prefetch_related("transfers")
    )
    if not waiting:
        return
    closed_at = Timetable(row, height, height).closed_at(height)
    block = Block(row, height, closed_at, waiting)
    while waiting:
        held_back = [candidate for candidate in waiting if not block.take(candidate)]
        if len(held_back) == len(waiting):
            break
        waiting = held_back  # what waited for an earlier sequence may fit now
    for (status, error, fee), keys in block.outcomes.items():
        in_a_block = status != SimulatedStatus.DROPPED
        SimulatedTransaction.objects.filter(pk__in=keys).update(
            status=status, error=error, fee_units=fee, height=height if in_a_block else None
        )
    SimulatedTransaction.objects.bulk_update(block.refused, ["refused"])
    SimulatedTransfer.objects.bulk_create(block.swept)


class Block:
    """A block being filled: what those who pay still hold, and which sequence each sender must use next."""

    def __init__(
        self, row: SimulatedNetwork, height: int, closed_at: datetime, waiting: list[SimulatedTransaction]
    ) -> None:
        transfers = [transfer for candidate in waiting for transfer in candidate.transfers.all()]
        senders = {candidate.sender for candidate in waiting}
        emptied = {address for candidate in waiting for address in candidate.swept_addresses}
        contracts = {transfer.contract for transfer in transfers} | {candidate.swept_contract for candidate in waiting}
        self._closed_at = closed_at
        self._price = price(row.network, row.fee_level)
        self._mint = mint(row.network)
        self._treasury = treasury(row.network)
        payers = (senders | emptied | {transfer.source for transfer in transfers}) - {self._mint}
        self._held = defaultdict(int, holdings(row.network, payers, contracts | {NATIVE}, at_height=height - 1))
        self._expected = next_sequences(row.network, senders, pending=False)
        concerned = contracts | payers | {transfer.recipient for transfer in transfers} | {self._treasury}
        refusing = SimulatedAccount.objects.filter(network=row.network, address__in=concerned)
        self._refusals = dict(refusing.exclude(refuses__in=["", _UNENFORCED]).values_list("address", "refuses"))
        self._names_refused = not is_evm(row.network)
        self.outcomes: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
        self.refused: list[SimulatedTransaction] = []
        self.swept: list[SimulatedTransfer] = []

    def take(self, candidate: SimulatedTransaction) -> bool:
        """Settle what becomes of a candidate; False when it must wait."""
        if candidate.valid_until is not None and candidate.valid_until < self._closed_at:
            self.outcomes[SimulatedStatus.DROPPED, "expired", 0].append(candidate.pk)
            return True
        if candidate.sequence is not None and candidate.sequence != self._expected[candidate.sender]:
            return False
        fee = 0
        if candidate.fee_offer is not None:
            reserve, payer = candidate.fee_offer * candidate.work, candidate.fee_payer or candidate.sender
            if candidate.fee_offer < self._price or self._held[payer, NATIVE] < reserve:
                return False
            fee = self._price * candidate.work
            self._held[payer, NATIVE] -= fee
        if candidate.sequence is not None:
            self._expected[candidate.sender] += 1
        error = self._obstacle(candidate)
        status = SimulatedStatus.FAILED if error else SimulatedStatus.INCLUDED
        self.outcomes[status, error, fee].append(candidate.pk)
        if not error:
            swept = self._sweep(candidate)
            self.swept += swept
            for transfer in [*candidate.transfers.all(), *swept]:
                self._held[transfer.source, transfer.contract] -= transfer.amount
                self._held[transfer.recipient, transfer.contract] += transfer.amount
        return True

    def _obstacle(self, candidate: SimulatedTransaction) -> str:
        """Why nothing of it can move. One transfer that cannot be made undoes all of them."""
        if candidate.sender == self._mint:
            return ""
        spent: dict[tuple[str, str], int] = defaultdict(int)
        refused: dict[int, str] = {}
        for transfer in candidate.transfers.all():
            if transfer.contract in self._refusals:
                return f"transfer {transfer.ordinal}: the coin is paused"
            if self._refusals.get(transfer.source) == _FORBIDDEN:
                return f"transfer {transfer.ordinal}: the sender is forbidden to pay"
            if refusal := self._refusals.get(transfer.recipient):
                refused[transfer.ordinal] = refusal
            spent[transfer.source, transfer.contract] += transfer.amount
        if refused:
            if self._names_refused:
                candidate.refused = refused
                self.refused.append(candidate)
            ordinal, refusal = next(iter(refused.items()))
            return f"transfer {ordinal}: {refusal}"
        is_covered = all(self._held[holder] >= amount for holder, amount in spent.items())
        return "" if is_covered else "insufficient balance"

    def _sweep(self, candidate: SimulatedTransaction) -> list[SimulatedTransfer]:
        """What a sweep moves: everything there is. An address that is empty or forbidden to pay is passed over."""
        contract = candidate.swept_contract
        if not candidate.swept_addresses or {self._treasury, contract} & self._refusals.keys():
            return []
        found = {
            address: self._held[address, contract]
            for address in candidate.swept_addresses
            if self._refusals.get(address) != _FORBIDDEN and self._held[address, contract] > 0
        }
        return [
            SimulatedTransfer(
                transaction=candidate,
                ordinal=ordinal,
                contract=contract,
                amount=amount,
                source=address,
                recipient=self._treasury,
            )
            for ordinal, (address, amount) in enumerate(found.items())
        ]
