"""What PostgreSQL itself refuses: changing the past, and postings that are not double entry. And the sums of days, which it
keeps in the statement that writes entries.

The guards hold for every way into the tables, raw SQL included. `docs/money.md` says what each is for.
"""

from django.db import migrations

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
    replaces = [("ledger", "0017_kinds_are_data")]

    dependencies = [("ledger", "0001_tables")]

    operations = [migrations.RunSQL(APPEND_ONLY + DOUBLE_ENTRY, DROP), migrations.RunSQL(DAY_SUMS, DROP_DAY_SUMS)]
