"""What must always be true of payouts and transfers, and between them, the books and the chains."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone

from config import ids
from merchants.ledger.invariants import Finding, Scope, Severity, invariant
from merchants.ledger.models import Breaker
from payments.transfers.comparing import Comparison
from payments.transfers.lateness import late_transfers
from payments.transfers.models import PayoutPolicy, Transfer, Wallet
from payments.transfers.sighting import Sight, look_at_wallets, sights
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus

VOIDED_WITHIN = timedelta(minutes=1)
"""How long whoever asked for a payout may take to give back the money of one that failed."""

PAID_WITHIN = timedelta(hours=1)

# `since` means: payouts asked for, or ended, since then.
_IN_SCOPE = """
    payout.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR payout.network = %(network)s)
        AND (%(since)s::uuid IS NULL OR payout.id >= %(since)s OR payout.finished_at >= %(instant)s)
"""


@invariant(
    "I11",
    "what left the hot wallets is what payouts asked for, to the base unit, and nothing else",
    asks_chain=True,
    observers=(look_at_wallets,),
)
def transfers_are_on_the_chain(scope: Scope) -> Iterator[Finding]:
    for sight in sights(scope):
        for address in sight.addresses:
            yield from Comparison(sight, address, since=scope.since).findings()


MOVES_OF_PAYOUTS = f"""
    SELECT payout.environment, payout.network, payout.reference, payout.status,
        coalesce(transfer.status, 'no transfer'), coalesce(live.number, 0)
    FROM transfers_payout AS payout
    LEFT JOIN transfers_transfer AS transfer ON transfer.id = payout.transfer_id
    LEFT JOIN (
        SELECT line.payout_id, count(*) AS number FROM transfers_transferline AS line
        JOIN transfers_transfer AS carrying ON carrying.id = line.transfer_id
        WHERE carrying.status IN ('signed', 'sent', 'final')
        GROUP BY line.payout_id
    ) AS live ON live.payout_id = payout.id
    WHERE {_IN_SCOPE} AND (
        coalesce(live.number, 0) <> CASE WHEN payout.status IN ('sending', 'paid') THEN 1 ELSE 0 END
        OR (payout.status = 'paid') <> (coalesce(transfer.status, '') = 'final')
        OR (payout.status = 'sending') <> (coalesce(transfer.status, '') IN ('signed', 'sent'))
    )
"""  # noqa: S608 - no value of a caller is part of the text


@invariant("I11p", "a payout is on its way in one transfer at most, and paid exactly when that one is final")
def payouts_are_sent_once(scope: Scope) -> Iterator[Finding]:
    expected = {str(PayoutStatus.SENDING): "one transfer, open", str(PayoutStatus.PAID): "one transfer, final"}
    for environment, network, reference, status, transfer, live in scope.rows(MOVES_OF_PAYOUTS, instant=scope.since):
        yield Finding(
            f"payout of {reference} ({status})",
            expected.get(status, "no transfer that moved it or still may"),
            f"{transfer}; {live} moved it or still may",
            "stop payouts, and look for every hash of its transfers on the chain",
            environment=environment,
            network=network,
        )


# What a payout still owes: its amount until it is paid or given up.
_OWED = "CASE WHEN payout.status IN ('ready', 'held', 'sending') THEN payout.amount ELSE 0 END"
_COMES_BACK = "payout.status = 'failed' AND -account.balance = payout.amount"

# Money reserved for a payout that does not exist yet is accounted for by whoever reserved it.
PAYOUT_ACCOUNTS = f"""
    SELECT payout.environment, payout.network, payout.asset, payout.reference, payout.status,
        {_OWED}, coalesce(-account.balance, 0), coalesce({_COMES_BACK}, false)
    FROM transfers_payout AS payout
    LEFT JOIN ledger_account AS account ON account.environment = payout.environment
        AND account.owner = payout.id::text AND account.kind = 'payout'
        AND account.network = payout.network AND account.asset = payout.asset
    WHERE {_IN_SCOPE} AND coalesce(-account.balance, 0) <> {_OWED}
        AND NOT coalesce({_COMES_BACK} AND payout.finished_at > %(just_now)s, false)
"""  # noqa: S608

OTHER_COINS_OF_PAYOUTS = f"""
    SELECT account.environment, account.network, account.asset, payout.reference, -account.balance
    FROM ledger_account AS account JOIN transfers_payout AS payout ON payout.id::text = account.owner
    WHERE account.kind = 'payout' AND account.balance <> 0 AND {_IN_SCOPE}
        AND (account.environment, account.network, account.asset)
            <> (payout.environment, payout.network, payout.asset)
