from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0002_heights")]

    operations = [
        migrations.AlterField(
            model_name="stop",
            name="kind",
            field=models.CharField(
                choices=[
                    ("switch", "Payouts of an environment"),
                    ("breaker", "Payouts of a network or a coin"),
                    ("halt", "Reading, crediting and payouts of a network"),
                ],
                db_default="breaker",
                default="breaker",
                max_length=10,
            ),
        ),
    ]
