from __future__ import annotations

from typing import Any

from django.db import migrations, models


def list_suspended_merchants(apps: Any, schema_editor: Any) -> None:
    stop = apps.get_model("ledger", "Stop")
    for merchant in apps.get_model("merchants", "Merchant").objects.filter(is_active=False):
        place = {"kind": "suspension", "environment": "", "merchant": merchant, "lifted_at": None}
        stop.objects.get_or_create(**place, defaults={"reason": "Suspended before reasons were kept."})


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0005_merchants_can_be_stopped"),
    ]

    operations = [
        migrations.AlterField(
            model_name="stop",
            name="environment",
            field=models.CharField(
                blank=True,
                choices=[("sandbox", "Sandbox"), ("production", "Production")],
                help_text="Empty: both, of a suspended merchant.",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="stop",
            name="kind",
            field=models.CharField(
                choices=[
                    ("switch", "Payouts of an environment"),
                    ("breaker", "Payouts of a network or a coin"),
                    ("halt", "Reading, crediting and payouts of a network"),
                    ("wallet", "Signing for a wallet"),
                    ("merchant", "Payouts of a merchant"),
                    ("suspension", "A merchant as a whole"),
                ],
                db_default="breaker",
                default="breaker",
                max_length=10,
            ),
        ),
        migrations.RunPython(list_suspended_merchants, migrations.RunPython.noop),
    ]
