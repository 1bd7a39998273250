"""A contract that names sanctioned accounts: `isSanctioned(address) returns (bool)`, as Chainalysis publishes one."""

from __future__ import annotations

from collections.abc import Sequence

from payments.chains.evm import abi
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.rpc import RpcError
from payments.chains.protocol.oracles import Verdicts

MOST_GAS = 1_000_000
"""Limit of gas of a query, stated so that every provider uses the same one and replies alike."""


class SanctionsOracle:
    """Its answers are believed when providers give the same one after the same block."""

    def __init__(self, providers: Providers, address: str) -> None:
        self._providers, self.address = providers, address

    def verdicts(self, accounts: Sequence[str]) -> Verdicts:
        height = self._providers.head().height
        calls = [abi.call("isSanctioned(address)", account) for account in accounts]
        answers = self._providers.agree_each(
            *(questions.result(self.address, call, height, gas=MOST_GAS) for call in calls)
        )
        return Verdicts(
            height, {each: bool(abi.uint(said)) for each, said in zip(accounts, answers, strict=True) if _is_bool(said)}
        )


def _is_bool(answer: bytes | RpcError) -> bool:
    """False also of the empty answer of an address where no contract is."""
    return isinstance(answer, bytes) and len(answer) == abi.WORD and abi.uint(answer) in (0, 1)
