"""The hot wallets against the ledger, to the base unit; and booking the coins that the operator has put into them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from django.db.models import CharField, Exists, OuterRef, Q, Sum
from django.db.models.functions import Cast

from config.database.replica import read_alias, reading_cursor
from config.errors import InvalidParameter
from config.installation.services import current_standstill, require_resumed
from config.money import Asset
from merchants.ledger.chart import AccountKind
from merchants.ledger.checking import CouldNotCheck, Finding, Severity
from merchants.ledger.models import Account, Entry, Posting
from merchants.ledger.posting import AccountRef, Line, post
from payments.chains.errors import ChainError
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.operations import UnusualChange
from payments.chains.protocol.transfers import Identity, IncomingTransfer, OutgoingTransfer
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.models import Deposit
from payments.states import DepositStatus
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.models import Envelope, Payout
from payments.transfers.postings import cold_account, gas_account, hot_account
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus, TransferPurpose, TransferStatus
from payments.treasury import unusual_changes
from payments.treasury.cold import cold_wallets, not_booked_yet
from payments.treasury.models import ColdMove, ColdWallet
from payments.treasury.native_deposits import on_their_way

TREASURY_IN = "treasury_in"
SKIM_FINAL = "skim_final"
HOT_WALLET = (AccountKind.CHAIN_HOT, AccountKind.GAS)
"""Kinds of the accounts whose coins are in hot wallets."""


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """The reason the chain holds so much more than the ledger at a height, or so much less when negative."""

    text: str
    amount: int


@dataclass(frozen=True, slots=True)
class WalletBalance:
    """One coin of the hot wallets of a network, or of its cold wallets, at a height, in base units."""

    environment: str
    asset: Asset
    account: AccountRef
    height: int
    booked: int
    on_chain: int
    differences: Sequence[KnownDifference]
    fees_in_flight: int = 0
    """At most so much less, for fees of transfers that are on their way."""
    coming_in: int = 0
    """At most so much more, for sweeps of native coins that are not booked yet."""
    is_read: bool = True
    """False: deposits arrive here that nobody has looked for yet. What is too much may be theirs."""

    @property
    def expected(self) -> int:
        return self.booked + sum(known.amount for known in self.differences)

    @property
    def unexplained(self) -> int:
        """Coins on the chain beyond all that is known; negative when coins are missing."""
        difference = self.on_chain - self.expected
        if difference < 0:
            return min(0, difference + self.fees_in_flight)
        return max(0, difference - self.coming_in) if self.is_read else 0

    @property
    def is_cold(self) -> bool:
        return self.account.kind == AccountKind.CHAIN_COLD

    @property
    def wallet(self) -> str:
        return "cold wallet" if self.is_cold else "hot wallet"

    def __str__(self) -> str:
        return f"{self.wallet} {self.environment} {self.asset.network} {self.asset.code} at block {self.height}"


class NothingToBook(InvalidParameter):
    """The wallet holds no coins beyond the ledger, or fewer than are to be booked."""


def wallet_balances(snapshot: WalletSnapshot, *, at_block: int | None = None) -> Iterator[WalletBalance]:
    """Every coin of a network's hot wallets, the native coin last, then of its cold wallets. CouldNotCheck when the
    network does not answer.

    Compared at one final height: the entries of later blocks, and what the ledger has not yet from earlier ones, are
    known differences.
    """
    height, is_read = _height(snapshot, at_block)
    environment, profile = snapshot.environment, snapshot.chain.profile
    kinds = (*HOT_WALLET, AccountKind.CHAIN_COLD)
    held = Account.objects.filter(environment=environment, network=snapshot.network, kind__in=kinds, owner="")
    booked = {(kind, code): int(signed) for kind, code, signed in held.values_list("kind", "asset", "balance")}
    try:
        cold = cold_wallets(environment, snapshot.network)
        unread = list(not_booked_yet(snapshot.chain, cold, until=height))
        differences = _known_differences(snapshot, height, unread)
        for asset in (*profile.assets.values(), profile.native):
            is_native = asset == profile.native
            account = gas_account(asset) if is_native else hot_account(snapshot.network, asset.code)
            yield WalletBalance(
                environment=environment,
                asset=asset,
                account=account,
                height=height,
                booked=account.rules.natural(booked.get((account.kind, account.asset), 0)),
                on_chain=sum(
                    snapshot.chain.reading.balance(each, asset, at_height=height)
                    for each in (snapshot.accounts if is_native else snapshot.addresses)
                ),
                differences=differences[asset.code],
                fees_in_flight=_fees_in_flight(snapshot) if is_native else 0,
                coming_in=on_their_way(environment, snapshot.network) if is_native else 0,
                is_read=is_read or is_native,
            )
        if not cold:
            return
        differences = _differences_of_cold(snapshot, height, cold, unread)
        for asset in profile.assets.values():
            account = cold_account(snapshot.network, asset.code)
            yield WalletBalance(
                environment=environment,
                asset=asset,
                account=account,
                height=height,
                booked=booked.get((account.kind, account.asset), 0),
                on_chain=sum(snapshot.chain.reading.balance(each.address, asset, at_height=height) for each in cold),
                differences=differences[asset.code],
            )
    except ChainError as error:
        raise CouldNotCheck(f"{snapshot.network} did not answer: {error}") from error


def wallet_findings(snapshot: WalletSnapshot, *, at_block: int | None = None) -> Iterator[Finding]:
    """Coins that are missing; and, as a warning, coins that nobody has booked."""
    compared = []
    changes: list[UnusualChange] | None = None
    for found in wallet_balances(snapshot, at_block=at_block):
        if not found.is_cold:
            compared.append(found.asset.code)
        short = found.unexplained < 0
        if found.unexplained == 0 or (not short and not is_kept_in_ledger(found)):
            continue
        if changes is None:
            changes = _unusual_changes(snapshot, found.height)
        unusual = unusual_changes.of_asset(changes, found.asset)
        command = f"manage.py book_treasury --env {snapshot.environment} --network {snapshot.network}"
        known = "".join(f"; {each.text}: {each.amount:+,}" for each in found.differences)
        yield snapshot.finding(
            str(found),
            found.expected,
            found.on_chain,
            _proposal(
                found, unusual, known, f"{command} --asset {found.asset.code}{' --cold' if found.is_cold else ''}"
            ),
            delta=found.unexplained,
            severity=None if short else Severity.WARNING,
            asset=found.asset.code,
            identity=f"{found.wallet} {found.asset.code}",  # the height is another in each run
        )
    held = Account.objects.filter(
        environment=snapshot.environment, network=snapshot.network, kind__in=HOT_WALLET, balance__gt=0
    )
    for account in held.exclude(asset__in=compared).order_by("asset"):
        yield snapshot.finding(
            str(account),
            "a coin in use",
            f"{account.balance:,} base units that cannot be counted",
            "accept the coin again, or move it out and correct the ledger",
            severity=Severity.WARNING,
            identity=f"{account.environment} {account.network} {account.asset} {account.kind}",
        )


def _unusual_changes(snapshot: WalletSnapshot, height: int) -> list[UnusualChange]:
    try:
        return unusual_changes.of_the_last_day(snapshot, height)
    except ChainError as error:
        raise CouldNotCheck(f"{snapshot.network} did not answer: {error}") from error


def _proposal(found: WalletBalance, unusual: Sequence[UnusualChange], known: str, command: str) -> str:
    """The remedy for coins that are missing or too many. A clawback is the issuer's doing: nobody has the key."""
    suffix = f"; in the last day: {unusual_changes.in_words(unusual, found.asset)}" if unusual else ""
    if found.unexplained > 0:
        if current_standstill() is not None:
            return f"they may be merchants', swept since the backup: run manage.py resume_after_restore first{suffix}"
        return f"if these are coins of yours: {command}{suffix}"
    if found.is_cold:
        return f"stop payouts; Admin → Cold moves says what has left it; in the ledger {found.booked:,}{known}{suffix}"
    taken_back = -sum(each.amount for each in unusual if each.kind == "clawback")
    if taken_back >= -found.unexplained:
        return f"ask the coin's issuer why it took them back; the wallet's key is not in other hands{suffix}{known}"
    return f"stop payouts, and look for what left the wallet (I11); in the ledger {found.booked:,}{known}{suffix}"


