"""Invariants of deposit addresses, and of money held while its coins are missing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import structlog

from config import ids
from config.money import format_crypto
from merchants.ledger.checking import CouldNotCheck, Finding, Scope, Severity, invariant, unequal
from payments.chains.errors import ChainError
from payments.deposits.models import ScanCursor
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshots, wallet_snapshots
from payments.treasury.losses import services
from payments.treasury.losses.holdings import Comparison, Holding, compare

logger = structlog.get_logger(__name__)


def write_down(comparison: Comparison) -> None:
    """Hold what is missing, release what is there again, and store where a quick run stopped."""
    failed = []
    for holding in comparison.to_note:
        try:
            services.note(holding)
        except Exception:  # the others are noted all the same
            logger.exception("missing coins could not be noted", address=holding.address, asset=holding.asset)
            failed.append(f"{holding.address} {holding.asset}")
    if comparison.is_quick:
        here = ScanCursor.objects.filter(environment=comparison.environment, network=comparison.network)
        here.update(holdings_read_to=comparison.read_to)
    if failed:
        raise RuntimeError(f"could not note what is missing at {', '.join(failed)}")


@invariant(
    "I12d",
    "every deposit address holds what the ledger says, to the last digit",
    reads_chain=True,
    observers=(take_wallet_snapshots,),
)
def addresses_hold_what_the_ledger_says(scope: Scope) -> Iterator[Finding]:
    for snapshot in wallet_snapshots(scope):
        if snapshot.chain.profile.shares_account:
            continue  # deposits arrive at the hot wallet: I12w
        comparison = Comparison(snapshot.environment, snapshot.network)
        scope.afterwards(partial(write_down, comparison))
        try:
            for holding in compare(snapshot, comparison, since=scope.since):
                comparison.to_note.append(holding)
                yield from _findings(snapshot, holding)
            if comparison.not_in_ledger:
                yield snapshot.finding(
                    f"sweeps on {snapshot.network} ({snapshot.environment})",
                    "in the ledger",
                    f"coins of {comparison.not_in_ledger} addresses came to wallets of ours by none of its sweeps",
                    "manage.py resume_after_restore --since, with a time before the first of them: it adopts them",
                    severity=Severity.WARNING,
                )
        except ChainError as error:
            raise CouldNotCheck(f"{snapshot.network} did not answer: {error}") from error


def _findings(snapshot: WalletSnapshot, holding: Holding) -> Iterator[Finding]:
    subject = f"{holding.address} {holding.asset}{_whose(holding)}"
    if holding.missing:
        coins = f"{format_crypto(holding.missing, holding.decimals)} {holding.asset}"
        yield snapshot.finding(
            subject,
            holding.expected,
            holding.on_chain,
            f"{coins} are missing and are not settled any more: ask the issuer what happened to them; then two people "
            "decide who bears the loss, in the admin under Missing coins",
            delta=-holding.missing,
            asset=holding.asset,
        )
    elif holding.excess:
        yield snapshot.finding(
            subject,
            holding.expected,
            holding.on_chain,
            "somebody sent coins that were never read, or lost coins are back: look for the transfer on the network",
            delta=holding.excess,
            severity=Severity.WARNING,
            asset=holding.asset,
        )


def _whose(holding: Holding) -> str:
    if holding.payment_id is None or holding.merchant_id is None:
        return " of no payment"
    payment, merchant = ids.PAYMENT.encode(holding.payment_id), ids.MERCHANT.encode(holding.merchant_id)
    return f" of payment {payment}, merchant {merchant}"


HELD_AGAINST_MISSING = """
    SELECT coalesce(account.environment, missing.environment), coalesce(account.network, missing.network),
        coalesce(account.asset, missing.asset), coalesce(account.owner, missing.owner),
        coalesce(missing.total, 0), coalesce(-account.balance, 0)
    FROM (SELECT * FROM ledger_account WHERE kind = 'merchant:held' AND balance <> 0) AS account
    FULL JOIN (
        SELECT missing.environment, missing.network, missing.asset, payment.merchant_id::text AS owner,
            sum(missing.held) AS total
        FROM losses_missingcoins AS missing JOIN payments_payment AS payment ON payment.id = missing.payment_id
        WHERE missing.status = 'open' AND missing.held > 0
        GROUP BY 1, 2, 3, 4
    ) AS missing USING (environment, network, asset, owner)
    WHERE coalesce(missing.total, 0) <> coalesce(-account.balance, 0)
        AND coalesce(account.environment, missing.environment) = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR coalesce(account.network, missing.network) = %(network)s)
"""


@invariant("I19", "what is held of merchants is what waits for a decision on missing coins")
def holds_wait_for_decisions(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, merchant_id, waiting, held in scope.rows(HELD_AGAINST_MISSING):
        yield unequal(
            f"{environment} {network} {asset} merchant {merchant_id}",
            (environment, network, asset),
            waiting,
            held,
            "compare Missing coins with the postings of this account",
        )
