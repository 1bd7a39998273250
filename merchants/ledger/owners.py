"""Names of the owners of ledger accounts, for people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.apps import apps

from config.admin.values import Shown, link, page_of
from config.hooks import Hook
from config.pages import wording
from merchants.ledger.chart import Owner
from merchants.ledger.models import Account
from merchants.models import Merchant


@dataclass(frozen=True, slots=True)
class OwnerName:
    """A merchant's name, or the id of the payment or payout; `label` and `key` are of its record."""

    name: str
    label: str = ""
    key: UUID | str = ""

    @property
    def short_name(self) -> str:
        """The end of an id alone; the whole name of a merchant, and of the house."""
        is_id = self.label not in ("", "merchants.Merchant")
        return wording.short_id(self.name) if is_id else self.name


names_of_records: Hook[[Collection[UUID]], Mapping[UUID, OwnerName]] = Hook("names_of_records")
"""Names of payments, payouts and deposits by key; payments provide it."""


def name_owners(accounts: Iterable[Account]) -> dict[int, OwnerName]:
    """Owners by the key of the account, with one query for each kind of record; of nobody, the house."""
    found = list(accounts)
    owners = {each.pk: UUID(each.owner) for each in found if each.owner}
    of_merchants = {owners[each.pk] for each in found if each.rules.owner == Owner.MERCHANT}
    merchants = Merchant.objects.in_bulk(of_merchants)
    others = set(owners.values()) - of_merchants
    names = dict(names_of_records(others)) if others else {}
    names |= {key: OwnerName(each.name, "merchants.Merchant", key) for key, each in merchants.items()}
    return {
        each.pk: names.get(owners[each.pk], OwnerName("unknown")) if each.owner else OwnerName("the house")
        for each in found
    }


def linked_owner(owner: OwnerName) -> Shown:
    """The owner's name, with a link to its record where that has a page."""
    return link(page_of(apps.get_model(owner.label), owner.key) if owner.label else "", owner.name)
