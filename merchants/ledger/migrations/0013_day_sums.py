"""The sums of days: kept by PostgreSQL in the statement that writes entries, whoever writes them.

Making the trigger waits for those who are writing entries, and for nobody else: from then on each entry is either there
already, and noted as not summed yet, or is added by the trigger. A task sums those from before; the migration reads one.
"""

import config.fields
import django.db.models.deletion
from django.db import migrations, models

DAY_SUMS = """
    -- The day of UTC in which a posting was made: the first 48 bits of its key are the millisecond.
    CREATE FUNCTION ledger_day_of(posting uuid) RETURNS date IMMUTABLE LANGUAGE sql RETURN
        date '1970-01-01' + (('x' || left(replace(posting::text, '-', ''), 12))::bit(48)::bigint / 86400000)::integer;

    CREATE FUNCTION ledger_add_to_day_sums() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO ledger_daysum AS known (account_id, day, amount)
        SELECT entry.account_id, ledger_day_of(entry.posting_id), sum(entry.amount)
        FROM written AS entry JOIN ledger_account AS account ON account.id = entry.account_id
        WHERE account.owner = '' OR starts_with(account.kind, 'merchant:')
        GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (account_id, day) DO UPDATE SET amount = known.amount + EXCLUDED.amount;
        RETURN NULL;
    END $$;

    CREATE TRIGGER entry_day_sums AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS written
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_add_to_day_sums();

    INSERT INTO ledger_unsummedentries (id, after, last)
        SELECT 1, 0, id FROM ledger_entry ORDER BY id DESC LIMIT 1;
"""

DROP = """
    DROP TRIGGER entry_day_sums ON ledger_entry;
    DROP FUNCTION ledger_add_to_day_sums, ledger_day_of;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0012_cold_wallets"),
    ]

    operations = [
        migrations.CreateModel(
            name="UnsummedEntries",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("after", models.BigIntegerField(default=0, help_text="Those up to here are summed.")),
                ("last", models.BigIntegerField(help_text="The last of them.")),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="unsummed_entries_once")],
            },
        ),
        migrations.CreateModel(
            name="DaySum",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("amount", config.fields.UnitsField(help_text="Base units; debits positive, credits negative.")),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.account",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("account", "day"), name="day_sum_once")],
            },
        ),
        migrations.RunSQL(DAY_SUMS, DROP),
    ]