def is_kept_in_ledger(found: WalletBalance) -> bool:
    """True if the ledger should have all of them. Of native coins it should once the operator has booked some: before,
    fees are paid from coins that were never booked."""
    if found.account.kind != AccountKind.GAS:
        return True
    place = {"account__environment": found.environment, "account__network": found.asset.network}
    booked = Entry.objects.filter(posting__kind=TREASURY_IN, account__kind=AccountKind.GAS, **place)
    return booked.filter(account__asset=found.asset.code).exists()


@contextmanager
def one_view_of_the_ledger() -> Iterator[None]:
    """The rows as they are at one moment, for all questions in this block; nothing can be written."""
    with transaction.atomic(using=read_alias(), durable=True):
        with reading_cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def treasury_balance(environment: str, network: str, code: str, *, is_cold: bool = False) -> tuple[WalletBalance, int]:
    """One coin of the hot or the cold wallet as it is now, and how many times the operator has put some of it in."""
    snapshot = take_wallet_snapshot(environment, network)
    if isinstance(snapshot, ChainError):
        raise CouldNotCheck(f"{network} did not answer: {snapshot}")
    with one_view_of_the_ledger():
        found = {each.asset.code: each for each in wallet_balances(snapshot) if each.is_cold == is_cold}
        if code not in found:
            raise InvalidParameter(f"{code} is not in use on {network}; in use are {', '.join(found)}.", param="asset")
        if not found[code].is_read:
            raise CouldNotCheck(
                f"nobody has looked for deposits on {network} yet, or could read them all: see that the chain worker "
                "runs, and Admin → Reading requests"
            )
        times = Posting.objects.filter(
            environment=environment, kind=TREASURY_IN, reference__startswith=_reference(found[code], "")
        )
        return found[code], times.count()


