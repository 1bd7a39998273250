"""Runs bytecode of a contract with symbols in the place of callers, calldata and storage, on every path there is.

A path that the engine cannot follow raises Unproven: nothing is proved by leaving something out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3
from eth_hash.auto import keccak
from halmos.__main__ import mk_block, mk_solver
from halmos.bitvec import HalmosBitVec
from halmos.bytevec import ByteVec
from halmos.calldata import FunctionInfo
from halmos.config import ConfigSource, default_config
from halmos.exceptions import HalmosException
from halmos.mapper import BuildOut
from halmos.sevm import OP_MOD, SEVM, CallContext, Contract, EventLog, Message, Path, StorageWrite
from halmos.utils import EVM

MOST_BUCKETS = 64
"""Vyper finds a function by its selector's remainder. Divisors up to this are taken for such."""

NOBODYS_CLOCK_MS = 600_000
"""A question to the solver ends with an answer; one that takes ten minutes ends the proof."""

logging.getLogger("halmos").setLevel(logging.ERROR)
# halmos looks up sources of what contracts create, to show them.
BuildOut().set_build_out({})
OPTIONS = default_config().with_overrides(
    ConfigSource.command_line,
    storage_layout="generic",
    no_status=True,
    solver_timeout_branching=NOBODYS_CLOCK_MS,
    loop=1_000,
)


class Unproven(Exception):
    """Something that must never be was found, or a path could not be followed; the message says which."""


class _Engine(SEVM):  # type: ignore[misc]
    """Takes the remainder of a selector for the number that this path says it is: places in code are then numbers."""

    def arith(self, ex: Any, op: int, w1: Any, w2: Any) -> Any:
        if op == OP_MOD and w2.is_concrete and not w1.is_concrete and int(w2) <= MOST_BUCKETS:
            for bucket in range(int(w2)):
                if ex.check(z3.URem(w1.as_z3(), w2.as_z3()) != bucket) == z3.unsat:
                    return HalmosBitVec(bucket, size=256)
            raise Unproven("a remainder that no case is about")
        return super().arith(ex, op, w1, w2)


@dataclass(frozen=True)
class Call:
    """One that can change something, by one contract of another or, by DELEGATECALL, of code for itself."""

    scheme: int
    caller: Any
    target: Any
    data: Any
    value: Any

    def is_exactly(self, signature: str, *words: Any) -> Any:
        """Whether its calldata is this one."""
        wanted = encoded(signature, *words)
        if 8 * len(self.data) != wanted.size():
            return z3.BoolVal(False)
        return term(self.data.unwrap(), wanted.size()) == wanted


@dataclass(frozen=True)
class Ending:
    """How a path ends. Effects of what was reverted in between are none."""

    path: Any
    succeeds: bool
    writes: int
    logs: int
    creations: tuple[Any, ...]
    calls: tuple[Call, ...]
    output: Any

    @property
    def does_nothing(self) -> bool:
        return not self.succeeds or not (self.writes or self.logs or self.creations or self.calls)

    def must(self, condition: Any) -> bool:
        """Whether it holds wherever this path is taken."""
        return bool(self.path.check(z3.Not(condition)) == z3.unsat)


def term(said: Any, bits: int) -> Any:
    if isinstance(said, bytes):
        return z3.BitVecVal(int.from_bytes(said), bits)
    return said.as_z3() if hasattr(said, "as_z3") else said


def selector(signature: str) -> int:
    return int.from_bytes(keccak(signature.encode())[:4])


def anyone(name: str = "caller") -> Any:
    return z3.BitVec(name, 160)


def encoded(signature: str, *words: Any) -> Any:
    """Calldata of words, numbers or symbols of up to 256 bits."""
    parts = [z3.BitVecVal(selector(signature), 32)]
    for each in words:
        word = z3.BitVecVal(each, 256) if isinstance(each, int) else each
        parts.append(z3.ZeroExt(256 - word.size(), word) if word.size() < 256 else word)
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def called_with(data: Any) -> Any:
    """The selector in calldata of at least one byte, as a contract reads it: what is missing counts as zeros."""
    bits = data.size()
    return z3.Extract(bits - 1, bits - 32, data) if bits >= 32 else z3.Concat(data, z3.BitVecVal(0, 32 - bits))


def endings(
    codes: Mapping[Any, bytes],
    target: Any,
    data: Any = None,
    *,
    caller: Any,
    value: Any = None,
    given: Sequence[Any] = (),
    buckets: int = 1,
) -> Iterator[Ending]:
    """Every way in which a call ends. `data` is None for none; `given` is what holds before. With `buckets` above 1 the
    selector is a symbol, and each of its remainders a case of its own."""
    contracts = {address: Contract(code) for address, code in codes.items()}
    for bucket in range(buckets):
        engine = _Engine(OPTIONS, FunctionInfo("Contract", "call", "call()", "00000000"))
        path = Path(mk_solver(OPTIONS))
        for each in given:
            path.append(each)
        if buckets > 1:
            path.append(z3.URem(z3.ZeroExt(224, called_with(data)), z3.BitVecVal(buckets, 256)) == bucket)
        storage = {address: engine.mk_storagedata() for address in contracts}
        for each in storage.values():
            each.symbolic = True
        message = Message(
            target=target,
            caller=caller,
            origin=z3.BitVec("origin", 160),
            value=z3.BitVec("value", 256) if value is None else value,
            data=ByteVec() if data is None else ByteVec(data),
            call_scheme=EVM.CALL,
        )
        begin = engine.mk_exec(
            code=contracts,
            storage=storage,
            transient_storage={address: engine.mk_storagedata() for address in contracts},
            balance=z3.Array("balance", z3.BitVecSort(160), z3.BitVecSort(256)),
            block=mk_block(),
            context=CallContext(message),
            pgm=contracts[target],
            path=path,
        )
        for end in engine.run(begin):
            yield _ending(end)
        if engine.logs.bounded_loops:
            raise Unproven("a loop was not followed to its end")


def _ending(end: Any) -> Ending:
    context = end.context
    if context.is_stuck() or isinstance(context.output.error, HalmosException):
        raise Unproven(f"a path could not be followed: {context.get_stuck_reason() or context.output.error}")
    writes, logs, creations, calls = 0, 0, [], []
    for each in _effects(context):
        if isinstance(each, StorageWrite):
            writes += 1
        elif isinstance(each, EventLog):
            logs += 1
        elif (said := each.message).is_create():
            creations.append(said.data)
        elif said.call_scheme != EVM.STATICCALL:
            caller, target, value = term(said.caller, 160), term(said.target, 160), term(said.value, 256)
            calls.append(Call(said.call_scheme, caller, target, said.data, value))
    succeeds = context.output.error is None
    return Ending(end.path, succeeds, writes, logs, tuple(creations), tuple(calls), context.output.data)


def _effects(context: Any) -> Iterator[Any]:
    """What happened and was not reverted, calls themselves included."""
    for each in context.trace:
        if isinstance(each, CallContext):
            if each.output.error is None:
                yield each
                yield from _effects(each)
        elif isinstance(each, StorageWrite | EventLog):
            yield each
