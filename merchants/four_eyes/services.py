"""Every change of a proposal: made, agreed to, withdrawn. What a kind does is registered by the app whose rows it
changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, QuerySet
from django.utils import timezone

from config.database.previews import is_preview
from config.errors import DomainError
from config.hooks import Hook
from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.people import eligible, people_needed, require_eligible
from merchants.models import User

logger = structlog.get_logger(__name__)

CarryOut = Callable[[Proposal, str], bool]
"""Carries out a proposal, under the locks of what it changes; False, and nothing is done, when its subject is not any
more as it was. Gets the names of the people who agreed."""


@dataclass(frozen=True, slots=True)
class Kind:
    carry_out: CarryOut
    permission: str
    """Of Django, that whoever agrees needs as well; empty: being a superuser."""
    summarize: Callable[[Proposal], str] | None = None
    """The proposal in the words that people agree to; it falls when they are others by then."""
    before_transaction: Callable[[str, Mapping[str, Any]], Any] | None = None
    """Queries something outside Ballast, before the database transaction, about the row with this key and its next
    state: `proposal.heard`."""


_KINDS: dict[str, Kind] = {}

mail_proposal: Hook[[Proposal, User], None] = Hook("mail_proposal")
"""Writes a mail to a person about an open proposal; `merchants.people` registers it."""


class ProposalDecided(DomainError):
    code = "proposal_decided"
    message = "This proposal is no longer open."


class AnotherMustAgree(DomainError):
    code = "second_person_needed"
    message = "You have proposed this yourself: another operator must agree."


class AgreeInTheAdmin(DomainError):
    code = "agree_in_the_admin"
    message = "Another operator has proposed this: agree in the admin, under Proposals."


class ProposerDoesNotCount(DomainError):
    code = "proposer_does_not_count"
    message = (
        "The operator who proposed this has lost the right to, or got another password since. Propose it yourself."
    )


class NotPermitted(DomainError):
    code = "not_permitted"
    message = "You may not do this yourself, so you cannot agree to it, nor withdraw it."


class NotPreviewed(DomainError):
    code = "not_previewed"
    message = "This depends on what the network answers when operators agree: nothing can be shown before."


def register(
    kind: ProposalKind,
    carry_out: CarryOut,
    *,
    permission: str = "",
    summarize: Callable[[Proposal], str] | None = None,
    before_transaction: Callable[[str, Mapping[str, Any]], Any] | None = None,
) -> None:
    _KINDS[kind] = Kind(carry_out, permission, summarize, before_transaction)


def propose(
    kind: ProposalKind,
    *,
    environment: str,
    subject: object,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object],
    summary: str = "",
    reason: str = "",
    people: int | None = None,
    by: User,
) -> Proposal:
    """Propose a change, or agree to it, when another operator has proposed the very same, whatever the `reason`.

    It is done at once where one operator is enough. Another proposal for the same row falls, and so does one that does
    not hold any more. `environment` is the one whose rule of how many decide holds; `people` is how many do where that
    is fewer. `summary` is for a kind that registers no words.
    """
    heard = _heard(kind, str(subject), after)
    why = {"reason": reason} if reason else {}
    proposal = Proposal(
        kind=kind,
        environment=environment,
        subject=str(subject),
        before=dict(before or {}),
        after={**after, **why},
        told=summary,
        proposed_by=by,
    )
    if summarize := _KINDS[kind].summarize:
        proposal.told = summarize(proposal)
    with transaction.atomic():
        require_eligible(by, environment=environment)
        is_alone = (people or people_needed(environment)) == 1
        waiting = _waiting(kind, subject)
        if waiting is not None:
            is_same = {**waiting.after, **why} == proposal.after and waiting.before == proposal.before
            if is_same and _stands(waiting, is_alone=is_alone):
                if waiting.proposed_by_id != by.pk and by.only_proposes and not is_alone:
                    raise AgreeInTheAdmin
                if waiting.proposed_by_id != by.pk:
                    return _agree(waiting, by=by, heard=heard, reason=reason)
                if not is_alone:
                    return waiting
            _end(waiting, ProposalStatus.WITHDRAWN, by)
        proposal.save()
        logger.warning("proposed", kind=str(kind), subject=str(subject), summary=proposal.told, by=by.email)
        if is_alone:
            _carry_out(proposal, by, by.email, heard)
        else:
            _mail_those_who_may_agree(proposal)
        return proposal


def agree(proposal: Proposal, *, by: User) -> Proposal:
    """Agree to what another operator has proposed, which is done at once; it falls where its row has changed since."""
    return _agree(proposal, by=by, heard=_heard(proposal.kind, proposal.subject, proposal.after))


def waiting_for(person: User) -> list[Proposal]:
    """The proposals that wait and that this person may agree to, the oldest first."""
    waiting = Proposal.objects.filter(status=ProposalStatus.WAITING).select_related("proposed_by").order_by("pk")
    return [
        each
        for each in waiting
        if _may_agree(each, person) and (each.proposed_by_id != person.pk or people_needed(each.environment) == 1)
    ]


def approvals(proposals: QuerySet[Proposal], *, environment: str) -> Iterator[tuple[Proposal, int]]:
    """The proposals of these that were carried out, with the key of each person whose word still counts. One query."""
    columns = (("proposed_by", "proposed_at"), ("decided_by", "decided_at"))
    counts = {
        f"{person}_counts": ExpressionWrapper(
            eligible(environment, operator=f"{person}__", at=at), output_field=BooleanField()
        )
        for person, at in columns
    }
    for each in proposals.filter(status=ProposalStatus.DONE).annotate(**counts):
        for person, _ in columns:
            if getattr(each, f"{person}_counts"):
                yield each, getattr(each, f"{person}_id")


def who_agreed(proposals: QuerySet[Proposal], *, environment: str) -> set[int]:
    """Keys of the people whose word still counts, of those who agreed to what was done."""
    return {person for _, person in approvals(proposals, environment=environment)}


def _agree(proposal: Proposal, *, by: User, heard: Any, reason: str = "") -> Proposal:
    with transaction.atomic():
        proposal = Proposal.objects.select_for_update(of=["self"]).select_related("proposed_by").get(pk=proposal.pk)
        if proposal.status != ProposalStatus.WAITING:
            raise ProposalDecided
        if not _may_agree(proposal, by):
            raise NotPermitted
        require_eligible(by, environment=proposal.environment)
        is_alone = people_needed(proposal.environment) == 1
        if proposal.proposed_by_id == by.pk and not is_alone:
            raise AnotherMustAgree
        if not is_alone and not _proposer_counts(proposal):
            raise ProposerDoesNotCount
        people = list(dict.fromkeys([proposal.proposed_by.email, by.email]))
        _carry_out(proposal, by, ", ".join(people), heard, reason)
        return proposal


def _may_agree(proposal: Proposal, by: User) -> bool:
    permission = _KINDS[proposal.kind].permission
    return by.has_perm(permission) if permission else by.is_superuser


def withdraw(proposal: Proposal, *, by: User) -> Proposal:
    """Take a proposal back, one's own or one that `by` may agree to: nothing is done."""
    with transaction.atomic():
        proposal = Proposal.objects.select_for_update().get(pk=proposal.pk)
        if proposal.status != ProposalStatus.WAITING:
            raise ProposalDecided
        if proposal.proposed_by_id != by.pk and not _may_agree(proposal, by):
            raise NotPermitted
        _end(proposal, ProposalStatus.WITHDRAWN, by)
        return proposal