def book_treasury(found: WalletBalance, *, times: int, amount: int) -> Posting:
    """Book coins that the operator has put in. `times`, from treasury_balance, keeps them from being booked twice.

    Raises NotResumed while a restored database stands still.
    """
    require_resumed()
    if not 0 < amount <= found.unexplained:
        raise NothingToBook(
            f"{found} holds {max(0, found.unexplained)} base units that are not in the ledger.", param="amount"
        )
    treasury = AccountRef(found.asset.network, found.asset.code, AccountKind.TREASURY)
    with transaction.atomic():
        return post(
            environment=found.environment,
            kind=TREASURY_IN,
            reference=_reference(found, str(times + 1)),
            lines=[Line(found.account, amount), Line(treasury, -amount)],
            memo=f"seen at block {found.height}",
            height=found.height,
        )


def _reference(found: WalletBalance, number: str) -> str:
    cold = "cold:" if found.is_cold else ""
    return f"{found.environment}:{found.asset.network}:{found.asset.code}:{cold}{number}"


# The parts of a comparison


def _height(snapshot: WalletSnapshot, at_block: int | None) -> tuple[int, bool]:
    """The height to compare at, and whether all deposits up to there have been looked for."""
    if at_block is not None and at_block > snapshot.finalized_height:
        raise CouldNotCheck(f"block {at_block} of {snapshot.network} is not final; {snapshot.finalized_height} is")
    height = snapshot.finalized_height if at_block is None else at_block
    if at_block is not None:
        _require_heights(snapshot, at_block)
    if not snapshot.chain.profile.shares_account:
        return height, True
    # Deposits arrive at this very wallet: only where they have been read can they be distinguished from the operator's
    # coins.
    here = {"environment": snapshot.environment, "network": snapshot.network}
    cursor = ScanCursor.objects.filter(**here).first()
    if cursor is None:
        return height, False
    if at_block is not None and height > cursor.head_height:
        raise CouldNotCheck(f"{snapshot.network} has been read up to block {cursor.head_height} only")
    is_read = not ReadingRequest.objects.filter(**here).exclude(content="").exists()  # what was set aside may be one
    return min(height, cursor.head_height), is_read


