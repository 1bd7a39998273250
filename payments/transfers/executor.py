"""Brings what is to be paid onto the chain, one wallet at a time.

Every question to the network stands between two short database transactions. What a round did not get to, or lost when
its process died, the next one finds in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from django.utils import timezone

from config import pulses
from config.containment import contained
from config.money import Asset
from payments.chains import registry
from payments.chains.errors import NotSetUp
from payments.transfers import services
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.rounds import Round
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus
from payments.transfers.wallets import hold, wallet_of

RUN = timedelta(seconds=60)
"""After so long no further round is begun: beat asks again within a second."""

ROUNDS_MAX = 20
"""Rounds of each wallet, one after the other."""


def drive_due() -> None:
    """Every wallet that has something to do, in turn: none waits until another is done."""
    began_at = now = timezone.now()
    due = Payout.objects.filter(
        status__in=[PayoutStatus.READY, PayoutStatus.HELD], next_attempt_at__lte=now
    ).values_list("environment", "network")
    stepping = Transfer.objects.filter(status__in=OPEN_TRANSFERS, next_step_at__lte=now)
    places = sorted(set(due.distinct()) | set(stepping.values_list("environment", "network").distinct()))
    for _ in range(ROUNDS_MAX):
        if timezone.now() - began_at >= RUN:
            break
        places = [place for place in places if _drive_once(*place)]
    pulses.note(pulses.WALLETS)


def _drive_once(environment: str, network: str) -> bool:
    """As drive; False, and the log tells of it, when it fails."""
    moved = False
    with contained("wallet could not be driven", environment=environment, network=network):
        moved = drive(environment, network)
    return moved  # noqa: RET504 - what fails is not returned above


def check_set_up(environment: str, network: str) -> None:
    """NotSetUp, which operators see on the wallet, unless this process could send on the network."""
    chain = registry.chain(environment, network)
    try:
        chain.require_set_up(signing=True)
    except NotSetUp as error:
        Wallet.objects.filter(pk=wallet_of(environment, network, chain).pk).update(last_error=str(error)[:1000])
        raise


def drive(environment: str, network: str) -> bool:
    """One round for the wallet of a network; True when it got something done and another may do more."""
    chain = registry.chain(environment, network)
    wallet = wallet_of(environment, network, chain)
    with hold(wallet) as held:
        if not held:
            return False
        moved = Round(wallet, chain).run()
    pulses.note(pulses.WALLETS, f"{environment} {network}")
    return moved


def sign_sweep(
    *,
    environment: str,
    network: str,
    asset: Asset,
    sequences: Sequence[int],
    record: Callable[[Transfer], None],
) -> Transfer | None:
    """Have an asset brought from the deposit addresses of these numbers to the hot wallet. The next round sends it.

    `record` writes, in the same database transaction, what is swept. None when nothing can be signed just now, as while
    payouts are due. The wallet is not held while the network is asked, however long that takes: if a payout is signed
    meanwhile, what was signed here is forgotten.
    """
    chain = registry.chain(environment, network)
    wallet = wallet_of(environment, network, chain)
    chain.require_set_up(signing=True)
    here = Round(wallet, chain)
    sequence = here.sequence() if here.may_sweep else None
    if sequence is None:
        return None
    signed = chain.sign_sweep(asset, tuple(sequences), sender=wallet.address, sequence=sequence)
    return services.record_signed_sweep(wallet, signed, asset=asset, deposits=sequences, record=record)
