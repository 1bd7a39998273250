"""The simulated networks as a harness of the contract suite; their clocks stand still."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from datetime import timedelta

from django.utils import timezone

from payments.chains.errors import RecipientProblem
from payments.chains.protocol.chain import Chain
from payments.chains.simulated import control
from payments.chains.simulated.adapter import SimulatedChain
from payments.chains.simulated.blocks import NATIVE
from payments.chains.simulated.networks import address_from, is_evm, own_accounts, simulated_profile
from payments.chains.stellar import addresses as stellar_addresses
from tests.chains.harness import Outcome
from tests.networks import look_alike

EVM_PROBLEMS = ("destination_refused",)
"""What an account can refuse for where it needs no setting up to hold a token."""


class Simulation:
    shows_waiting = True
    has_transfers_of_nothing = True

    def __init__(self, network: str) -> None:
        self.network = network
        self.versions_are_one = self.takes_next_alone = not is_evm(network)
        self.chain: Chain = SimulatedChain(simulated_profile(network))
        self.deepest_reorg = control.deepest_reorg(network)
        self.foreign_contract = look_alike(network)

    def impatient(self, transactions: int) -> Chain:
        return SimulatedChain(simulated_profile(self.network), scan_transactions=transactions)

    def pay(self, *parts: tuple[str, int, str, str | None], sender: str | None = None) -> str:
        return control.pay_together(self.network, [control.Part(*part) for part in parts], sender=sender)

    def stranger(self, number: int) -> str:
        return address_from(self.network, hashlib.sha256(b"stranger %d" % number).digest())

    def fund(self, address: str, code: str, amount: int) -> None:
        control.fund(self.network, address=address, code=code, amount=amount)

    def mine(self, count: int = 1) -> None:
        control.mine(self.network, count)

    def reorg(self, depth: int, outcome: Outcome) -> None:
        control.reorg(self.network, depth, outcome)

    def rewrite_finality(self) -> None:
        control.reorg(self.network, self.deepest_reorg + 1, "kept", force=True)

    def raise_fees(self, times: int) -> None:
        control.set_fee_level(self.network, times)

    def fund_native(self, address: str, amount: int) -> None:
        control.fund_native(self.network, address=address, amount=amount)

    def pay_native(self, address: str, amount: int) -> str:
        return self.pay((NATIVE, amount, address, None))

    def drain_native(self, address: str) -> None:
        control.drain_native(self.network, address=address)

    def refuse(self, address: str, problem: RecipientProblem) -> bool:
        if is_evm(self.network) and problem not in EVM_PROBLEMS:
            return False
        control.describe_account(self.network, address, refuses=problem)
        return True

    def pause(self, code: str, *, is_paused: bool) -> bool:
        control.pause_coin(self.network, code, is_paused=is_paused)
        return True

    def muxed(self, address: str, identifier: int) -> str:
        return stellar_addresses.mux(address, identifier)

    def contract(self) -> str:
        address = self.stranger(1_000)
        control.describe_account(self.network, address, is_contract=True)
        return address

    def own_contracts(self) -> Collection[str]:
        return own_accounts(self.network) - {self.chain.payout_address()}

    def forget_waiting(self) -> None:
        control.evict_waiting(self.network)

    def break_down(self) -> None:
        control.outage(self.network, 3600)

    def recover(self) -> None:
        control.outage(self.network, 0)

    def lose_next_broadcast(self) -> None:
        control.lose_broadcasts(self.network, 1)

    def time_out_next_broadcast(self) -> None:
        control.time_out_broadcasts(self.network, 1)

    def let_time_pass(self, seconds: int) -> None:
        control.mine(self.network, at=timezone.now() + timedelta(seconds=seconds))
