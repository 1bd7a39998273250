"""Checks of payouts and transfers against the ledger and the chains."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from config import ids
from merchants.ledger.checking import CouldNotCheck, Finding, Records, Scope, Severity, invariant, unequal
from merchants.ledger.models import Stop
from payments.chains.errors import ChainError
from payments.transfers.audit.outgoing import Comparison
from payments.transfers.audit.overdue import late_transfers
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshots, wallet_snapshots
from payments.transfers.models import Transfer, Wallet
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus

VOIDED_WITHIN = timedelta(minutes=1)
"""Time for the owner of a payout to return the money of one that failed."""

PAID_WITHIN = timedelta(hours=1)

LOOKED_AT = Records(
    "payout",
    "transfers_payout",
    touched=(
        "SELECT id FROM transfers_payout WHERE finished_at >= %(instant)s",
        "SELECT payout_id FROM transfers_transferline WHERE transfer_id >= %(since)s",
    ),
)

_IN_SCOPE = """
    payout.environment = ANY(%(environments)s)
        AND (%(network)s::text IS NULL OR payout.network = %(network)s) AND {payouts}
"""


@invariant(
    "I11",
    "what left the hot wallets is what payouts asked for, to the last digit, and nothing else",
    reads_chain=True,
    observers=(take_wallet_snapshots,),
)
def transfers_are_on_the_chain(scope: Scope) -> Iterator[Finding]:
    for snapshot in wallet_snapshots(scope):
        for address in snapshot.addresses:
            yield from Comparison(snapshot, address, since=scope.since).findings()


MOVES_OF_PAYOUTS = f"""
    SELECT payout.environment, payout.network, payout.id, payout.reference, payout.status,
        coalesce(transfer.status, 'no transfer'), coalesce(live.number, 0)
    FROM transfers_payout AS payout
    LEFT JOIN transfers_transfer AS transfer ON transfer.id = payout.transfer_id
    LEFT JOIN LATERAL (
        SELECT count(*) AS number FROM transfers_transferline AS line
        JOIN transfers_transfer AS carrying ON carrying.id = line.transfer_id
        WHERE carrying.status IN ('signed', 'sent', 'final') AND line.payout_id = payout.id
    ) AS live ON true
    WHERE {_IN_SCOPE} AND (
        coalesce(live.number, 0) <> CASE WHEN payout.status IN ('sending', 'paid') THEN 1 ELSE 0 END
        OR (payout.status = 'paid') <> (coalesce(transfer.status, '') = 'final')
        OR (payout.status = 'sending') <> (coalesce(transfer.status, '') IN ('signed', 'sent'))
    )
"""  # noqa: S608 - no value of a caller is part of the text


def _part(query: str, scope: Scope, **parameters: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of a query about payouts, of those to look at."""
    query = query.format(payouts=scope.records(LOOKED_AT))
    return scope.rows(query, instant=scope.since, **parameters)


@invariant("I11p", "a payout is on its way in one transfer at most, and paid exactly when that one is final")
def payouts_are_sent_once(scope: Scope) -> Iterator[Finding]:
    expected = {str(PayoutStatus.SENDING): "one transfer, open", str(PayoutStatus.PAID): "one transfer, final"}
    for environment, network, key, reference, status, transfer, live in _part(MOVES_OF_PAYOUTS, scope):
        yield Finding(
            f"payout of {reference} ({status})",
            expected.get(status, "no transfer that moved it or still may"),
            f"{transfer}; {live} moved it or still may",
            "stop payouts, and look for every hash of its transfers on the chain",
            environment=environment,
            network=network,
            key=key,
        )


# What a payout still owes: its amount until it is paid or given up.
_OWED = "CASE WHEN payout.status IN ('ready', 'held', 'sending') THEN payout.amount ELSE 0 END"
_COMES_BACK = "payout.status = 'failed' AND -account.balance = payout.amount"

# Money reserved for a payout that does not exist yet is checked by the app that reserved it.
PAYOUT_ACCOUNTS = f"""
    SELECT payout.environment, payout.network, payout.asset, payout.id, payout.reference, payout.status,
        {_OWED}, coalesce(-account.balance, 0), coalesce({_COMES_BACK}, false)
    FROM transfers_payout AS payout
    LEFT JOIN ledger_account AS account ON account.environment = payout.environment
        AND account.owner = payout.id::text AND account.kind = 'payout'
        AND account.network = payout.network AND account.asset = payout.asset
    WHERE {_IN_SCOPE} AND coalesce(-account.balance, 0) <> {_OWED}
        AND NOT coalesce({_COMES_BACK} AND payout.finished_at > %(just_now)s, false)
"""  # noqa: S608

OTHER_COINS_OF_PAYOUTS = f"""
    SELECT account.environment, account.network, account.asset, payout.id, payout.reference, -account.balance
    FROM ledger_account AS account JOIN transfers_payout AS payout ON payout.id::text = account.owner
    WHERE account.environment = ANY(%(environments)s) AND account.owner > ''
        AND account.kind = 'payout' AND account.balance <> 0 AND {_IN_SCOPE}
        AND (account.environment, account.network, account.asset)
            <> (payout.environment, payout.network, payout.asset)
"""  # noqa: S608