def _require_heights(snapshot: WalletSnapshot, at_block: int) -> None:
    """CouldNotCheck where entries of an earlier release, which had no heights, may be of blocks above `at_block`."""
    entries = Entry.objects.filter(_of_wallets(snapshot, [*HOT_WALLET, AccountKind.CHAIN_COLD])).order_by("posting")
    oldest = entries.first()
    if oldest is None or oldest.height is not None:
        return
    known = entries.filter(height__isnull=False).values_list("height", flat=True).first()
    if known is None or at_block < known:
        since = "yet" if known is None else f"before block {known}"
        raise CouldNotCheck(f"the ledger knows no blocks {since} on {snapshot.network}: compare at a later one")


def _known_differences(
    snapshot: WalletSnapshot, height: int, unread: Sequence[tuple[ColdWallet, OutgoingTransfer]]
) -> defaultdict[str, list[KnownDifference]]:
    """Of the hot wallets, by coin."""
    return _by_coin(
        *_booked_later(snapshot, height, HOT_WALLET),
        *_not_booked_yet(snapshot, height, snapshot.addresses),
        *(_deposits(snapshot, height) if snapshot.chain.profile.shares_account else ()),
        *_refills(snapshot, height, unread),
    )


def _differences_of_cold(
    snapshot: WalletSnapshot,
    height: int,
    cold: Sequence[ColdWallet],
    unread: Sequence[tuple[ColdWallet, OutgoingTransfer]],
) -> defaultdict[str, list[KnownDifference]]:
    """Of the cold wallets, by coin."""
    addresses, codes = [each.address for each in cold], _codes(snapshot)
    gone = (each for _, each in unread if each.contract in codes and each.recipient not in addresses)
    return _by_coin(
        *_booked_later(snapshot, height, [AccountKind.CHAIN_COLD]),
        *_not_booked_yet(snapshot, height, addresses),
        *_skims(snapshot, height, addresses),
        *((codes[each.contract], f"{each.transaction_hash}, not booked yet", -each.amount) for each in gone),
        *((code, text, -total) for code, text, total in _unknown_refills(snapshot, height)),
    )


