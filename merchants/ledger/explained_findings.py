"""Findings that an operator has explained: every run lists them, but reacts to them again only when they change.

A finding is the same one while its check, network, subject and figure are. Runs show its short id beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from config.admin.values import money
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.models import ExplainedFinding, ReconcileRun
from merchants.models import User

logger = structlog.get_logger(__name__)

IDENTITY = ("check", "environment", "network", "identity", "figure")
"""The fields of a run's record that identify a finding."""


class ExplainedAlready(DomainError):
    code = "explained_already"
    message = "This finding is already explained; withdraw that first."


class NoSuchFinding(DomainError):
    code = "no_such_finding"
    message = "No run that is kept has a finding with this id."


def finding_id(record: Mapping[str, Any]) -> str:
    """The id of a finding, twelve digits: the same in every run while the finding is the same."""
    text = "\0".join(str(record[name] or "") for name in IDENTITY)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def in_force(now: datetime) -> dict[str, ExplainedFinding]:
    """The explanations that count at an instant, by the id of the finding."""
    standing = ExplainedFinding.objects.filter(withdrawn_at__isnull=True, until__gt=now)
    return {explained.finding: explained for explained in standing.order_by("pk")}


def find(finding: str) -> dict[str, Any]:
    """The record of a finding in the newest run that has it; NoSuchFinding when none has."""
    run = ReconcileRun.objects.filter(findings__contains=[{"id": finding}]).order_by("-id").first()
    if run is None:
        raise NoSuchFinding
    return next(record for record in run.findings if record.get("id") == finding)


def figure_in_words(environment: str, network: str, asset: str, figure: str) -> str:
    """A figure of a finding: an amount in coins where it is of a coin, else with separators; text as it is."""
    if not figure.removeprefix("-").isdecimal():
        return figure
    if environment and network and asset:
        return money(int(figure), (environment, network), asset)
    return f"{int(figure):,}"


def propose_explaining(finding: str, *, note: str, until: datetime, by: User) -> Proposal:
    """Propose that nothing reacts to a finding until an instant, or agree to it: what is lost would be passed over."""
    with transaction.atomic():  # only to get the errors; rolled back
        explained = explain(finding, note=note, until=until, explained_by="-")
        transaction.set_rollback(True)
    figure = figure_in_words(explained.environment, explained.network, explained.asset, explained.figure)
    return propose(
        ProposalKind.FINDING,
        environment=explained.environment or Environment.PRODUCTION,
        subject=finding,
        before={"figure": explained.figure},
        after={"note": explained.note, "until": until.isoformat()},
        summary=f"{explained}: {figure} is explained until {until:%Y-%m-%d %H:%M}: {explained.note}",
        by=by,
    )


def _explain_as_agreed(proposal: Proposal, people: str) -> bool:
    after = proposal.after
    try:
        until = datetime.fromisoformat(after["until"])
        explain(proposal.subject, note=after["note"], until=until, explained_by=people[:150])
    except (InvalidParameter, NoSuchFinding, ExplainedAlready):
        return False
    return True


register(ProposalKind.FINDING, _explain_as_agreed, permission="ledger.add_explainedfinding")


def explain(finding: str, *, note: str, until: datetime, explained_by: str) -> ExplainedFinding:
    """Explain a finding until an instant: runs list it, and no exit code reacts, and nothing is stopped for to it."""
    if not note.strip():
        raise InvalidParameter("Say what it is.", param="note")
    if until <= timezone.now():
        raise InvalidParameter("Name an instant that is still to come.", param="until")
    record = find(finding)
    try:
        with transaction.atomic():
            # An expired one is withdrawn first.
            ExplainedFinding.objects.filter(
                finding=finding, withdrawn_at__isnull=True, until__lte=timezone.now()
            ).update(withdrawn_at=timezone.now())
            explained = ExplainedFinding.objects.create(
                finding=finding,
                check_code=record["check"],
                environment=record["environment"] or "",
                network=record["network"] or "",
                subject=record["subject"],
                figure=record["figure"],
                asset=record.get("asset") or "",
                note=note.strip(),
                until=until,
                explained_by=explained_by,
            )
    except IntegrityError as error:
        raise ExplainedAlready from error
    logger.warning("finding explained", finding=str(explained), until=until.isoformat(), by=explained_by)
    return explained


def withdraw(explained: ExplainedFinding, *, withdrawn_by: str) -> bool:
    """Let runs react to the finding again from now on; False when it was withdrawn before."""
    standing = ExplainedFinding.objects.filter(pk=explained.pk, withdrawn_at__isnull=True)
    withdrawn = standing.update(withdrawn_at=timezone.now(), withdrawn_by=withdrawn_by) > 0
    if withdrawn:
        logger.warning("explanation withdrawn", finding=str(explained), by=withdrawn_by)
    return withdrawn
