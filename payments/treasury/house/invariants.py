"""Checks of withdrawals against their payouts and the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from config.installation.services import found_by_resume
from merchants.ledger.checking import Finding, Scope, Severity, invariant, unequal
from payments.transfers.owners import FOUND

# What was agreed to, beside what is paid: the payout, the list, and the posting that reserved the coins.
NOT_AS_AGREED = """
    SELECT withdrawal.environment, withdrawal.network, payout.reference,
        concat_ws(' ', withdrawal.amount, withdrawal.asset, 'to', withdrawal.recipient, withdrawal.memo),
        concat_ws(' ', payout.amount, payout.asset, 'to', payout.recipient, payout.memo,
            'on', payout.network, 'from', coalesce(payout.merchant_id::text, 'the house'),
            'listed', coalesce(address.address, 'by hand'))
    FROM house_withdrawal AS withdrawal
    JOIN transfers_payout AS payout ON payout.id = withdrawal.payout_id
    LEFT JOIN house_allowedaddress AS address ON address.id = withdrawal.address_id
    WHERE withdrawal.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR withdrawal.network = %(network)s)
        AND ((payout.environment, payout.network, payout.asset, payout.amount, payout.recipient, payout.memo)
                <> (withdrawal.environment, withdrawal.network, withdrawal.asset, withdrawal.amount,
                    withdrawal.recipient, withdrawal.memo)
            OR payout.merchant_id IS NOT NULL
            OR (address.environment, address.network, address.address, address.memo)
                <> (withdrawal.environment, withdrawal.network, withdrawal.recipient, withdrawal.memo)
            OR (withdrawal.address_id IS NULL AND withdrawal.status <> 'completed' AND NOT withdrawal.is_skim)
            OR (withdrawal.is_skim AND NOT EXISTS (
                SELECT FROM payments_coldwallet AS cold
                WHERE (cold.environment, cold.network, cold.address)
                    = (withdrawal.environment, withdrawal.network, withdrawal.recipient)))
            OR (withdrawal.status = 'completed') <> (payout.status = 'paid') AND withdrawal.status <> 'pending')
"""

HOUSE_PAYOUTS_WITHOUT_WITHDRAWAL = """
    SELECT payout.environment, payout.network, payout.reference, payout.amount, payout.asset, payout.recipient,
        transfer.transaction_hash
    FROM transfers_payout AS payout
    LEFT JOIN transfers_transfer AS transfer ON transfer.id = payout.transfer_id
    LEFT JOIN house_withdrawal AS withdrawal ON withdrawal.payout_id = payout.id
    LEFT JOIN payments_payerreturn AS returned ON returned.payout_id = payout.id
    WHERE payout.merchant_id IS NULL AND withdrawal.id IS NULL AND returned.id IS NULL
        AND payout.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR payout.network = %(network)s)
"""


@invariant("H1", "what the house is paid is what was agreed to, and goes where the allow list says")
def withdrawals_are_as_agreed(scope: Scope) -> Iterator[Finding]:
    for environment, network, reference, agreed, found in scope.rows(NOT_AS_AGREED):
        yield Finding(
            f"withdrawal {reference}",
            agreed,
            found,
            "stop payouts, and find out who changed these rows",
            environment=environment,
            network=network,
        )
    for environment, network, reference, amount, asset, recipient, sent_by in scope.rows(
        HOUSE_PAYOUTS_WITHOUT_WITHDRAWAL
    ):
        is_found = bool(reference.startswith(FOUND) and sent_by and found_by_resume(sent_by))
        yield Finding(
            f"payout of {reference}",
            "a withdrawal, or a return to a sender, that two people have agreed to",
            f"{int(amount):,} {asset} to {recipient} by {sent_by}",
            "sent before a restore: a payout that the backup lacks, or somebody else with the key; nothing is paid "
            "until two people have said whose it was: manage.py book_sent"
            if is_found
            else "stop payouts: this payout is nobody's; find out who made it",
            severity=Severity.WARNING if is_found else None,
            environment=environment,
            network=network,
        )


WITHDRAWN = """
    WITH taken AS (
        SELECT environment, network, asset, sum(amount) AS amount FROM (
            SELECT environment, network, asset, amount - of_stock AS amount FROM house_withdrawal
            WHERE status <> 'failed' AND NOT is_lost AND NOT is_skim
            UNION ALL
            SELECT wallet.environment, wallet.network, move.asset, move.amount - move.of_stock
            FROM payments_coldmove AS move JOIN payments_coldwallet AS wallet ON wallet.id = move.wallet_id
            WHERE move.kind = 'taken'
        ) AS each GROUP BY environment, network, asset
    )
    SELECT environment, network, asset, coalesce(taken.amount, 0), coalesce(account.balance, 0)
    FROM taken FULL JOIN (SELECT * FROM ledger_account WHERE kind = 'withdrawn') AS account
        USING (environment, network, asset)
    WHERE coalesce(taken.amount, 0) <> coalesce(account.balance, 0)
        AND environment = ANY(%(environments)s) AND (%(network)s::text IS NULL OR network = %(network)s)
"""


@invariant("H2", "what the ledger says was taken out is what the withdrawals took")
def withdrawn_is_what_left(scope: Scope) -> Iterator[Finding]:
    for environment, network, asset, expected, found in scope.rows(WITHDRAWN):
        yield unequal(
            f"{environment} {network} {asset}",
            (environment, network, asset),
            expected,
            found,
            "trace the postings of the account withdrawn",
        )