def _mail_those_who_may_agree(proposal: Proposal) -> None:
    """Write a mail to each other operator who wishes one and whose word counts."""
    others = User.objects.filter(eligible(proposal.environment, operator=""), mails_proposals=True)
    for person in others.exclude(pk=proposal.proposed_by_id).order_by("pk"):
        if _may_agree(proposal, person) and person.has_perm("four_eyes.view_proposal"):
            mail_proposal(proposal, person)


def _waiting(kind: ProposalKind, subject: object) -> Proposal | None:
    waiting = Proposal.objects.filter(kind=kind, subject=str(subject), status=ProposalStatus.WAITING)
    return waiting.select_for_update().first()


def _proposer_counts(proposal: Proposal) -> bool:
    still = eligible(proposal.environment, operator="proposed_by__", at="proposed_at")
    return Proposal.objects.filter(still, pk=proposal.pk).exists()


def _has_same_summary(proposal: Proposal) -> bool:
    summarize = _KINDS[proposal.kind].summarize
    return summarize is None or summarize(proposal) == proposal.told


def _stands(proposal: Proposal, *, is_alone: bool) -> bool:
    """True if somebody can still agree to it."""
    return (is_alone or _proposer_counts(proposal)) and _has_same_summary(proposal)


def refuse_preview(kind: ProposalKind | str) -> None:
    """NotPreviewed in a preview of a kind that queries something outside, which no rollback would undo."""
    if is_preview() and _KINDS[kind].before_transaction is not None:
        raise NotPreviewed


def _heard(kind: str, subject: str, after: Mapping[str, Any]) -> Any:
    refuse_preview(kind)
    query = _KINDS[kind].before_transaction
    return query(subject, after) if query is not None else None


def _carry_out(proposal: Proposal, by: User, people: str, heard: Any, reason: str = "") -> None:
    proposal.heard = heard
    proposal.decided_by = by  # for what keeps who it was
    proposal.reasons = tuple(dict.fromkeys(filter(None, [proposal.after.get("reason"), reason])))
    is_done = _has_same_summary(proposal) and _KINDS[proposal.kind].carry_out(proposal, people)
    _end(proposal, ProposalStatus.DONE if is_done else ProposalStatus.FALLEN, by)


def _end(proposal: Proposal, status: ProposalStatus, by: User) -> None:
    proposal.status, proposal.decided_by, proposal.decided_at = status, by, timezone.now()
    proposal.save(update_fields=["status", "decided_by", "decided_at"])
    logger.warning("proposal ended", kind=proposal.kind, subject=proposal.subject, status=str(status), by=by.email)
