"""The tables of this app as of the first release.

What PostgreSQL itself refuses: changing the past, and postings that are not double entry. And the sums of days, which it
keeps in the statement that writes entries.

The guards hold for every way into the tables, raw SQL included. `docs/money.md` says what each is for.
"""

import config.fields
import config.ids
import django.db.models.deletion
import django.utils.timezone
import merchants.ledger.models
from merchants.ledger import kinds
from django.db import migrations, models


APPEND_ONLY = """
    CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
            USING ERRCODE = 'restrict_violation', HINT = 'Correct a posting by another posting.';
    END $$;

    -- Test databases are emptied between tests: they alone carry this setting, see tests/conftest.py.
    CREATE FUNCTION ledger_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('ballast.allow_truncate', true) IS DISTINCT FROM 'on' THEN
            RAISE EXCEPTION '% is append-only: TRUNCATE refused', TG_TABLE_NAME
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NULL;
    END $$;

    CREATE TRIGGER posting_append_only BEFORE UPDATE OR DELETE ON ledger_posting
        FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
    CREATE TRIGGER entry_append_only BEFORE UPDATE OR DELETE ON ledger_entry
        FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
    CREATE TRIGGER posting_not_truncated BEFORE TRUNCATE ON ledger_posting
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_truncate();
    CREATE TRIGGER entry_not_truncated BEFORE TRUNCATE ON ledger_entry
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_truncate();

    -- An account keeps its meaning; only its balance moves. The columns are named so that moving it costs nothing.
    CREATE TRIGGER account_identity_fixed BEFORE UPDATE OF id, environment, network, asset, kind, owner
        ON ledger_account FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
"""

DOUBLE_ENTRY = """
    CREATE FUNCTION ledger_require_double_entry(checked uuid) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF (SELECT count(*) FROM ledger_entry WHERE posting_id = checked) < 2 THEN
            RAISE EXCEPTION 'posting % has fewer than two entries', checked
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF EXISTS (
            SELECT FROM ledger_entry AS entry JOIN ledger_account AS account ON account.id = entry.account_id
            WHERE entry.posting_id = checked
            GROUP BY account.network, account.asset HAVING sum(entry.amount) <> 0
        ) THEN
            RAISE EXCEPTION 'posting % does not sum to zero', checked
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF EXISTS (
            SELECT FROM ledger_entry AS entry
            JOIN ledger_account AS account ON account.id = entry.account_id
            JOIN ledger_posting AS posting ON posting.id = entry.posting_id
            WHERE entry.posting_id = checked AND account.environment <> posting.environment
        ) THEN
            RAISE EXCEPTION 'posting % touches an account of another environment', checked
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END $$;

    CREATE FUNCTION ledger_check_posting() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM ledger_require_double_entry(NEW.id);
        RETURN NULL;
    END $$;

    CREATE FUNCTION ledger_check_entry() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM ledger_require_double_entry(NEW.posting_id);
        RETURN NULL;
    END $$;

    -- At commit, when all entries are there. The trigger on entries keeps a later one from joining an old posting.
    CREATE CONSTRAINT TRIGGER posting_double_entry AFTER INSERT ON ledger_posting
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_posting();
    CREATE CONSTRAINT TRIGGER entry_double_entry AFTER INSERT ON ledger_entry
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_entry();
"""

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
"""

DROP = """
    DROP TRIGGER posting_append_only ON ledger_posting;
    DROP TRIGGER entry_append_only ON ledger_entry;
    DROP TRIGGER posting_not_truncated ON ledger_posting;
    DROP TRIGGER entry_not_truncated ON ledger_entry;
    DROP TRIGGER account_identity_fixed ON ledger_account;
    DROP TRIGGER posting_double_entry ON ledger_posting;
    DROP TRIGGER entry_double_entry ON ledger_entry;
    DROP FUNCTION ledger_check_entry, ledger_check_posting, ledger_require_double_entry,
        ledger_refuse_truncate, ledger_refuse_change;
