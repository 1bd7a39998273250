"""Invariants of the wallets: between the ledger, the sweeps and the networks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from merchants.ledger.checking import CouldNotCheck, Finding, Scope, Severity, invariant, unequal
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.transfers.audit.wallet_snapshot import networks_with_wallets, take_wallet_snapshots, wallet_snapshots
from payments.treasury.deposit_audit import DepositAudit
from payments.treasury.models import SweptAddress
from payments.treasury.sweep_booking import UNBOOKED_MAX, sweeps_not_booked
from payments.treasury.sweep_failures import describe, passed_over
from payments.treasury.wallet_balances import wallet_findings

SWEPT_SHORT = """
    SELECT part.environment, part.network, part.asset, payment.id, payment.merchant_id,
        coalesce(max(offered.address), payment.deposit_address), sum(part.expected), sum(part.moved)
    FROM (
        SELECT deposit.environment, deposit.network, deposit.asset, deposit.payment_id,
            deposit.amount - deposit.missing AS expected, 0 AS moved
        FROM payments_deposit AS deposit JOIN payments_sweep AS sweep ON sweep.id = deposit.sweep_id
        WHERE deposit.booked_to <> '' AND sweep.booked_at IS NOT NULL AND sweep.is_itemised AND {deposits}
        UNION ALL
        SELECT transfer.environment, transfer.network, sweep.asset, address.payment_id, 0, address."left"
        FROM payments_sweptaddress AS address
        JOIN payments_sweep AS sweep ON sweep.id = address.sweep_id
        JOIN transfers_transfer AS transfer ON transfer.id = sweep.transfer_id
        WHERE {addresses}
    ) AS part
    JOIN payments_payment AS payment ON payment.id = part.payment_id
    LEFT JOIN payments_offeredaddress AS offered ON offered.payment_id = payment.id AND offered.memo = ''
    WHERE part.environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR part.network = %(network)s)
    GROUP BY part.environment, part.network, part.asset, payment.id HAVING sum(part.expected) > sum(part.moved)
"""


NEWLY_SWEPT = """
    SELECT line.payment_id FROM payments_sweptaddress AS line JOIN payments_sweep AS sweep ON sweep.id = line.sweep_id
    WHERE sweep.transfer_id >= %(since)s
"""


@invariant("I11s", "what deposits were swept has come to the hot wallet", severity=Severity.WARNING)
def sweeps_brought_the_deposits(scope: Scope) -> Iterator[Finding]:
    def payments(column: str) -> str:
        if scope.since is None:
            return "TRUE"
        return f"({scope.keys(column)} OR {column} = ANY(ARRAY({NEWLY_SWEPT})))"

    for environment, network, asset, key, merchant_id, address, expected, moved in scope.rows(
        SWEPT_SHORT.format(deposits=payments("deposit.payment_id"), addresses=payments("address.payment_id"))
    ):
        yield unequal(
            f"sweeps {environment} {network} {asset} from {address}: payment {key} of merchant {merchant_id}",
            (environment, network, asset),
            expected,
            moved,
            "the address held less than its deposits when it was emptied: the token kept or took away the rest",
            key=key,
        )
    if not SweptAddress.objects.filter(try_again_at__isnull=False).exists():
        return
    for line in passed_over(network=scope.network):
        transfer = line.sweep.transfer
        if transfer.environment not in scope.environments:
            continue
        yield Finding(
            f"{line.sweep.asset} on {transfer.network} ({transfer.environment}) at "
            f"{line.payment.address_on(transfer.network)}: "
            f"payment {line.payment_id} of merchant {line.payment.merchant_id}",
            line.amount,
            f"passed over {line.tries} times: {describe(line)}",
            f"cannot be paid out yet; it is tried again at {line.try_again_at:%Y-%m-%d %H:%M:%S} UTC",
            delta=-line.amount,
            environment=transfer.environment,
            network=transfer.network,
        )


@invariant(
    "I12",
    "every deposit that counts is on the chain as it was booked, and all that arrived is a deposit",
    reads_chain=True,
    observers=(take_wallet_snapshots,),
)
def deposits_are_on_the_chain(scope: Scope) -> Iterator[Finding]:
    for snapshot in wallet_snapshots(scope):
        try:
            audit = DepositAudit(snapshot, since=scope.since)
            scope.afterwards(audit.request_readings)
            yield from audit.findings()
        except ChainError as error:
            raise CouldNotCheck(f"{snapshot.network} did not answer: {error}") from error


@invariant(
    "I12w",
    "every hot wallet holds what the ledger says, to the last digit",
    reads_chain=True,
    observers=(take_wallet_snapshots,),
)
def hot_wallets_hold_what_the_ledger_says(scope: Scope) -> Iterator[Finding]:
    for snapshot in wallet_snapshots(scope):
        yield from wallet_findings(snapshot, at_block=scope.at_block)
    for environment, network in networks_with_wallets(scope):
        if network not in registry.networks(environment):
            yield Finding(
                f"{network} ({environment})",
                "in use",
                "coins that cannot be counted",
                "use the network again, or move the coins out and correct the ledger",
                severity=Severity.WARNING,
                environment=environment,
                network=network,
            )


def sweeps_waiting_too_long(scope: Scope) -> Iterator[Finding]:
    """Part of I15."""
    for sweep in sweeps_not_booked(scope.environments, scope.network):
        yield Finding(
            f"{sweep} by {sweep.transfer.transaction_hash}",
            f"booked within {UNBOOKED_MAX // timedelta(minutes=1)} minutes",
            f"final since {sweep.transfer.finished_at:%Y-%m-%d %H:%M:%S}; {sweep.last_error or 'not tried'}",
            "see that the money worker runs; if it does, a deposit that the sweep took along is not in the ledger",
            environment=sweep.transfer.environment,
            network=sweep.transfer.network,
        )
