"""The hot wallets against the books, to the base unit; and the operator's own coins in them, which this alone books."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import Q, QuerySet, Sum

from config.errors import InvalidParameter
from config.money import Asset
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.invariants import CouldNotCheck, Finding, Severity
from merchants.ledger.models import Account, Entry, Posting
from merchants.ledger.posting import AccountRef, Line, post
from payments.chains.errors import ChainError
from payments.chains.networks import SHARED_WALLETS
from payments.models import Deposit, ScanCursor, Sweep
from payments.native import on_their_way
from payments.states import DepositStatus
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.postings import gas_account, hot_account
from payments.transfers.sighting import Sight, look
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus, TransferPurpose, TransferStatus

TREASURY_IN = "treasury_in"
_AT_BLOCK = "seen at block "


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the chain holds so much more than the books at a height, or so much less when negative."""

    text: str
    amount: int


@dataclass(frozen=True, slots=True)
class WalletBalance:
    """One coin of the hot wallets of a network at a height, in base units."""

    environment: str
    asset: Asset
    account: AccountRef
    height: int
    booked: int
    on_chain: int
    explanations: Sequence[Explanation]
    fees_in_flight: int = 0
    """At most so much less, for fees of transfers that are on their way."""
    coming_in: int = 0
    """At most so much more, for sweeps of the network's own coin that are not booked yet."""
    is_read: bool = True
    """False: deposits arrive here that nobody has looked for yet. What is too much may be theirs."""

    @property
    def expected(self) -> int:
        return self.booked + sum(known.amount for known in self.explanations)

    @property
    def unexplained(self) -> int:
        """What the chain holds beyond all that is known; negative when coins are missing."""
        difference = self.on_chain - self.expected
        if difference < 0:
            return min(0, difference + self.fees_in_flight)
        return max(0, difference - self.coming_in) if self.is_read else 0

    def __str__(self) -> str:
        return f"hot wallet {self.environment} {self.asset.network} {self.asset.code} at block {self.height}"


class NothingToBook(InvalidParameter):
    """The hot wallet holds no coins that the books do not know of, or fewer than are to be booked."""


def wallet_balances(sight: Sight, *, at_block: int | None = None) -> Iterator[WalletBalance]:
    """Every coin of a network's hot wallets, its own coin last. CouldNotCheck when the network does not answer.

    Compared at one final height: what the books know of later blocks is taken out, what they do not know yet of
    earlier ones is added, each as an explanation.
    """
    height, is_read = _height(sight, at_block)
    try:
        explained = _explanations(sight, height)
        for code, asset in sight.chain.profile.assets.items():
            account = hot_account(sight.network, code)
            yield _compared(sight, asset, account, height, explained.get(code, ()), is_read=is_read)
        native = sight.chain.profile.native
        yield _compared(
            sight,
            native,
            gas_account(native),
            height,
            [*explained.get(native.code, ()), *_later_gas(sight, native, height)],
            fees_in_flight=_fees_in_flight(sight),
            coming_in=on_their_way(sight.environment, sight.network),
        )
    except ChainError as error:
        raise CouldNotCheck(f"{sight.network} did not answer: {error}") from error


def wallet_findings(sight: Sight, *, at_block: int | None = None) -> Iterator[Finding]:
    """Coins that are missing; and, as a warning, coins that nobody has booked."""
    compared = []
    for found in wallet_balances(sight, at_block=at_block):
        compared.append(found.asset.code)
        short = found.unexplained < 0
        if found.unexplained == 0 or (not short and not _is_kept_in_books(found)):
            continue
        command = f"manage.py book_treasury --env {sight.environment} --network {sight.network}"
        known = "".join(f"; {each.text}: {each.amount:+,}" for each in found.explanations)
        yield sight.finding(
            str(found),
            found.expected,
            found.on_chain,
            f"stop payouts, and look for what left the wallet (I11); in the books {found.booked:,}{known}"
            if short
            else f"if these are your own coins: {command} --asset {found.asset.code}",
            delta=found.unexplained,
            severity=None if short else Severity.WARNING,
            asset=found.asset.code,
            identity=f"hot wallet {found.asset.code}",  # the height is another in each run
        )
    kinds = (AccountKind.CHAIN_HOT, AccountKind.GAS)
    held = Account.objects.filter(environment=sight.environment, network=sight.network, kind__in=kinds, balance__gt=0)
    for account in held.exclude(asset__in=compared).order_by("asset"):
        yield sight.finding(
            str(account),
            "a coin in use",
            f"{account.balance:,} base units that cannot be counted",
            "accept the coin again, or move it out and correct the books",
            severity=Severity.WARNING,
        )


