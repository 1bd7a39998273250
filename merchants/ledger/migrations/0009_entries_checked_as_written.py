"""Entries are checked as they are written: one query for all postings of a statement, instead of three for each row.

A statement writes entries that sum to zero by themselves, in each posting, network and coin. So do all entries of a
posting, whenever they were written; and because no entry is zero, a posting that has any has two. What is left for the
commit is whether it has any.

At commit the old check saw what a database transaction had changed meanwhile. Nothing can be: postings and the identity
of accounts were never changed, accounts are not deleted from now on, and an entry needs both to be there before it.

The triggers keep their names, by which `reconcile` of the version before looks for them. Tables are locked in the order
in which postings are written.
"""

from django.db import migrations

CHECK = """
    CREATE TRIGGER account_kept BEFORE DELETE ON ledger_account
        FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();

    -- Each row by an index, whatever PostgreSQL believes how many there are: it keeps the plan of the first statement.
    CREATE FUNCTION ledger_check_written() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        wrong uuid;
        is_at_home boolean;
    BEGIN
        SELECT entry.posting_id, bool_and((account.environment = posting.environment) IS TRUE) INTO wrong, is_at_home
        FROM written AS entry
        LEFT JOIN LATERAL (
            SELECT environment, network, asset FROM ledger_account WHERE id = entry.account_id OFFSET 0
        ) AS account ON TRUE
        LEFT JOIN LATERAL (
            SELECT environment FROM ledger_posting WHERE id = entry.posting_id OFFSET 0
        ) AS posting ON TRUE
        GROUP BY entry.posting_id, account.network, account.asset
        HAVING sum(entry.amount) <> 0 OR NOT bool_and((account.environment = posting.environment) IS TRUE)
        LIMIT 1;
        IF NOT FOUND THEN
            RETURN NULL;
        ELSIF is_at_home THEN
            RAISE EXCEPTION 'posting % does not sum to zero', wrong USING ERRCODE = 'integrity_constraint_violation',
                HINT = 'Write all entries of a posting by one statement.';
        END IF;
        RAISE EXCEPTION 'posting % or an account of it is not there, or of another environment', wrong
            USING ERRCODE = 'integrity_constraint_violation';
    END $$;

    DROP TRIGGER entry_double_entry ON ledger_entry;
    CREATE TRIGGER entry_double_entry AFTER INSERT ON ledger_entry REFERENCING NEW TABLE AS written
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_check_written();

    CREATE OR REPLACE FUNCTION ledger_check_posting() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NOT EXISTS (SELECT FROM ledger_entry WHERE posting_id = NEW.id) THEN
            RAISE EXCEPTION 'posting % has no entries', NEW.id USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NULL;
    END $$;

    DROP FUNCTION ledger_check_entry, ledger_require_double_entry;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0008_coin_of_an_explained_finding")]

    operations = [migrations.RunSQL(CHECK, migrations.RunSQL.noop)]
