"""Who bears missing coins is proposed as everything else that takes two."""

from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.money import format_crypto

BEARERS = {"merchant": "The merchant", "house": "The house"}


def carry_over(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    people = apps.get_model("merchants", "User").objects
    for row in apps.get_model("losses", "MissingCoins").objects.filter(status="open").exclude(proposed_by=""):
        if (person := people.filter(email=row.proposed_by).first()) is not None:
            coins = f"{format_crypto(row.amount, row.decimals)} {row.asset}"
            where = f"{row.address} on {row.network} ({row.environment})"
            apps.get_model("four_eyes", "Proposal").objects.create(
                kind="loss",
                environment=row.environment,
                subject=str(row.pk),
                after={"bearer": row.bearer, "reason": row.reason},
                told=f"{BEARERS[row.bearer]} bears the loss of {coins} at {where}. Why: {row.reason}",
                proposed_by=person,
                proposed_at=row.proposed_at,
            )
        row.bearer = row.reason = row.proposed_by = ""
        row.proposed_at = None
        row.save()


class Migration(migrations.Migration):
    dependencies = [
        ("losses", "0001_initial"),
        ("four_eyes", "0009_kinds"),
    ]

    operations = [
        migrations.RunPython(carry_over, migrations.RunPython.noop),
    ]
