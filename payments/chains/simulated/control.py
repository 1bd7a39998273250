"""The handle on the simulated networks: pay, mine, reorganise, break. For the sandbox, tests and demonstrations."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from config.database.database_time import database_now
from payments.chains.errors import RecipientProblem
from payments.chains.networks import NETWORKS
from payments.chains.simulated import actions, clock, mempool
from payments.chains.simulated.actions import Action, Movement, Outcome, ReorgTooDeep
from payments.chains.simulated.blocks import NATIVE, holdings, next_sequences
from payments.chains.simulated.clock import locked
from payments.chains.simulated.models import ScheduledAction, SimulatedAccount
from payments.chains.simulated.networks import mint, simulated_profile

__all__ = [
    "Outcome",
    "Part",
    "ReorgTooDeep",
    "deepest_reorg",
    "describe_account",
    "destroy",
    "drain_native",
    "evict_waiting",
    "fund",
    "fund_native",
    "lose_broadcasts",
    "mine",
    "outage",
    "pause_coin",
    "pay",
    "pay_together",
    "prepare_account",
    "reorg",
    "revive",
    "schedule",
    "set_fee_level",
    "time_out_broadcasts",
]


@dataclass(frozen=True, slots=True)
class Part:
    """One of several transfers inside one on-chain transaction."""

    contract: str
    amount: int
    recipient: str
    memo: str | None = None


def pay(
    network: str,
    *,
    recipient: str,
    contract: str,
    amount: int,
    memo: str | None = None,
    sender: str | None = None,
    at: datetime | None = None,
) -> str:
    """Somebody pays: the transfer goes into the next block. Returns its transaction hash.

    The payer is a new one each time unless named, and always has the money. `at` is the present instant,
    for tests that bring their own clock.
    """
    return pay_together(network, [Part(contract, amount, recipient, memo)], sender=sender, at=at)


def pay_together(network: str, parts: Iterable[Part], *, sender: str | None = None, at: datetime | None = None) -> str:
    """Several transfers of one payer in one on-chain transaction, in this order. Returns its hash."""
    with locked(network, at) as row:
        return actions.pay(row, movements=_movements(network, parts), sender=sender)


def fund(network: str, *, address: str, code: str, amount: int) -> str:
    """Give an address new money of an accepted coin, in the next block."""
    part = Part(simulated_profile(network).assets[code].contract, amount, address)
    with locked(network) as row:
        return actions.fund(row, movements=_movements(network, [part]))


def fund_native(network: str, *, address: str, amount: int) -> str:
    """Give an address new base units of the native coin, in the next block."""
    part = Part(NATIVE, amount, address)
    with locked(network) as row:
        return actions.fund(row, movements=_movements(network, [part]))


def drain_native(network: str, *, address: str) -> str:
    """Take away all that an address holds of the native coin, in the next block: it can pay no fee then."""
    with locked(network) as row:
        held = holdings(network, [address], [NATIVE], at_height=row.height)[address, NATIVE]
        taken = Movement(contract=NATIVE, amount=held, recipient=mint(network), memo="")
        return actions.submit(row, sender=mint(network), sequence=None, movements=[taken], source=address)


def destroy(network: str, *, address: str, code: str, amount: int) -> str:
    """The issuer of a coin destroys so many base units of it at an address, in the next block."""
    contract = simulated_profile(network).assets[code].contract
    taken = Movement(contract=contract, amount=amount, recipient=mint(network), memo="")
    with locked(network) as row:
        return actions.submit(row, sender=mint(network), sequence=None, movements=[taken], source=address)


def prepare_account(network: str, address: str) -> str:
    """The holder of an account prepares it, in the next block: that uses a sequence, and moves nothing."""
    with locked(network) as row:
        sequence = next_sequences(network, [address], pending=True)[address]
        return actions.submit(row, sender=address, sequence=sequence, movements=[])


def describe_account(
    network: str, address: str, *, is_contract: bool = False, refuses: RecipientProblem | Literal[""] = ""
) -> None:
    """Set the special properties of an address; without any, it is an ordinary account again.

    The network itself enforces a refusal from the next block on, except for `memo_required`, which only senders
    that check first respect.
    """
    account, _ = actions.split_address(network, address)
    SimulatedAccount.objects.update_or_create(
        network=network, address=account, defaults={"is_contract": is_contract, "refuses": refuses}
    )


def pause_coin(network: str, code: str, *, is_paused: bool = True) -> None:
    """From the next block on, nobody can send this coin, or everybody can again."""
    SimulatedAccount.objects.update_or_create(
        network=network,
        address=simulated_profile(network).assets[code].contract,
        defaults={"refuses": "destination_refused" if is_paused else ""},
    )


def set_fee_level(network: str, level: int) -> None:
    """Set the price from the next block on to so many times the usual one: above 1, a spike."""
    if level < 1:
        raise ValueError("a network is never cheaper than usual")
    with locked(network) as row:
        row.fee_level = level
        row.save(update_fields=["fee_level"])


def evict_waiting(network: str) -> None:
    """Every node forgets the signed transfers that wait for a block, as nodes do when they are full or restarted."""
    with locked(network) as row:
        mempool.evict(row)


def revive(network: str, transaction_hash: str) -> None:
    """A forgotten or replaced version of a transfer waits again, in place of the version that waits now.

    Networks promise nothing else: whoever has seen the bytes may put them into a block.
    """
    with locked(network) as row:
        mempool.revive(row, transaction_hash)


def mine(network: str, count: int = 1, *, at: datetime | None = None) -> int:
    """Add blocks at once; returns the new height. The clock goes on from there."""
    with locked(network) as row:
        clock.mine(row, count, at or database_now())
        return row.height


def deepest_reorg(network: str) -> int:
    """How many blocks a reorg may replace without touching a final one; 0 where every block is final."""
    return NETWORKS[network].simulation.finality_depth


def reorg(
    network: str,
    depth: int,
    outcome: Outcome = "moved",
    *,
    only: Collection[str] | None = None,
    force: bool = False,
) -> None:
    """Replace the newest blocks; ReorgTooDeep when one of them is final, unless forced."""
    with locked(network) as row:
        actions.reorg(row, depth=depth, outcome=outcome, only=only, force=force)


def outage(network: str, seconds: float) -> None:
    """Nobody answers for so many seconds from now; 0 ends an outage."""
    with locked(network) as row:
        row.outage_until = database_now() + timedelta(seconds=seconds)
        row.save(update_fields=["outage_until"])


def lose_broadcasts(network: str, count: int) -> None:
    """The next broadcasts are accepted and never heard of again."""
    with locked(network) as row:
        row.broadcasts_to_lose = count
        row.save(update_fields=["broadcasts_to_lose"])


def time_out_broadcasts(network: str, count: int) -> None:
    """The next broadcasts arrive, but the caller hears only of a time-out."""
    with locked(network) as row:
        row.broadcasts_to_time_out = count
        row.save(update_fields=["broadcasts_to_time_out"])


def schedule(network: str, action: Action, *, after_blocks: int, **arguments: Any) -> None:
    """Let something happen by itself once so many more blocks are there.

    `pay` takes `parts` and perhaps `sender`, and what is paid then stands in the block after; `reorg` takes what the
    function above takes, and is left out if it would undo a final block by then; `outage` takes `seconds`.
    """
    if after_blocks < 1:
        raise ValueError("only what is still to come can be scheduled")
    if action == "pay":
        arguments["movements"] = _movements(network, arguments.pop("parts"))
    with locked(network) as row:
        inspect.signature(actions.ACTIONS[action]).bind(row, **arguments)
        ScheduledAction.objects.create(
            network=row, height=row.height + after_blocks, action=action, arguments=arguments
        )


def _movements(network: str, parts: Iterable[Part]) -> list[Movement]:
    return [actions.movement(network, **asdict(part)) for part in parts]
