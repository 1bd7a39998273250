"""Asks networks what their wallets hold and what sending costs, for pages and alarms, which only read rows."""

from __future__ import annotations

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from payments.chains import registry
from payments.chains.base import Chain
from payments.chains.errors import ChainError, SendingBlocked
from payments.operations.models import NetworkSnapshot

logger = structlog.get_logger(__name__)


def measure_network(environment: str, network: str) -> None:
    """Measure one network and store it. When it does not answer, the last measurement stays."""
    snapshot, _ = NetworkSnapshot.objects.get_or_create(environment=environment, network=network)
    try:
        chain = registry.chain(environment, network)
        snapshot.providers = [state.name for state in chain.provider_states()]
        snapshot.wallet = chain.payout_address()
        snapshot.native_balance = chain.balance(snapshot.wallet, chain.profile.native)
        snapshot.native_reserve = chain.reserve(snapshot.wallet)
        snapshot.blocked_coins = _blocked_coins(chain)
        costs = chain.costs()
        snapshot.payout_cost, snapshot.sweep_cost = costs.payout, costs.sweep
        snapshot.first_time_cost, snapshot.again_cost = costs.first_time, costs.again
        snapshot.set_aside_cost = costs.set_aside
        snapshot.measured_at, snapshot.last_error = timezone.now(), ""
        snapshot.save()
    except (ChainError, ImproperlyConfigured) as error:
        logger.warning("network not measured", environment=environment, network=network, error=str(error))
        NetworkSnapshot.objects.filter(pk=snapshot.pk).update(last_error=str(error))


def _blocked_coins(chain: Chain) -> dict[str, tuple[str, str]]:
    """Coins that nobody can be sent: by their code, the kind of alarm and what the network says."""
    blocked: dict[str, tuple[str, str]] = {}
    for code, asset in chain.profile.assets.items():
        try:
            chain.check_sending(asset)
        except SendingBlocked as error:
            blocked[code] = (error.problem, str(error))
    return blocked