def _is_kept_in_books(found: WalletBalance) -> bool:
    """Coins that are paid out always are. The network's own once the operator has begun to book them: fees are paid
    from coins that never were as well."""
    if found.account.kind != AccountKind.GAS:
        return True
    return _treasury_entries(found.environment, found.account).exists()


def treasury_balance(environment: str, network: str, code: str) -> tuple[WalletBalance, int]:
    """One coin of the hot wallet as it is now, and how many times the operator has put some of it in."""
    sight = look(environment, network)
    if isinstance(sight, ChainError):
        raise CouldNotCheck(f"{network} did not answer: {sight}")
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        found = {each.asset.code: each for each in wallet_balances(sight)}
        if code not in found:
            raise InvalidParameter(f"{code} is not in use on {network}; in use are {', '.join(found)}.", param="asset")
        if not found[code].is_read:
            raise CouldNotCheck(f"nobody has looked for deposits on {network} yet: see that the chain worker runs")
        times = Posting.objects.filter(
            environment=environment, kind=TREASURY_IN, reference__startswith=_reference(found[code], "")
        )
        return found[code], times.count()


def book_treasury(found: WalletBalance, *, times: int, amount: int) -> Posting:
    """Bring coins of the operator into the books. `times` keeps two people from booking the same coins."""
    if not 0 < amount <= found.unexplained:
        raise NothingToBook(
            f"{found} holds {max(0, found.unexplained)} base units that the books do not know of.", param="amount"
        )
    treasury = AccountRef(found.asset.network, found.asset.code, AccountKind.TREASURY)
    with transaction.atomic():
        return post(
            environment=found.environment,
            kind=TREASURY_IN,
            reference=_reference(found, str(times + 1)),
            lines=[Line(found.account, amount), Line(treasury, -amount)],
            memo=f"{_AT_BLOCK}{found.height}",
        )


def _reference(found: WalletBalance, number: str) -> str:
    return f"{found.environment}:{found.asset.network}:{found.asset.code}:{number}"


# The parts of a comparison


def _height(sight: Sight, at_block: int | None) -> tuple[int, bool]:
    """The height to compare at, and whether all deposits up to there have been looked for."""
    if at_block is not None and at_block > sight.finalized_height:
        raise CouldNotCheck(f"block {at_block} of {sight.network} is not final; {sight.finalized_height} is")
    height = sight.finalized_height if at_block is None else at_block
    if sight.network not in SHARED_WALLETS:
        return height, True
    # Deposits arrive at this very wallet: only where they have been read can they be told apart.
    cursor = ScanCursor.objects.filter(environment=sight.environment, network=sight.network).first()
    if cursor is None or height <= cursor.head_height:
        return height, cursor is not None
    if at_block is not None:
        raise CouldNotCheck(f"{sight.network} has been read up to block {cursor.head_height} only")
    return cursor.head_height, True


def _compared(
    sight: Sight,
    asset: Asset,
    account: AccountRef,
    height: int,
    explanations: Sequence[Explanation],
    *,
    fees_in_flight: int = 0,
    coming_in: int = 0,
    is_read: bool = True,
) -> WalletBalance:
    return WalletBalance(
        environment=sight.environment,
        asset=asset,
        account=account,
        height=height,
        booked=balance(account, environment=sight.environment),
        on_chain=sum(sight.chain.balance(address, asset, at_height=height) for address in sight.addresses),
        explanations=explanations,
        fees_in_flight=fees_in_flight,
        coming_in=coming_in,
        is_read=is_read,
    )


def _explanations(sight: Sight, height: int) -> Mapping[str, list[Explanation]]:
    """By coin."""
    found: defaultdict[str, list[Explanation]] = defaultdict(list)
    for code, text, amount in (
        *_booked_later(sight, height),
        *_not_booked_yet(sight, height),
        *(_deposits(sight, height) if sight.network in SHARED_WALLETS else ()),
    ):
        if amount:
            found[code].append(Explanation(text, amount))
    return found


