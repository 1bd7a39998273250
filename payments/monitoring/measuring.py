"""Measures balances of wallets and costs of sending on the networks, for pages and alarms, which only read rows."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Exists, F, Max, OuterRef
from django.utils import timezone

from config import ids
from config.money import Asset, format_crypto
from merchants.ledger import stops
from merchants.ledger.models import Stop
from payments.chains import registry
from payments.chains.errors import ChainError, SendingBlocked, TokenChanged
from payments.chains.protocol.chain import Chain
from payments.deposits.models import ScanCursor
from payments.models import Deposit
from payments.monitoring.models import NetworkSnapshot
from payments.states import DepositStatus
from payments.treasury.losses.models import MissingCoins, MissingStatus

logger = structlog.get_logger(__name__)

COMPARED_BLOCKS = 120
"""Blocks behind the head at which a deposit is compared with balances of its block: most nodes forget those after
128."""


def measure_network(environment: str, network: str) -> None:
    """Measure one network and store it. When it does not answer, the last measurement stays."""
    snapshot, _ = NetworkSnapshot.objects.get_or_create(environment=environment, network=network)
    try:
        chain = registry.chain(environment, network)
        snapshot.providers = [state.name for state in chain.providers.states()] if chain.providers else []
        read_wallet(snapshot, chain)
        snapshot.blocked_coins = _blocked_coins(environment, chain)
        snapshot.measured_at, snapshot.last_error = timezone.now(), ""
        snapshot.save()
    except (ChainError, ImproperlyConfigured) as error:
        logger.warning("network not measured", environment=environment, network=network, error=str(error))
        NetworkSnapshot.objects.filter(pk=snapshot.pk).update(last_error=str(error))


def read_wallet(snapshot: NetworkSnapshot, chain: Chain) -> None:
    """Set what the hot wallet has to pay for sending, and what sending costs just now. Stores nothing."""
    snapshot.wallet = chain.payout_address()
    snapshot.native_balance = chain.reading.balance(snapshot.wallet, chain.profile.native)
    snapshot.native_reserve = chain.reserves.reserve(snapshot.wallet) if chain.reserves else 0
    costs = chain.hot_wallet.costs()
    snapshot.payout_cost, snapshot.sweep_cost = costs.payout, costs.sweep
    snapshot.first_time_cost, snapshot.again_cost = costs.first_time, costs.again
    snapshot.set_aside_cost = costs.set_aside


def _blocked_coins(environment: str, chain: Chain) -> dict[str, tuple[str, str]]:
    """Coins that nobody can be sent: by their code, the kind of alarm and the network's reason. One whose contract has
    changed is stopped."""
    blocked: dict[str, tuple[str, str]] = {}
    for code, asset in chain.profile.assets.items():
        try:
            chain.hot_wallet.check_sending(asset)
        except SendingBlocked as error:
            blocked[code] = (error.problem, str(error))
        except TokenChanged as error:
            _stop(environment, asset, str(error))
        else:
            _compare(environment, chain, asset)
    return blocked


def _compare(environment: str, chain: Chain, asset: Asset) -> None:
    """Stop a coin whose contract takes a part that its events do not report: events before its last stop was lifted
    count no more."""
    here = {"environment": environment, "network": asset.network, "asset": asset.code}
    lifted_at = Stop.objects.filter(**here).aggregate(last=Max("lifted_at"))["last"]
    since = lifted_at or datetime.fromtimestamp(0, UTC)
    cursor = ScanCursor.objects.filter(environment=environment, network=asset.network).first()
    if cursor is None or chain.profile.shares_account:
        return
    partly = Deposit.objects.filter(payment=OuterRef("payment"), asset=asset.code, missing__range=(1, F("amount") - 1))
    missing = MissingCoins.objects.filter(Exists(partly), **here, status=MissingStatus.OPEN, found_at__gt=since)
    if found := missing.first():
        _stop(environment, asset, f"A part of what was paid, {found.coins}, is missing at {found.address}.")
        return
    # With one deposit, nothing can have left the address in its block.
    single = Deposit.objects.filter(**here, payment__deposit_count=1, id__gte=ids.first_uuid_at(since))
    single = single.exclude(status=DepositStatus.ORPHANED)
    final = single.filter(height__range=(cursor.head_height - COMPARED_BLOCKS, cursor.finalized_height))
    if newest := final.order_by("-height").first():
        try:
            before, after = (
                chain.reading.balance(newest.recipient, asset, at_height=height)
                for height in (newest.height - 1, newest.height)
            )
        except ChainError as error:
            logger.warning("coin not compared", asset=asset.code, network=asset.network, error=str(error))
            return
        if after - before < newest.amount:
            paid, came = (format_crypto(units, asset.decimals) for units in (int(newest.amount), after - before))
            _stop(environment, asset, f"By its events {newest.transaction_hash} paid {paid}, and {came} came.")


def _stop(environment: str, asset: Asset, why: str) -> None:
    advice = (
        f"New payments, sweeps and payouts of {asset.code} on {asset.network} are stopped; what is booked stays. Look "
        "what its issuer has changed; lift the stop once the contract counts as before, or takes nothing."
    )
    stops.stop(environment=environment, network=asset.network, asset=asset.code, reason=f"{why} {advice}")
