"""What the lists in force say of addresses, and whether operators have released what was held for that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar, cast
from uuid import UUID

from django.db.models import Exists, Model, QuerySet

from config.hooks import Hook
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.people import people_needed
from merchants.four_eyes.services import approvals
from merchants.models import User
from payments.screening.addresses import account
from payments.screening.models import ListedAddress

propose_release: Hook[[Any, str, User], Proposal] = Hook("propose_release")
"""Proposes that a deposit or payout is released from review, for a reason."""

MAY_RELEASE = "screening.change_listedaddress"
"""Permission to release from review. Lists are imported, so nobody changes what they name in another way."""

Row = TypeVar("Row", bound=Model)


class Screened(Protocol):
    """A deposit or a payout."""

    @property
    def pk(self) -> UUID: ...

    environment: str
    has_lists: bool
    evidence: str

    @property
    def terms(self) -> dict[str, str]: ...

    @property
    def counterparty(self) -> str: ...


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


def note_evidence(rows: Iterable[Screened]) -> None:
    """Set the evidence that lists have against the sender or recipient of rows read by `with_lists`. Saves nothing."""
    fresh = [row for row in rows if row.has_lists and not row.evidence]
    found = evidence_of({row.counterparty for row in fresh}) if fresh else {}
    for row in fresh:
        row.evidence = found.get(row.counterparty, "")


def released(environment: str, rows: Iterable[Screened]) -> frozenset[UUID]:
    """Keys of the deposits or payouts that enough operators have released, with the amount and address they have now.

    One query, or none without rows.
    """
    terms = {str(row.pk): row.terms for row in rows}
    people: defaultdict[str, set[int]] = defaultdict(set)
    proposals = Proposal.objects.filter(kind=ProposalKind.SCREENING, subject__in=terms)
    for proposal, person in approvals(proposals, environment=environment) if terms else ():
        if terms[proposal.subject].items() <= proposal.after.items():
            people[proposal.subject].add(person)
    needed = people_needed(environment)
    return frozenset(UUID(key) for key, who in people.items() if len(who) >= needed)


def released_once(rows: Iterable[Screened]) -> frozenset[UUID]:
    """Keys of those whose release was carried out, as they are now, whoever has lost a right since. One query, or none
    without rows."""
    terms = {str(row.pk): row.terms for row in rows}
    done = Proposal.objects.filter(kind=ProposalKind.SCREENING, subject__in=terms, status=ProposalStatus.DONE)
    found = done.values_list("subject", "after") if terms else ()
    return frozenset(UUID(key) for key, after in found if terms[key].items() <= after.items())


def is_released(row: Screened) -> bool:
    """True if enough operators have released a deposit or payout, with the amount and address that it has now."""
    return row.pk in released(row.environment, [row])
