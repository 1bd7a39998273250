"""The story of a posting: its lines, and the record that its reference names, with that record's story."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from django.apps import apps
from django.db.models import Model

from config import ids
from config.admin.story import Section, story_of
from config.admin.values import money, network_name, place_of, record_of, related, words_of
from merchants.ledger.day_sums import sums_below
from merchants.ledger.models import Account, Posting
from merchants.ledger.owners import linked_owner, name_owners
from payments.models import Deposit
from payments.stories.sections import linked
from payments.transfers.models import Transfer
from payments.treasury.losses.models import MissingCoins
from payments.treasury.models import ColdMove

OF_LOSSES = ("missing_held", "missing_ended", "loss_of_house", "loss_of_merchant")
"""Kinds of postings whose references begin with the number of missing coins."""

BY_KEY = (
    "payments.Payment",
    "transfers.Payout",
    "transfers.Transfer",
    "payments.Discrepancy",
    "payments.Deposit",
    "house.Withdrawal",
    "settlements.DebtOffset",
    "settlements.DebtDecision",
)
"""Records that references name by their keys, those of most postings first. Keys of all kinds differ."""

_KEY = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PUBLIC_ID = re.compile(r"[a-z]{3}_[0-9a-z]{26}")


def cause_of(posting: Posting) -> Model | None:
    """The record that a posting was made for, by its reference; None where it is gone or was never one."""
    reference = posting.reference
    if posting.kind in OF_LOSSES:
        return MissingCoins.objects.filter(pk=reference.partition(":")[0]).first()
    if found := _PUBLIC_ID.search(reference):
        return record_of(found[0])
    if found := _KEY.search(reference):
        rows = (apps.get_model(label)._default_manager.filter(pk=UUID(found[0])).first() for label in BY_KEY)
        return next((row for row in rows if row is not None), None)
    parts = reference.split(":")
    here = {"environment": posting.environment, "network__in": parts}
    return (
        Deposit.objects.filter(**here, transaction_hash__in=parts).order_by("pk").first()
        or Transfer.objects.filter(**here, transaction_hash__in=parts).first()
        or ColdMove.objects.filter(wallet__environment=posting.environment, transaction_hash__in=parts).first()
    )


def of_posting(posting: Posting) -> Iterator[Section]:
    yield _lines(posting)
    record = cause_of(posting)
    if record is None:
        yield Section(title="Made for", headings=("Record",), rows=(), empty="No record is named by its reference.")
        return
    noun = words_of(str(record._meta.verbose_name)).capitalize()
    name = related(record, is_page=True)
    if not isinstance(record, ids.PublicRecord):
        name = linked(record, str(record))
    yield Section(title="Made for", headings=("Record", "What it is"), rows=[(name, noun)])
    for section in story_of(record):
        if section.title != "Ledger":
            yield replace(section, title=f"{noun}: {section.title[:1].lower()}{section.title[1:]}")


def _lines(posting: Posting) -> Section:
    """The lines of a posting, each with the balance of its account after it."""
    entries = list(posting.entries.select_related("account").order_by("id"))
    owners = name_owners(entry.account for entry in entries)
    [signed] = sums_below([entry.account_id for entry in entries], UUID(int=posting.pk.int + 1))
    return Section(
        title="Lines",
        headings=("Account", "Whose", "Debit", "Credit", "Balance after it"),
        rows=[
            (
                linked(account, f"{account.get_kind_display()}, {network_name(account.environment, account.network)}"),
                linked_owner(owners[account.pk]),
                _coins(account, entry.amount) if entry.amount > 0 else "",
                _coins(account, -entry.amount) if entry.amount < 0 else "",
                _coins(account, account.rules.natural(signed[account.pk])),
            )
            for entry in entries
            for account in (entry.account,)
        ],
    )


def _coins(account: Account, units: int) -> str:
    return money(units, place_of(account), account.asset)