def _booked_later(snapshot: WalletSnapshot, height: int, kinds: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Entries of the ledger from blocks above the height, to be taken out."""
    entries = Entry.objects.filter(_of_wallets(snapshot, kinds), height__gt=height)
    sums = entries.values_list("account__asset").annotate(Sum("amount"))
    for code, text, total in _sums(sums, "booked from later blocks"):
        yield code, text, -total


def _of_wallets(snapshot: WalletSnapshot, kinds: Sequence[str]) -> Q:
    """The entries of the house's accounts of these kinds on a network."""
    return Q(
        account__environment=snapshot.environment,
        account__network=snapshot.network,
        account__kind__in=kinds,
        account__owner="",
    )


def _by_coin(*known: tuple[str, str, int]) -> defaultdict[str, list[KnownDifference]]:
    found: defaultdict[str, list[KnownDifference]] = defaultdict(list)
    for code, text, amount in known:
        if amount:
            found[code].append(KnownDifference(text, amount))
    return found


def _codes(snapshot: WalletSnapshot) -> dict[str, str]:
    """Of the accepted coins, by contract."""
    return {asset.contract: code for code, asset in snapshot.chain.profile.assets.items()}


def _refills(
    snapshot: WalletSnapshot, height: int, unread: Sequence[tuple[ColdWallet, OutgoingTransfer]]
) -> Iterator[tuple[str, str, int]]:
    """From cold wallets: there already, and not in the ledger."""
    if snapshot.chain.profile.shares_account:  # there a refill is a deposit first
        return
    codes = _codes(snapshot)
    for _, each in unread:
        if each.contract in codes and each.recipient in snapshot.addresses:
            yield codes[each.contract], f"{each.transaction_hash}, not booked yet", each.amount
    yield from _unknown_refills(snapshot, height)


def _unknown_refills(snapshot: WalletSnapshot, height: int) -> list[tuple[str, str, int]]:
    """Refills from cold wallets beyond what the ledger had there: once the operator has booked that, two people agree
    that it was a refill. In the hot wallet it is nobody's to book."""
    if snapshot.chain.profile.shares_account:
        return []
    here = {"wallet__environment": snapshot.environment, "wallet__network": snapshot.network}
    moves = ColdMove.objects.filter(
        kind=ColdMove.Kind.UNKNOWN, recipient__in=snapshot.addresses, height__lte=height, **here
    )
    return _sums(moves.values_list("asset").annotate(Sum("amount")), "refills with more than the ledger had")


def _skims(snapshot: WalletSnapshot, height: int, addresses: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """To cold wallets: paid, and not booked as arrived yet."""
    here = {"environment": snapshot.environment, "network": snapshot.network}
    booked = Posting.objects.filter(kind=SKIM_FINAL, reference=Cast(OuterRef("pk"), CharField()))
    arrived = Payout.objects.filter(
        ~Exists(booked), merchant=None, recipient__in=addresses, status=PayoutStatus.PAID, **here
    ).filter(transfer__height__lte=height)
    yield from _sums(arrived.values_list("asset").annotate(Sum("amount")), "skims, not booked yet")


def _not_booked_yet(snapshot: WalletSnapshot, height: int, ours: Collection[str]) -> Iterator[tuple[str, str, int]]:
    """In a block up to the height, and not in the ledger: transfers on their way, and sweeps that have just ended.

    What they did to these addresses of ours.
    """
    codes = _codes(snapshot)
    in_flight = Q(transfer__status__in=OPEN_TRANSFERS) | Q(
        transfer__status=TransferStatus.FINAL,
        transfer__purpose=TransferPurpose.SWEEP,
        transfer__sweep__booked_at__isnull=True,
    )
    here = Envelope.objects.filter(transfer__environment=snapshot.environment, transfer__network=snapshot.network)
    counted: set[Identity] = set()  # versions around one signed transaction find the same transfers
    for envelope in here.filter(in_flight).select_related("transfer").order_by("pk"):
        for move in _moved_by(snapshot.chain, envelope):
            if move.height > height or move.contract not in codes or move.identity in counted:
                continue
            counted.add(move.identity)
            came_in, went_out = move.recipient in ours, move.sender in ours
            amount = move.amount * (came_in - went_out)
            yield codes[move.contract], f"{move.transaction_hash}, not booked yet", amount


def _moved_by(chain: Chain, envelope: Envelope) -> tuple[IncomingTransfer, ...]:
    """The moves of one version of a transfer, and the balances it has set aside for recipients to claim."""
    found = chain.reading.find_transfers(envelope.transaction_hash)
    if chain.operations and envelope.transfer.lines.exclude(claimable_balance="").exists():
        found += chain.operations.find_set_aside(envelope.transaction_hash)
    return found


def _deposits(snapshot: WalletSnapshot, height: int) -> Iterator[tuple[str, str, int]]:
    """Deposits that arrive at the wallet itself: those not booked yet, and those booked that the network undid."""
    here = Deposit.objects.filter(environment=snapshot.environment, network=snapshot.network)
    waiting = here.filter(booked_to="", height__lte=height).exclude(status=DepositStatus.ORPHANED)
    yield from _sums(waiting.values_list("asset").annotate(Sum("amount")), "deposits seen and not booked yet")
    gone = here.exclude(booked_to="").filter(height__lte=height, status=DepositStatus.ORPHANED)
    for code, text, total in _sums(gone.values_list("asset").annotate(Sum("amount")), "deposits undone since"):
        yield code, text, -total


def _fees_in_flight(snapshot: WalletSnapshot) -> int:
    """The most that transfers on their way may have cost already: one version of each is mined at most."""
    open_now = Envelope.objects.filter(
        transfer__environment=snapshot.environment,
        transfer__network=snapshot.network,
        transfer__status__in=OPEN_TRANSFERS,
    )
    return int(open_now.aggregate(total=Sum("fee_limit_units"))["total"] or 0)


def _sums(rows: Iterable[tuple[str, int]], text: str) -> list[tuple[str, str, int]]:
    return [(code, text, int(total)) for code, total in rows]
