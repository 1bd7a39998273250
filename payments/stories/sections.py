"""Sections that the pages of several records share: transfers, postings, webhooks and what people did."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from uuid import UUID

from django.db.models import Model

from config.admin.story import Section
from config.admin.values import (
    EMPTY,
    Shown,
    copied,
    dollars,
    instant,
    lines,
    link,
    money,
    network_name,
    on_explorer,
    page_of,
    place_of,
    profile_at,
    related,
)
from config.coins import COINS, usd_worth
from config.pages import wording
from merchants.audit.models import LoggedAction
from merchants.ledger.models import Account, Entry, Posting
from merchants.ledger.owners import name_owners
from payments.dashboard.timeline import Line
from payments.models import Deposit
from payments.transfers.models import Payout, TransferLine
from webhooks.models import Delivery, Event

MOST = 50
"""Of each kind on a page; lists have the rest."""


def linked(row: Model, words: str) -> Shown:
    return link(page_of(type(row), row.pk), words)


def transaction(environment: str, network: str, text: str) -> Shown:
    """A transaction's hash in short, with a link to the block explorer."""
    profile = profile_at(environment, network)
    return on_explorer(text, profile.explorer if profile else "", is_page=False) if text else EMPTY


def worth(code: str, units: int, decimals: int) -> str:
    """What base units of a coin are worth in dollars; empty for a native coin."""
    return dollars(usd_worth(code, units, decimals)) if code in COINS else ""


def address(environment: str, network: str, text: str) -> Shown:
    """An address in short, with a link to the block explorer."""
    profile = profile_at(environment, network)
    return on_explorer(text, profile.explorer_of_accounts if profile else "", is_page=False) if text else EMPTY


def deposits(found: Sequence[Deposit], title: str = "Transfers in", empty: str = "Nothing has arrived.") -> Section:
    return Section(
        title=title,
        headings=("Seen", "Amount", "Network", "State", "From", "Transaction"),
        rows=[
            (
                instant(each.seen_at),
                linked(each, wording.coins(each.amount, each.decimals, each.asset)),
                network_name(each.environment, each.network),
                each.get_status_display(),
                copied(each.sender, is_page=False),
                transaction(each.environment, each.network, each.transaction_hash),
            )
            for each in found
        ],
        empty=empty,
    )


def transfers_of(payout: Payout | None) -> Iterator[Section]:
    """The payout of a record, and every transfer that was signed for it."""
    if payout is None:
        return
    found = TransferLine.objects.filter(payout=payout).select_related("transfer").order_by("-transfer_id")[:MOST]
    place = payout.environment, payout.network
    yield Section(
        title="Transfers out",
        headings=("Signed", "Amount", "To", "State", "Network fee", "Transaction"),
        rows=[
            (
                instant(line.transfer.created_at),
                linked(line.transfer, wording.coins(payout.amount, payout.decimals, payout.asset)),
                copied(payout.recipient, is_page=False),
                line.transfer.get_status_display(),
                money(line.transfer.fee_units, place),
                transaction(*place, line.transfer.transaction_hash),
            )
            for line in found
        ],
        empty="Nothing is signed yet.",
    )


def postings_of(environment: str, owners: Collection[UUID]) -> Section:
    """The postings that moved the money of a payment or payout, oldest first, with what was then left of it."""
    own = list(Account.objects.filter(environment=environment, owner__in=[str(key) for key in owners]))
    keys = Entry.objects.filter(account__in=own).order_by("-posting").values_list("posting", flat=True)[:MOST]
    return _ledger(list(keys), own)


def postings_named(environment: str, references: Collection[str]) -> Section:
    """The postings with these references, oldest first."""
    found = Posting.objects.filter(environment=environment, reference__in=references).order_by("-pk")
    return _ledger(list(found.values_list("pk", flat=True)[:MOST]), ())