def _booked_later(sight: Sight, height: int) -> Iterator[tuple[str, str, int]]:
    """In the books already, and in a block above the height."""
    place = {"transfer__environment": sight.environment, "transfer__network": sight.network}
    paid = Payout.objects.filter(status=PayoutStatus.PAID, transfer__height__gt=height, **place)
    for code, total in _sums(paid.values_list("asset").annotate(Sum("amount"))):
        yield code, "payouts in later blocks", total
    swept = Sweep.objects.filter(moved__gt=0, transfer__height__gt=height, **place)
    for code, total in _sums(swept.values_list("asset").annotate(Sum("moved"))):
        yield code, "sweeps in later blocks", -total
    for code in sight.chain.profile.assets:
        yield (
            code,
            "put in by the operator in later blocks",
            -_treasury_later(sight, hot_account(sight.network, code), height),
        )


def _treasury_entries(environment: str, account: AccountRef) -> QuerySet[Entry]:
    return Entry.objects.filter(
        posting__environment=environment,
        posting__kind=TREASURY_IN,
        account__kind=account.kind,
        account__network=account.network,
        account__asset=account.asset,
    )


def _treasury_later(sight: Sight, account: AccountRef, height: int) -> int:
    """What the operator has put in since; an old height may stand before it."""
    entries = _treasury_entries(sight.environment, account).filter(posting__memo__startswith=_AT_BLOCK)
    rows = entries.values_list("posting__memo", "amount")
    return sum(int(amount) for memo, amount in rows if int(memo.removeprefix(_AT_BLOCK)) > height)


def _not_booked_yet(sight: Sight, height: int) -> Iterator[tuple[str, str, int]]:
    """In a block up to the height, and not in the books: transfers on their way, and sweeps that have just ended."""
    codes = {asset.contract: code for code, asset in sight.chain.profile.assets.items()}
    in_flight = Q(transfer__status__in=OPEN_TRANSFERS) | Q(
        transfer__status=TransferStatus.FINAL,
        transfer__purpose=TransferPurpose.SWEEP,
        transfer__sweep__booked_at__isnull=True,
    )
    here = Envelope.objects.filter(transfer__environment=sight.environment, transfer__network=sight.network)
    for envelope in here.filter(in_flight).order_by("pk"):
        for move in sight.chain.find_transfers(envelope.transaction_hash):
            if move.height > height or move.contract not in codes:
                continue
            came_in, went_out = move.recipient in sight.addresses, move.sender in sight.addresses
            amount = move.amount * (came_in - went_out)
            yield codes[move.contract], f"{move.transaction_hash}, not booked yet", amount


def _deposits(sight: Sight, height: int) -> Iterator[tuple[str, str, int]]:
    """Where deposits arrive at the wallet itself: those not booked yet, and those booked that are not there."""
    here = Deposit.objects.filter(environment=sight.environment, network=sight.network)
    waiting = here.filter(booked_to="", height__lte=height).exclude(status=DepositStatus.ORPHANED)
    for code, total in _sums(waiting.values_list("asset").annotate(Sum("amount"))):
        yield code, "deposits seen and not booked yet", total
    gone = here.exclude(booked_to="").filter(Q(height__gt=height) | Q(status=DepositStatus.ORPHANED))
    for code, total in _sums(gone.values_list("asset").annotate(Sum("amount"))):
        yield code, "deposits booked from later blocks", -total


def _later_gas(sight: Sight, native: Asset, height: int) -> Iterator[Explanation]:
    """Fees and the operator's coins that the books know of from later blocks."""
    later = Transfer.objects.filter(
        environment=sight.environment, network=sight.network, height__gt=height, finished_at__isnull=False
    )
    account = gas_account(native)
    paid = Entry.objects.filter(
        posting__environment=sight.environment,
        posting__kind="gas_paid",
        posting__reference__in=[str(key) for key in later.values_list("pk", flat=True)],
        account__kind=account.kind,
        account__network=account.network,
        account__asset=account.asset,
    )
    fees = -int(paid.aggregate(total=Sum("amount"))["total"] or 0)
    if fees:
        yield Explanation("fees in later blocks", fees)
    if put_in := _treasury_later(sight, account, height):
        yield Explanation("put in by the operator in later blocks", -put_in)


def _fees_in_flight(sight: Sight) -> int:
    """The most that transfers on their way may have cost already: one version of each is mined at most."""
    open_now = Envelope.objects.filter(
        transfer__environment=sight.environment,
        transfer__network=sight.network,
        transfer__status__in=OPEN_TRANSFERS,
    )
    return int(open_now.aggregate(total=Sum("fee_limit_units"))["total"] or 0)


def _sums(rows: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return [(code, int(total)) for code, total in rows]