@invariant("I18", "the account of every payout holds exactly what is still to leave for it")
def payout_accounts_hold_what_is_to_leave(scope: Scope) -> Iterator[Finding]:
    rows = _part(PAYOUT_ACCOUNTS, scope, just_now=timezone.now() - VOIDED_WITHIN)
    for environment, network, asset, key, reference, status, owed, held, comes_back in rows:
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
            key=key,
        )
    for environment, network, asset, key, reference, held in _part(OTHER_COINS_OF_PAYOUTS, scope):
        yield unequal(
            f"payout of {reference}: {environment} {network} {asset}",
            (environment, network, asset),
            0,
            held,
            "trace the postings of this account: this is not the coin of the payout",
            key=key,
        )


@invariant(
    "I13",
    "every sequence of a wallet was used by a transfer of ours, and none is left out",
    reads_chain=True,
    observers=(take_wallet_snapshots,),
)
def sequences_are_ours(scope: Scope) -> Iterator[Finding]:
    for snapshot in wallet_snapshots(scope):
        known = Wallet.objects.filter(environment=snapshot.environment, network=snapshot.network)
        wallets = {wallet.address: wallet for wallet in known.prefetch_related("channels")}
        for address, of_channels in snapshot.next_sequences.items():
            for channel, next_on_chain in of_channels.items():
                yield from _of_channel(snapshot, wallets.get(address), address, channel, next_on_chain)


def _of_channel(
    snapshot: WalletSnapshot, wallet: Wallet | None, address: str, channel: str, next_on_chain: int
) -> Iterator[Finding]:
    """Faults in the nonces of a wallet, or of one of its channels."""
    known = {each.address: each.next_sequence for each in wallet.channels.all()} if wallet else {}
    known |= {"": wallet.next_sequence if wallet else 0}
    next_of_ours, account = known.get(channel, 0), channel or address
    if next_on_chain > next_of_ours and not _only_set_up(snapshot, account, next_of_ours, next_on_chain - 1):
        yield snapshot.finding(
            f"{account} on {snapshot.network}",
            f"the next sequence is {next_of_ours}",
            f"the next sequence is {next_on_chain}",
            "freeze the wallet: this ledger is older than the chain, or the key is used elsewhere",
            delta=next_on_chain - next_of_ours,
        )
    if wallet:
        later = Transfer.objects.filter(wallet=wallet, channel=channel, sequence__gte=next_on_chain)
        yield from _gaps(snapshot, account, later, next_on_chain, next_of_ours)


def _only_set_up(snapshot: WalletSnapshot, account: str, first: int, last: int) -> bool:
    try:
        preparations = snapshot.chain.preparations
        return preparations is not None and preparations.only_set_up(account, first, last)
    except ChainError as error:
        raise CouldNotCheck(f"{snapshot.network} did not answer: {error}") from error


def _gaps(
    snapshot: WalletSnapshot, account: str, later: QuerySet[Transfer], next_on_chain: int, next_of_ours: int
) -> Iterator[Finding]:
    """Sequences that later transfers wait for, and those that might be signed for twice."""
    statuses: dict[int, str] = {}
    for sequence, status in later.values_list("sequence", "status"):
        if statuses.get(sequence, TransferStatus.DEAD) == TransferStatus.DEAD:
            statuses[sequence] = status
    live = {sequence for sequence, status in statuses.items() if status != TransferStatus.DEAD}
    for sequence in sorted(set(range(next_on_chain, max(live, default=next_on_chain))) - live):
        # One that died leaves its sequence free: those behind it expire as well, and are signed again.
        died = sequence in statuses
        yield snapshot.finding(
            f"{account} on {snapshot.network}: sequence {sequence}",
            "a transfer that can be mined",
            "one that never can" if died else "none",
            "wait until the later transfers expire" if died else "freeze the wallet: later transfers wait for this one",
            severity=Severity.WARNING if died else Severity.ERROR,
        )
    for sequence in sorted(number for number in live if number >= next_of_ours):
        yield snapshot.finding(
            f"{account} on {snapshot.network}: sequence {sequence}",
            f"below {next_of_ours}, the next to be signed for",
            "a transfer",
            "freeze the wallet: this sequence might be signed for twice",
        )


# What is open now, whatever the time of the scope. What waits for its recipient is nobody's fault here.
LATE_PAYOUTS = """
    SELECT environment, network, reference, status, hold_reason, id::text FROM transfers_payout
    WHERE status IN ('ready', 'held', 'sending') AND hold_reason <> 'no_trustline' AND id < %(before)s
        AND environment = ANY(%(environments)s)
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
            f"look for its hashes on the network; it said last: {late.last_error_words}",
            environment=late.transfer.environment,
            network=late.transfer.network,
        )


def _kept_back(scope: Scope) -> Iterator[Finding]:
    """Stops by an operator, and wallets an operator must look at before they go on."""
    for stop in Stop.objects.standing().filter(environment__in=scope.environments):
        if not stop.network or scope.network in (None, stop.network):
            yield Finding(
                str(stop),
                "not stopped",
                f"stopped: {stop.reason}",
                "find out why, then lift it in the admin under Stops",
                environment=stop.environment,
                network=stop.network or None,
            )
