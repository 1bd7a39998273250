"""What is proved of the factory and of its clones, and that the proofs would notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import z3
from halmos.utils import EVM, con_addr

from payments.chains.evm.deposit_addresses.artifacts import CONTRACTS, artifact
from tests.proofs.engine import Ending, Unproven, anyone, called_with, encoded, endings, selector, term

FACTORY, FORWARDER, CLONE, TOKEN = (con_addr(0xFAC << 148 | number) for number in range(1, 5))
FACTORY_BUCKETS, FORWARDER_BUCKETS = 13, 3
"""By how much Vyper divides selectors in each of the two: another number makes the engine stop."""

SWEEP, SWEEP_NATIVE = "sweep(uint256[],address)", "sweep_native(uint256[])"
ACTIONS = ("flush(address,address)", "flush_native(address)", "pay(address,address,uint256)")
ROLES = ("owner", "pending_owner", "operator", "treasury")
TRANSFER = "transfer(address,uint256)"
MOST_SALTS = 200

PROXY = f"363d3d373d3d3d363d73{int(FORWARDER.as_long()):040x}5af43d82803e903d91602b57fd5bf3"
CREATION = f"602d3d8160093d39f3{PROXY}"
"""A clone (EIP-1167), and what creates one."""

# balanceOf says what is in slot 0, anything else what is in slot 1: both are symbols.
TOKEN_CODE = bytes.fromhex("60003560e01c6370a0823114601a5760015460005260206000f35b60005460005260206000f3")

SIZES = (*range(1, 6), 35, 36, 67, 68, 69, 99, 100, 101, 132, 164)
"""Bytes of calldata: around each number that a function asks for at least, and beyond. No function reads further."""


def codes(folder: Path = CONTRACTS) -> dict[Any, bytes]:
    """The two contracts and one clone as they stand on a chain, and a token that says anything."""

    def number(address: Any) -> int:
        return int(address.as_long())

    forwarder = artifact("Forwarder", folder).runtime + number(FACTORY).to_bytes(32, "big")
    factory = artifact("Factory", folder).runtime + number(FORWARDER).to_bytes(32, "big")
    return {FACTORY: factory, FORWARDER: forwarder, CLONE: bytes.fromhex(PROXY), TOKEN: TOKEN_CODE}


def _word(end: Ending) -> Any:
    """The word that a call returned."""
    return term(end.output.get_word(0), 256)


def people() -> tuple[dict[str, Any], list[Any]]:
    """Who has which role, in the terms of the storage before the call, and that each slot holds an address."""
    found, clean = {}, []
    for role in ROLES:
        [only] = endings(codes(), FACTORY, encoded(f"{role}()"), caller=anyone("reader"), value=z3.BitVecVal(0, 256))
        word = _word(only)
        found[role] = z3.Extract(159, 0, word)
        clean.append(z3.Extract(255, 160, word) == 0)
    return found, clean


PEOPLE, CLEAN = people()
HELD = _word(next(endings(codes(), TOKEN, encoded("balanceOf(address)", 0), caller=anyone("reader"))))
"""What the token says that anybody holds."""


def anything(size: int) -> Any:
    return z3.BitVec(f"data_{size}", size * 8)


def is_none_of(data: Any, *signatures: str) -> list[Any]:
    return [called_with(data) != selector(each) for each in signatures]


def sweeps(count: int, token: Any) -> Any:
    salts = [z3.BitVec(f"salt_{number}", 256) for number in range(count)]
    return encoded(SWEEP, 0x40, token, count, *salts)


def native_sweeps(count: int) -> Any:
    return encoded(SWEEP_NATIVE, 0x20, count, *(z3.BitVec(f"salt_{number}", 256) for number in range(count)))


def calls_to_factory(who: list[Any]) -> Iterator[Ending]:
    """All calls by whom these conditions leave: any calldata, and the two sweeps with lists of any salts."""
    given = [*CLEAN, *who]
    yield from endings(codes(), FACTORY, caller=anyone(), given=given)
    for size in SIZES:
        data = anything(size)
        others = [*given, *is_none_of(data, SWEEP, SWEEP_NATIVE)]
        yield from endings(codes(), FACTORY, data, caller=anyone(), given=others, buckets=FACTORY_BUCKETS)


def sweeps_by(who: list[Any], counts: tuple[int, ...]) -> Iterator[Ending]:
    for count in counts:
        for data in (sweeps(count, z3.BitVec("token", 160)), native_sweeps(count)):
            yield from endings(codes(), FACTORY, data, caller=anyone(), given=[*CLEAN, *who])


def isnt(*roles: str) -> list[Any]:
    return [anyone() != PEOPLE[role] for role in roles]


def nobody_else_moves_anything() -> Iterator[Ending]:
    """Whoever is neither owner nor operator, nor was offered the ownership, changes nothing and calls nobody."""
    strangers = isnt("owner", "operator", "pending_owner")
    for end in chain(calls_to_factory(strangers), sweeps_by(strangers, (0, 1, 2, MOST_SALTS))):
        _require(end.does_nothing, "a stranger changed something")
        yield end


def the_operator_only_sweeps() -> Iterator[Ending]:
    """The operator, where it is nobody else, changes nothing by any function but the two sweeps."""
    for end in calls_to_factory(isnt("owner", "pending_owner")):
        _require(end.does_nothing, "the operator changed something without a sweep")
        yield end


def only_the_operator_sweeps() -> Iterator[Ending]:
    """Whoever is not the operator, the owner included, gets a revert from both sweeps."""
    for end in sweeps_by(isnt("operator"), (0, 1, 2, MOST_SALTS)):
        _require(not end.succeeds, "somebody else swept")
        yield end


def a_sweep_pays_the_treasury_alone() -> Iterator[Ending]:
    """A sweep of one address, of two, and of the same one twice: the factory makes clones and calls them, and all that
    they do is to transfer what they hold of the named token to the treasury, or all native coins. No role changes."""
    treasury, salt, other = PEOPLE["treasury"], z3.BitVec("salt", 256), z3.BitVec("other", 256)
    # The treasury is none of the contracts here: what it does when it is paid is its own affair.
    given = [*CLEAN, anyone() == PEOPLE["operator"], *(treasury != address for address in codes())]
    for salts in ((salt,), (salt, salt), (salt, other)):
        most = 0
        data = encoded(SWEEP, 0x40, TOKEN, len(salts), *salts)
        for end in endings(codes(), FACTORY, data, caller=anyone(), given=given):
            _require_sweep(end, (ACTIONS[0], TOKEN, treasury), (TOKEN, TRANSFER, treasury, HELD))
            most = max(most, _paid(end))
            yield end
        _require(most == len(salts), "no path empties each of the addresses: this says nothing")
        most, data = 0, encoded(SWEEP_NATIVE, 0x20, len(salts), *salts)
        for end in endings(codes(), FACTORY, data, caller=anyone(), given=given):
            _require_sweep(end, (ACTIONS[1], treasury), (treasury,))
            most = max(most, _paid(end))
            yield end
        _require(most > 0, "no path empties an address of native coins: this says nothing")


def _paid(end: Ending) -> int:
    """How many transfers out of clones a call has made, where it succeeded."""
    out = [call for call in end.calls if call.scheme == EVM.CALL and not z3.eq(z3.simplify(call.caller), FACTORY)]
    return len(out) if end.succeeds else 0


def _require_sweep(end: Ending, asked: tuple[Any, ...], paid: tuple[Any, ...]) -> None:
    """What the factory asks clones for, and what they do then: a call of this target, with these words or none."""
    _require(end.writes == 0, "a sweep changed a role")
    for code in end.creations:
        _require(z3.eq(z3.simplify(code), z3.BitVecVal(int(CREATION, 16), 4 * len(CREATION))), "it made something else")
    for call in end.calls:
        if call.scheme == EVM.DELEGATECALL:
            # By a clone, whose code is compared above and names the forwarder; never by the factory itself.
            _require(not z3.eq(z3.simplify(call.target), FACTORY), "the factory ran code of somebody else")
        elif z3.eq(z3.simplify(call.caller), FACTORY):
            _require(end.must(z3.And(call.is_exactly(*asked), call.value == 0)), "the factory asked for something else")
        else:
            target, *words = paid
            _require(end.must(call.target == target), "a clone paid somebody else")
            said = call.is_exactly(*words) if words else z3.BoolVal(len(call.data) == 0)
            _require(end.must(z3.And(said, z3.Or(call.value == 0, not words))), "a clone did something else")


def a_clone_that_stands_pays_whom_the_factory_names() -> Iterator[Ending]:
    """`flush` and `pay` by the factory: one transfer of the token, to whom the factory names."""
    recipient, amount = z3.BitVec("recipient", 160), z3.BitVec("amount", 256)
    for data, units in (
        (encoded(ACTIONS[0], TOKEN, recipient), HELD),
        (encoded(ACTIONS[2], TOKEN, recipient, amount), amount),
    ):
        most = 0
        for end in endings(codes(), CLONE, data, caller=FACTORY, value=z3.BitVecVal(0, 256)):
            _require_sweep(end, ("never",), (TOKEN, TRANSFER, recipient, units))
            most = max(most, _paid(end))
            yield end
        _require(most == 1, "no path pays anybody: this says nothing")


def nobody_but_the_factory_moves_a_clone(folder: Path = CONTRACTS) -> Iterator[Ending]:
    """Whoever else calls a clone, or the code behind it, with whatever: nothing, and with calldata a revert."""
    for place in (CLONE, FORWARDER):
        for size in SIZES:
            given = [anyone() != FACTORY]
            for end in endings(
                codes(folder), place, anything(size), caller=anyone(), given=given, buckets=FORWARDER_BUCKETS
            ):
                _require(not end.succeeds, "a clone obeyed somebody else")
                yield end


def any_other_selector_on_a_clone_does_nothing(folder: Path = CONTRACTS) -> Iterator[Ending]:
    """Whoever calls, the factory included: a revert. Without calldata it takes native coins, and does nothing else."""
    for place in (CLONE, FORWARDER):
        for end in endings(codes(folder), place, caller=anyone()):
            is_still = all(call.scheme == EVM.DELEGATECALL for call in end.calls) and not end.creations
            _require(end.succeeds and is_still and not end.writes + end.logs, "a clone did something without calldata")
            yield end
        for size in SIZES:
            data = anything(size)
            given = is_none_of(data, *ACTIONS)
            for end in endings(codes(folder), place, data, caller=anyone(), given=given, buckets=FORWARDER_BUCKETS):
                _require(not end.succeeds, "a clone took an unknown selector for something")
                yield end


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Unproven(otherwise)


PROPERTIES: tuple[Callable[[], Iterator[Ending]], ...] = (
    nobody_else_moves_anything,
    the_operator_only_sweeps,
    only_the_operator_sweeps,
    a_sweep_pays_the_treasury_alone,
    a_clone_that_stands_pays_whom_the_factory_names,
    nobody_but_the_factory_moves_a_clone,
    any_other_selector_on_a_clone_does_nothing,
)


def strangers_who_may_be_the_operator() -> Iterator[Ending]:
    for end in sweeps_by(isnt("owner", "pending_owner"), (1,)):
        _require(end.does_nothing, "found")
        yield end


def sweeps_that_pay_the_operator() -> Iterator[Ending]:
    operator, given = PEOPLE["operator"], [*CLEAN, anyone() == PEOPLE["operator"]]
    for end in endings(codes(), FACTORY, sweeps(1, TOKEN), caller=anyone(), given=given):
        _require_sweep(end, (ACTIONS[0], TOKEN, PEOPLE["treasury"]), (TOKEN, TRANSFER, operator, HELD))
        yield end


def clones_of_version_1_that_refuse_unknown_selectors() -> Iterator[Ending]:
    return any_other_selector_on_a_clone_does_nothing(Path(__file__).parent / "version_1")


FALSE: tuple[Callable[[], Iterator[Ending]], ...] = (
    strangers_who_may_be_the_operator,
    sweeps_that_pay_the_operator,
    clones_of_version_1_that_refuse_unknown_selectors,
)
"""What does not hold: the engine must find a path that shows it."""