def _ledger(keys: Collection[UUID], own: Collection[Account]) -> Section:
    """These postings line by line; the balances of `own` after each of them."""
    entries = Entry.objects.filter(posting__in=keys).select_related("account", "posting").order_by("posting", "id")
    found = list(entries)
    names = name_owners({entry.account_id: entry.account for entry in found}.values())
    left = {account.pk: account.balance for account in own}
    mine = set(left)
    for entry in found:  # the balances before the first of them: what is now, less what they changed
        if entry.account_id in mine:
            left[entry.account_id] -= entry.amount
    rows = []
    for key in dict.fromkeys(map(attrgetter("posting_id"), found)):
        parts = [entry for entry in found if entry.posting_id == key]
        for entry in parts:
            if entry.account_id in mine:
                left[entry.account_id] += entry.amount
        row: list[Shown] = [
            instant(parts[0].posting.created_at),
            linked(parts[0].posting, str(parts[0].posting)),
            lines(f"{_change(entry)} {_named(entry.account, names[entry.account_id].name)}" for entry in parts),
        ]
        if own:
            row.append(
                lines(f"{_of(entry.account, left[entry.account_id])}" for entry in parts if entry.account_id in mine)
            )
        rows.append(row)
    headings = ["When", "What", "Accounts", *["Left for it"] * bool(own)]
    return Section(title="Ledger", headings=headings, rows=rows)


def _of(account: Account, signed: int) -> str:
    return money(account.rules.natural(signed), place_of(account), account.asset)


def _change(entry: Entry) -> str:
    words = _of(entry.account, entry.amount)
    return f"{words}:" if words.startswith("−") else f"+{words}:"


def _named(account: Account, owner: str) -> str:
    return f"{account.get_kind_display()}, {owner}"


def balances_of(environments: Collection[str], owner: UUID) -> Section:
    """What the ledger has of a merchant."""
    found = Account.objects.filter(environment__in=environments, owner=str(owner)).order_by("environment", "pk")
    return Section(
        title="Balances",
        headings=("Account", "Amount", "Network", "Environment"),
        rows=[
            (
                linked(each, each.get_kind_display()),
                _of(each, each.balance),
                network_name(each.environment, each.network),
                each.get_environment_display(),
            )
            for each in found
            if each.balance
        ],
        empty="Nothing is owed to the merchant, and the merchant owes nothing.",
    )


def timeline(found: Sequence[Line]) -> Section:
    return Section(
        title="What happened",
        headings=("When", "What", "Amount", "More"),
        rows=[(instant(each.at), _told(each.title), each.amount, _told(each.detail)) for each in reversed(found)],
    )


def _told(words: str) -> str:
    """What the dashboard tells a merchant, told of the merchant."""
    for mine, theirs in (
        ("Your ", "The merchant’s "),
        ("your operator", "the operator"),
        (" your ", " the merchant’s "),
    ):
        words = words.replace(mine, theirs)
    return words


def events_of(keys: Collection[UUID]) -> Iterator[Section]:
    """Events of records and their deliveries."""
    events = list(Event.objects.filter(object_id__in=keys).defer("payload").order_by("-id")[:MOST])
    yield Section(
        title="Events",
        headings=("When", "Event", "Version"),
        rows=[(instant(each.created_at), linked(each, each.type), wording.whole(each.version)) for each in events],
    )
    found = Delivery.objects.filter(event__in=[each.pk for each in events]).select_related("event", "endpoint")
    found = found.defer("event__payload").order_by("-id")[:MOST]
    yield Section(
        title="Webhooks",
        headings=("Event", "To", "State", "Attempts", "Delivered"),
        rows=[
            (
                linked(each, each.event.type),
                related(each.endpoint, is_page=False),
                each.get_status_display(),
                wording.whole(each.attempt_count),
                instant(each.delivered_at) if each.delivered_at else EMPTY,
            )
            for each in found
        ],
    )


def actions_of(merchant_id: UUID, records: Collection[str]) -> Section:
    """What members of the merchant did with these records, by their public ids."""
    found = LoggedAction.objects.filter(merchant=merchant_id, record__in=records).order_by("-pk")[:MOST]
    return Section(
        title="What people did",
        headings=("When", "Who", "What"),
        rows=[(instant(each.created_at), each.email, linked(each, each.words)) for each in found],
    )
