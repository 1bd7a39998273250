"""Executes payouts: signs and sends what is due, wallet by wallet.

Every request to a network is made between two short database transactions. What a round did not do, or lost when its
process died, the next round finds in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from config.money import Asset
from config.periodic import task_runs
from config.periodic.containment import contained
from payments.chains import registry
from payments.chains.errors import NotSetUp, SignerRefused, SignerUnavailable
from payments.chains.protocol.chain import Chain, sweeps_of
from payments.transfers import services
from payments.transfers.execution.nonces import Sequences
from payments.transfers.execution.rounds import Round
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus
from payments.transfers.wallets import hold, replaced_wallets, wallet_of

RUN = timedelta(seconds=60)
"""After so long no further round begins: the next periodic task is at most a second away."""

ROUNDS_MAX = 20
"""Rounds of each wallet in one run."""


def run_due() -> None:
    """Run rounds of every wallet that has something due, alternating, so that none waits until another is done."""
    began_at = now = timezone.now()
    keys = sorted({key for rows in due_rows(now) for key in rows.values_list("environment", "network").distinct()})
    for _ in range(ROUNDS_MAX):
        if timezone.now() - began_at >= RUN:
            break
        keys = [key for key in keys if _run_contained(*key)]
    task_runs.note(task_runs.WALLETS)


def due_rows(now: datetime) -> tuple[QuerySet[Payout], QuerySet[Transfer]]:
    """The payouts and transfers whose next step is due."""
    due = Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD], next_attempt_at__lte=now)
    return due, Transfer.objects.filter(status__in=OPEN_TRANSFERS, next_step_at__lte=now)


def _run_contained(environment: str, network: str) -> bool:
    """As run_round; logged, and False, when it fails."""
    moved = False
    with contained("round of a wallet failed", environment=environment, network=network):
        moved = run_round(environment, network)
    return moved  # noqa: RET504 - what fails is not returned above


def check_set_up(environment: str, network: str) -> None:
    """Raise NotSetUp, and note it on the wallet, when this process could not send on the network."""
    chain = registry.chain(environment, network)
    try:
        chain.set_up.require(signing=True)
    except NotSetUp as error:
        Wallet.objects.filter(pk=wallet_of(environment, network, chain).pk).update(last_error=str(error)[:1000])
        raise


def run_round(environment: str, network: str) -> bool:
    """Run one round of a network's wallet; True when it got something done, and another may do more.

    What hot wallets of before have on its way is followed to its end beside it, though nothing is signed for them.
    """
    chain = registry.chain(environment, network)
    wallet = wallet_of(environment, network, chain)
    with hold(wallet) as held:
        if not held:
            return False
        moved = Round(wallet, chain).run()
    for replaced in replaced_wallets(wallet):
        with hold(replaced) as held:
            if held:
                moved |= Round(replaced, chain, is_replaced=True).run()
    task_runs.note(task_runs.WALLETS, f"{environment} {network}")
    return moved


def sign_sweep(
    *,
    environment: str,
    chain: Chain,
    asset: Asset,
    sequences: Sequence[int],
    record: Callable[[Transfer], None],
) -> Transfer | None:
    """Sign a sweep of an asset from the deposit addresses of these numbers. The next round sends it.

    `record` writes, in the same database transaction, what is swept. Returns None when nothing can be signed now, for
    example while payouts are due. The wallet is not locked during the queries to the network, however long they take:
    if a payout is signed meanwhile, the sweep is discarded.
    """
    wallet = wallet_of(environment, chain.profile.network, chain)
    chain.set_up.require(signing=True)
    here = Round(wallet, chain)
    sequence = Sequences(wallet, chain).next("") if here.may_sweep else None
    if sequence is None:
        return None
    try:
        signed = sweeps_of(chain).sign(asset, tuple(sequences), sender=wallet.address, sequence=sequence)
    except (SignerRefused, SignerUnavailable) as error:
        services.note_not_signed(wallet, reason=str(error), is_refused=isinstance(error, SignerRefused))
        raise
    return services.record_signed_sweep(wallet, signed, asset=asset, deposits=sequences, record=record)