"""

DROP_DAY_SUMS = """
    DROP TRIGGER entry_day_sums ON ledger_entry;
    DROP FUNCTION ledger_add_to_day_sums, ledger_day_of;
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL(kinds.functions_of_chart(), kinds.WITHOUT),
        migrations.CreateModel(
            name="ReconcileRun",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                ("options", models.JSONField(default=dict)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("running", "Running, or ended without a word"),
                            ("clean", "Clean"),
                            ("warnings", "Warnings"),
                            ("discrepancy", "Discrepancy"),
                            ("unfinished", "Could not finish"),
                        ],
                        default="running",
                        max_length=12,
                    ),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "checks",
                    models.JSONField(default=list, help_text="Each check with its findings counted, and its seconds."),
                ),
                (
                    "findings",
                    models.JSONField(default=list, help_text="The first findings; all of them are in the JSON output."),
                ),
                (
                    "summary",
                    models.JSONField(default=dict, help_text="How much of the coins in the ledger is explained."),
                ),
                ("breakers", models.JSONField(default=list, help_text="Where it stopped payouts, and why.")),
                (
                    "explained_count",
                    models.PositiveBigIntegerField(default=0, help_text="Findings that an operator has explained."),
                ),
                ("warning_count", models.PositiveBigIntegerField(default=0)),
                ("error_count", models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Account",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(max_length=20)),
                ("asset", models.CharField(help_text="Code of the coin.", max_length=8)),
                ("kind", models.CharField(choices=merchants.ledger.models.kinds_of_accounts, max_length=30)),
                (
                    "owner",
                    models.CharField(
                        blank=True, help_text="UUID of the record it belongs to, by its kind.", max_length=64
                    ),
                ),
                (
                    "balance",
                    config.fields.UnitsField(
                        default=0, help_text="Sum of the entries, in base units; credits are negative."
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("environment", "owner", "kind", "network", "asset"), name="account_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])), name="account_environment"
                    ),
                    models.CheckConstraint(
                        condition=models.Func(
                            models.F("kind"),
                            models.F("balance"),
                            function="ledger_allows_balance",
                            output_field=models.BooleanField(),
                        ),
                        name="account_balance_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Func(
                            models.F("kind"),
                            models.F("owner"),
                            function="ledger_allows_owner",
                            output_field=models.BooleanField(),
                        ),
                        name="account_owner_by_kind",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ExplainedFinding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("finding", models.CharField(help_text="The id that reconcile shows beside it.", max_length=12)),
                ("check_code", models.CharField(max_length=10, verbose_name="check")),
                ("environment", models.CharField(blank=True, max_length=10)),
                ("network", models.CharField(blank=True, max_length=20)),
                ("subject", models.TextField()),
                (
                    "figure",
                    models.TextField(
                        help_text="The difference or, without one, what was found. Another is another finding."
                    ),
                ),
                ("note", models.TextField(help_text="What it is.")),
                ("until", models.DateTimeField(help_text="From then on it counts again.")),
                ("explained_by", models.CharField(max_length=150)),
                ("explained_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_by", models.CharField(blank=True, max_length=150)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("withdrawn_at__isnull", True)),
                        fields=("finding",),
                        name="finding_explained_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Posting",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_uuid, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                (
                    "kind",
                    models.CharField(help_text="What happened: deposit_credited, payment_completed, …", max_length=40),
                ),
                (
                    "reference",
                    models.CharField(
                        help_text="Which occurrence of it; posting it again changes nothing.", max_length=200
                    ),
                ),
                ("memo", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "indexes": [models.Index(fields=["reference"], name="posting_by_reference")],
                "constraints": [
                    models.UniqueConstraint(fields=("environment", "kind", "reference"), name="posting_once"),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])), name="posting_environment"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", ""), _negated=True), models.Q(("reference", ""), _negated=True)
                        ),
                        name="posting_named",
                    ),
                ],
            },
            bases=(config.ids.KeyedByTime, models.Model),
        ),
        migrations.CreateModel(
            name="Stop",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("switch", "Payouts of an environment"),
                            ("breaker", "Payouts of a network or a coin"),
                        ],
                        db_default="breaker",
                        default="breaker",
                        max_length=10,
                    ),
                ),
                (
                    "environment",
                    models.CharField(choices=[("sandbox", "Sandbox"), ("production", "Production")], max_length=10),
                ),
                ("network", models.CharField(blank=True, help_text="Empty: all networks.", max_length=20)),
                (
                    "asset",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="Empty: all coins.", max_length=8
                    ),
                ),
                ("reason", models.TextField()),
                ("since", models.DateTimeField(db_column="opened_at", default=django.utils.timezone.now)),
                ("lifted_at", models.DateTimeField(blank=True, db_column="closed_at", null=True)),
                ("lifted_by", models.CharField(blank=True, db_column="closed_by", max_length=120)),
            ],
            options={
                "db_table": "ledger_breaker",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("lifted_at__isnull", True)),
                        fields=("environment", "network", "asset", "kind"),
                        name="stop_stands_once",
                    )
                ],
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
        migrations.CreateModel(
            name="Entry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("amount", config.fields.UnitsField(help_text="Base units; debits positive, credits negative.")),
                (
                    "account",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="entries",
                        to="ledger.account",
                    ),
                ),
                (
                    "posting",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entries", to="ledger.posting"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "entries",
                "constraints": [
                    models.UniqueConstraint(fields=("account", "posting"), name="entry_once_per_account"),
                    models.CheckConstraint(
                        condition=models.Q(("amount", 0), _negated=True), name="entry_amount_not_zero"
                    ),
                ],
            },
        ),
        migrations.RunSQL(APPEND_ONLY + DOUBLE_ENTRY, DROP),
        migrations.RunSQL(DAY_SUMS, DROP_DAY_SUMS),
    ]
