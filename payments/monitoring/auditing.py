"""Compares hot wallets that deposits arrive at with the ledger, for alarms, which only read rows.

There are ways of coins to such a wallet, and away from it, that neither the watcher nor a payout knows of.
"""

from __future__ import annotations

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from config.installation.services import current_standstill
from config.money import format_crypto
from merchants.ledger.checking import CouldNotCheck
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.protocol.operations import UnusualChange
from payments.monitoring.models import NetworkSnapshot
from payments.monitoring.states import AlarmKind
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.treasury import unusual_changes
from payments.treasury.wallet_balances import WalletBalance, is_kept_in_ledger, one_view_of_the_ledger, wallet_balances

logger = structlog.get_logger(__name__)

Conditions = list[tuple[str, str, str]]
"""The kind of alarm, its subject and its message."""


def audit_wallet(environment: str, network: str) -> None:
    """Audit the hot wallets of one network, where deposits arrive at them. While it does not answer, or a
    restored database stands still, the last audit stays."""
    if not registry.profile(environment, network).shares_account:
        return
    if current_standstill() is not None:
        return
    NetworkSnapshot.objects.get_or_create(environment=environment, network=network)
    try:
        found = _conditions(environment, network)
    except (ChainError, CouldNotCheck, ImproperlyConfigured) as error:
        logger.warning("wallet not audited", environment=environment, network=network, error=str(error))
        return
    here = NetworkSnapshot.objects.filter(environment=environment, network=network)
    here.update(audit=found, audited_at=timezone.now())


def _conditions(environment: str, network: str) -> Conditions:
    snapshot = take_wallet_snapshot(environment, network)
    if not isinstance(snapshot, WalletSnapshot):
        raise snapshot
    with one_view_of_the_ledger():
        balances = list(wallet_balances(snapshot))
    changes = unusual_changes.of_the_last_day(snapshot, balances[0].height)
    return [condition for balance in balances for condition in _of_coin(balance, changes)]


def _of_coin(balance: WalletBalance, changes: list[UnusualChange]) -> Conditions:
    asset = balance.asset
    own = [] if balance.is_cold else unusual_changes.of_asset(changes, asset)
    clawbacks = [each for each in own if each.kind == "clawback"]
    # Anybody can set one unit after the other aside.
    waiting = [each for each in own if each.kind == "set_aside" and each.amount >= 10**asset.decimals]
    moved = [each for each in own if each.kind != "set_aside"]
    found: Conditions = []
    if clawbacks:
        found.append((AlarmKind.COINS_CLAWED_BACK, asset.code, f"{unusual_changes.in_words(clawbacks, asset)}."))
    if waiting:
        found.append((AlarmKind.COINS_SET_ASIDE, asset.code, f"{unusual_changes.in_words(waiting, asset)}."))
    differs = balance.unexplained != 0 and is_kept_in_ledger(balance)
    if differs and (balance.unexplained < 0 or moved):
        amount = format_crypto(abs(balance.unexplained), asset.decimals)
        message = f"{amount} {asset.code} {'less' if balance.unexplained < 0 else 'more'} than in the ledger"
        why = f". In the last day: {unusual_changes.in_words(moved, asset)}" if moved else ""
        subject = f"{asset.code}, cold wallet" if balance.is_cold else asset.code
        found.append((AlarmKind.WALLET_DIFFERS, subject, f"{message} at block {balance.height}{why}."))
    return found
