"""What the lists in force say of addresses, and whether operators have released what was held for that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from django.db.models import Exists, Model, QuerySet

from config.hooks import Hook
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.people import people_needed
from merchants.four_eyes.services import who_agreed
from merchants.models import User
from payments.screening.addresses import account
from payments.screening.models import ListedAddress

propose_release: Hook[[Any, str, User], Proposal] = Hook("propose_release")
"""Proposes that a deposit or payout is released from review, for a reason."""

Row = TypeVar("Row", bound=Model)


def with_lists(rows: QuerySet[Row]) -> QuerySet[Row]:
    """Rows that know whether there is anything to compare: `has_lists`. It costs no query of its own."""
    return cast("QuerySet[Row]", rows.annotate(has_lists=Exists(ListedAddress.objects.all())))


def evidence_of(addresses: Iterable[str]) -> Mapping[str, str]:
    """What the lists in force say, by address; those that no list names are left out. One query."""
    accounts = {address: account(address) for address in addresses}
    named: defaultdict[str, list[str]] = defaultdict(list)
    found = ListedAddress.objects.filter(address__in=set(accounts.values()) - {""}).select_related("source")
    for each in found.order_by("source__source"):
        named[each.address].append(str(each))
    return {address: "\n".join(named[own]) for address, own in accounts.items() if own in named}


def is_released(environment: str, key: object, terms: Mapping[str, str]) -> bool:
    """True if as many operators as must have released a deposit or payout with this key, as it is now."""
    agreed = Proposal.objects.filter(kind=ProposalKind.SCREENING, subject=str(key), after__contains=dict(terms))
    return len(who_agreed(agreed, environment=environment)) >= people_needed(environment)