"""  # noqa: S608


@invariant("I18", "the account of every payout holds exactly what is still to leave for it")
def payout_accounts_hold_what_is_to_leave(scope: Scope) -> Iterator[Finding]:
    rows = scope.rows(PAYOUT_ACCOUNTS, instant=scope.since, just_now=timezone.now() - VOIDED_WITHIN)
    for environment, network, asset, reference, status, owed, held, comes_back in rows:
        yield Finding(
            f"payout of {reference} ({status}): {environment} {network} {asset}",
            int(owed),
            int(held),
            "see that the money worker runs: it gives back what was reserved for a payout that failed"
            if comes_back
            else "stop payouts, and trace the postings of this account",
            delta=int(held - owed),
            severity=Severity.WARNING if comes_back else Severity.ERROR,
            environment=environment,
            network=network,
            asset=None if comes_back else asset,
        )
    for environment, network, asset, reference, held in scope.rows(OTHER_COINS_OF_PAYOUTS, instant=scope.since):
        yield Finding(
            f"payout of {reference}: {environment} {network} {asset}",
            0,
            int(held),
            "trace the postings of this account: this is not the coin of the payout",
            delta=int(held),
            environment=environment,
            network=network,
            asset=asset,
        )


@invariant(
    "I13",
    "every sequence of a wallet was used by a transfer of ours, and none is left out",
    asks_chain=True,
    observers=(look_at_wallets,),
)
def sequences_are_ours(scope: Scope) -> Iterator[Finding]:
    for sight in sights(scope):
        known = Wallet.objects.filter(environment=sight.environment, network=sight.network)
        wallets = {wallet.address: wallet for wallet in known}
        for address, next_on_chain in sight.next_sequences.items():
            wallet = wallets.get(address)
            next_of_ours = wallet.next_sequence if wallet else 0
            if next_on_chain > next_of_ours:
                yield sight.finding(
                    f"{address} on {sight.network}",
                    f"the next sequence is {next_of_ours}",
                    f"the next sequence is {next_on_chain}",
                    "freeze the wallet: these books are older than the chain, or the key is used elsewhere",
                    delta=next_on_chain - next_of_ours,
                )
            if wallet:
                yield from _gaps(sight, wallet, next_on_chain)


def _gaps(sight: Sight, wallet: Wallet, next_on_chain: int) -> Iterator[Finding]:
    """Sequences that later transfers wait for, and those that might be signed for twice."""
    statuses: dict[int, str] = {}
    later = Transfer.objects.filter(wallet=wallet, sequence__gte=next_on_chain)
    for sequence, status in later.values_list("sequence", "status"):
        if statuses.get(sequence, TransferStatus.DEAD) == TransferStatus.DEAD:
            statuses[sequence] = status
    live = {sequence for sequence, status in statuses.items() if status != TransferStatus.DEAD}
    for sequence in sorted(set(range(next_on_chain, max(live, default=next_on_chain))) - live):
        # One that died leaves its sequence free: those behind it expire as well, and are signed again.
        died = sequence in statuses
        yield sight.finding(
            f"{wallet.address} on {sight.network}: sequence {sequence}",
            "a transfer that can be mined",
            "one that never can" if died else "none",
            "wait until the later transfers expire" if died else "freeze the wallet: later transfers wait for this one",
            severity=Severity.WARNING if died else Severity.ERROR,
        )
    for sequence in sorted(number for number in live if number >= wallet.next_sequence):
        yield sight.finding(
            f"{wallet.address} on {sight.network}: sequence {sequence}",
            f"below {wallet.next_sequence}, the next to be signed for",
            "a transfer",
            "freeze the wallet: this sequence might be signed for twice",
        )


# What is open now, whatever the time of the scope.
LATE_PAYOUTS = """
    SELECT environment, network, reference, status, hold_reason, id::text FROM transfers_payout
    WHERE status IN ('ready', 'held', 'sending') AND id < %(before)s AND environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR network = %(network)s)
    ORDER BY id
"""


@invariant("I15t", "everybody is paid in time, and nothing keeps payouts back", severity=Severity.WARNING)
def payouts_leave_in_time(scope: Scope) -> Iterator[Finding]:
    before = ids.first_uuid_at(timezone.now() - PAID_WITHIN)
    for environment, network, reference, status, hold_reason, key in scope.rows(LATE_PAYOUTS, before=before):
        yield Finding(
            f"payout of {reference} ({status})",
            "paid or given up within an hour",
            f"asked for at {ids.created_at_of(uuid.UUID(key)):%Y-%m-%d %H:%M:%S}",
            HoldReason(hold_reason).label if hold_reason else "see that the money worker runs and its network answers",
            environment=environment,
            network=network,
        )
    yield from _late_transfers(scope)
    yield from _kept_back(scope)


def _late_transfers(scope: Scope) -> Iterator[Finding]:
    for late in late_transfers(scope.environments, scope.network):
        yield Finding(
            f"transfer {late.transfer.pk} ({late.transfer})",
            late.allowed,
            late.state,
            f"look for its hashes on the network; it said last: {late.said}",
            environment=late.transfer.environment,
            network=late.transfer.network,
        )


def _kept_back(scope: Scope) -> Iterator[Finding]:
    """What a person has stopped, or has to look at before anything goes on."""
    for policy in PayoutPolicy.objects.filter(environment__in=scope.environments, payouts_enabled=False):
        environment = policy.environment
        yield Finding(
            str(policy), "payouts enabled", "the kill switch is off", "turn it on in the admin", environment=environment
        )
    for wallet in Wallet.objects.filter(environment__in=scope.environments, frozen_at__isnull=False):
        if scope.network in (None, wallet.network):
            yield Finding(
                f"wallet {wallet}",
                "able to sign",
                f"frozen: {wallet.frozen_reason}",
                "find out why, then thaw it in the admin",
                environment=wallet.environment,
                network=wallet.network,
            )
    for breaker in Breaker.objects.filter(environment__in=scope.environments, closed_at__isnull=True):
        if scope.network in (None, breaker.network):
            yield Finding(
                f"breaker of {breaker.network} ({breaker.environment})",
                "closed",
                f"open: {breaker.reason}",
                "find out why, then close it in the admin",
                environment=breaker.environment,
                network=breaker.network,
            )
