"""Approvals of payouts become proposals, done or waiting; their table is left for old code."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.conf import settings
from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.money import format_crypto

OPEN = ("ready", "held", "sending")


def carry_over(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    said: defaultdict[tuple[Any, ...], list[Any]] = defaultdict(list)
    approvals = apps.get_model("transfers", "PayoutApproval").objects.select_related("payout")
    for each in approvals.order_by("approved_at", "pk"):
        said[each.payout, int(each.amount), each.recipient, each.memo].append(each)
    for (payout, amount, recipient, memo), words in said.items():
        for number, first in enumerate(words[::2]):
            second = words[2 * number + 1] if len(words) > 2 * number + 1 else None
            waits = second is None and number == 0 and payout.status in OPEN and _needed(payout.environment) > 1
            _add(apps, payout, amount, recipient, memo, first, None if waits else second or first)


def _needed(environment: str) -> int:
    return settings.SANDBOX_OPERATORS_TO_DECIDE if environment == "sandbox" else settings.OPERATORS_TO_DECIDE


def _add(apps: Apps, payout: Any, amount: int, recipient: str, memo: str, first: Any, second: Any) -> None:
    proposal = apps.get_model("four_eyes", "Proposal")
    of_payout = {"kind": "payout", "subject": str(payout.pk)}
    if second is None and proposal.objects.filter(**of_payout, status="waiting").exists():
        return
    coins = f"{payout.reference}: {format_crypto(amount, payout.decimals)} {payout.asset} on {payout.network}"
    proposal.objects.create(
        **of_payout,
        environment=payout.environment,
        after={"amount": str(amount), "recipient": recipient, "memo": memo},
        told=f"Pay {coins} to {' '.join(filter(None, [recipient, memo]))}",
        status="done" if second else "waiting",
        proposed_by_id=first.operator_id,
        proposed_at=first.approved_at,
        decided_by_id=second.operator_id if second else None,
        decided_at=second.approved_at if second else None,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("transfers", "0016_end_states"),
        ("four_eyes", "0009_kinds"),
    ]

    operations = [
        migrations.RunPython(carry_over, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("PayoutApproval")]),
    ]
