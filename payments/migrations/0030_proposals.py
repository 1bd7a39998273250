"""What one operator has agreed to about money in suspense becomes a proposal; the tables of it are left for old code."""

from __future__ import annotations

from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config import ids
from config.money import format_crypto


def carry_over(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    waiting: dict[tuple[str, str], Any] = {}
    for said in _open(apps, "DiscrepancyApproval", "discrepancy__payment__merchant", discrepancy__status="open"):
        row = said.discrepancy
        if row.payment is not None:
            told = f"{row.payment.merchant.name} gets {_coins(row)}, which came for {_id(row.payment)} ({row.kind})"
            waiting["accept", str(row.pk)] = (row, said, told, {})
    for said in _open(apps, "Attribution", "discrepancy__deposit", "payment", discrepancy__status="open"):
        row, payment = said.discrepancy, _id(said.payment)
        told = f"{_coins(row)}, sent by {row.deposit.transaction_hash if row.deposit else ''}, is for {payment}"
        waiting["attribute", str(row.pk)] = (row, said, told, {"payment": payment})
    for said in _open(apps, "ReturnApproval", "payer_return", payer_return__status="proven"):
        row = said.payer_return
        where = f"{' '.join(filter(None, [row.recipient, row.memo]))} ({ids.PAYER_RETURN.encode(row.pk)})"
        waiting["return", str(row.pk)] = (row, said, f"{_coins(row)} goes back to its sender at {where}", {})
    proposal = apps.get_model("four_eyes", "Proposal")
    for (kind, subject), (row, said, told, after) in waiting.items():
        proposal.objects.get_or_create(
            kind=kind,
            subject=subject,
            status="waiting",
            defaults={
                "environment": row.environment,
                "after": {**after, "reason": said.reason},
                "told": f"{told}. Why: {said.reason}",
                "proposed_by_id": said.operator_id,
                "proposed_at": said.approved_at,
            },
        )


def _open(apps: Apps, model: str, *related: str, **still: str) -> Any:
    """What waits, the newest last: it takes the place of what was said before."""
    found = apps.get_model("payments", model).objects.filter(**still)
    return found.select_related(*related).order_by("approved_at", "pk")


def _coins(row: Any) -> str:
    return f"{format_crypto(row.amount, row.decimals)} {row.asset} on {row.network}"


def _id(payment: Any) -> str:
    return ids.PAYMENT.encode(payment.pk)


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0029_settled_ahead"),
        ("four_eyes", "0009_kinds"),
    ]

    operations = [
        migrations.RunPython(carry_over, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("Attribution"),
                migrations.DeleteModel("DiscrepancyApproval"),
                migrations.DeleteModel("ReturnApproval"),
            ]
        ),
    ]
