"""Changes of the payout policy: whatever lets less leave holds at once, whatever lets more leave is proposed."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.models import StopKind
from merchants.ledger.stops import register_way
from merchants.models import User
from payments.transfers.models import PayoutPolicy
from payments.transfers.payouts import lock_policy


def lets_more_leave(policy: PayoutPolicy, changes: Mapping[str, object]) -> dict[str, object]:
    """Changes that let more money leave than the policy does: a limit raised or gone."""
    found: dict[str, object] = {}
    for name, value in changes.items():
        old = getattr(policy, name)
        if old is not None and (value is None or int(str(value)) > old):
            found[name] = value
    return found


def tighten(environment: str, changes: Mapping[str, object]) -> dict[str, object]:
    """Make those changes at once that let no more leave; returns the others, which must be proposed."""
    with transaction.atomic():
        policy = lock_policy(environment)
        more = lets_more_leave(policy, changes)
        for name in changes.keys() - more.keys():
            setattr(policy, name, changes[name])
        policy.save()
        return more


def propose_policy(environment: str, changes: Mapping[str, object], *, by: User) -> Proposal:
    """Propose changes that let more leave, or agree to them, when another operator has proposed the very same."""
    with transaction.atomic():
        policy = lock_policy(environment)
        return propose(
            ProposalKind.POLICY,
            environment=environment,
            subject=policy.pk,
            before={name: getattr(policy, name) for name in changes},
            after=changes,
            summary=f"Payouts in {environment}: "
            + "; ".join(_value_text(policy, name, changes[name]) for name in changes),
            by=by,
        )


def _value_text(policy: PayoutPolicy, name: str, value: object) -> str:
    old = getattr(policy, name)
    words = name.replace("_", " ")
    return f"{words} {'none' if old is None else f'{old:,}'} → {'none' if value is None else f'{value:,}'}"


def _change_as_agreed(proposal: Proposal, people: str) -> bool:
    policy = lock_policy(proposal.environment)
    if any(getattr(policy, name) != value for name, value in proposal.before.items()):
        return False
    for name, value in proposal.after.items():
        setattr(policy, name, value)
    policy.save()
    return True


register_way(
    StopKind.SWITCH,
    ProposalKind.SWITCH,
    first="See that nothing leaves that should not.",
    permission="transfers.change_payoutpolicy",
)
register(ProposalKind.POLICY, _change_as_agreed, permission="transfers.change_payoutpolicy")
