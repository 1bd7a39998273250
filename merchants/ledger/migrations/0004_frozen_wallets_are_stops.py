from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0003_halts_are_stops")]

    operations = [
        migrations.RemoveConstraint(model_name="stop", name="stop_stands_once"),
        migrations.AddField(
            model_name="stop",
            name="address",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Empty: every wallet of the network.",
                max_length=80,
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
                ],
                db_default="breaker",
                default="breaker",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="stop",
            constraint=models.UniqueConstraint(
                condition=models.Q(("lifted_at__isnull", True)),
                fields=("environment", "network", "asset", "address", "kind"),
                name="stop_stands_once",
            ),
        ),
    ]
