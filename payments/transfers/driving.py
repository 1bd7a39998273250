"""Brings what is to be paid onto the chain, one wallet at a time.

Every question to the network stands between two short database transactions. What a round did not get to, or lost when
its process died, the next one finds in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog
from django.utils import timezone

from config.money import Asset
from payments.chains import registry
from payments.chains.errors import NotSetUp
from payments.transfers import services
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.rounds import Round
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus
from payments.transfers.wallets import hold, wallet_of

logger = structlog.get_logger(__name__)

ROUNDS_MAX = 20


def drive_due() -> None:
    """Every wallet that has something to do."""
    now = timezone.now()
    due = Payout.objects.filter(
        status__in=[PayoutStatus.READY, PayoutStatus.HELD], next_attempt_at__lte=now
    ).values_list("environment", "network")
    stepping = Transfer.objects.filter(status__in=OPEN_TRANSFERS, next_step_at__lte=now)
    places = set(due.distinct()) | set(stepping.values_list("environment", "network").distinct())
    for environment, network in sorted(places):
        try:
            for _ in range(ROUNDS_MAX):
                if not drive(environment, network):
                    break
        except Exception:  # one network must not keep the others from being paid on
            logger.exception("wallet could not be driven", environment=environment, network=network)


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
        return Round(wallet, chain).run()


def sign_sweep(
    *,
    environment: str,
    network: str,
    asset: Asset,
    sequences: Sequence[int],
    record: Callable[[Transfer], None],
) -> Transfer | None:
    """Have an asset brought from the deposit addresses of these numbers to the hot wallet. The next round sends it.

    `record` writes, in the same database transaction, what is swept. None when nothing can be signed just now.
    """
    chain = registry.chain(environment, network)
    wallet = wallet_of(environment, network, chain)
    with hold(wallet) as held:
        if not held:
            return None
        chain.require_set_up(signing=True)
        turn = Round(wallet, chain)
        sequence = turn.sequence() if turn.may_send and turn.places > 0 else None
        if sequence is None:
            return None
        signed = chain.sign_sweep(asset, tuple(sequences), sender=wallet.address, sequence=sequence)
        return services.record_signed_sweep(wallet, signed, asset=asset, deposits=sequences, record=record)
