"""Takes out of the counters what was never paid: payments that were accepted with less counted with their price."""

from django.db import migrations, models

CORRECT = """
    INSERT INTO payments_turnoverdelta (
        merchant_id, environment, hour, network, cryptocurrency, currency, paid, unpaid, volume, seconds
    )
    SELECT merchant_id, environment,
        date_trunc(
            'hour', to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0), 'UTC'
        ),
        network, cryptocurrency, currency, 0, 0,
        LEAST(fiat_amount, div(2 * released * fiat_amount + due, 2 * due)) - fiat_amount, 0
    FROM payments_payment
    WHERE completed_at IS NOT NULL AND released < due
        AND div(2 * released * fiat_amount + due, 2 * due) < fiat_amount
"""


class Migration(migrations.Migration):
    dependencies = [("payments", "0003_heights_are_on_entries")]

    operations = [
        migrations.RunSQL(CORRECT, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="turnoverdelta",
            name="volume",
            field=models.BigIntegerField(help_text="What was paid for the paid ones, in minor units of the currency."),
        ),
    ]
