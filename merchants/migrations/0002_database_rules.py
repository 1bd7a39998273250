"""PostgreSQL keeps an owner for every merchant that has one, whoever changes the table, and how."""

from django.db import migrations

# Two transactions that each take one of two owners away wait for each other by the lock of the merchant; the second
# then sees what the first has done.
KEEP_AN_OWNER = """
    CREATE FUNCTION merchants_require_owner() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM merchants_merchant WHERE id = OLD.merchant_id FOR NO KEY UPDATE;
        IF NOT EXISTS (SELECT FROM merchants_member WHERE merchant_id = OLD.merchant_id AND role = 'owner') THEN
            RAISE EXCEPTION 'merchant % needs at least one owner', OLD.merchant_id
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NULL;
    END $$;

    CREATE CONSTRAINT TRIGGER member_keeps_an_owner AFTER UPDATE OR DELETE ON merchants_member
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.role = 'owner')
        EXECUTE FUNCTION merchants_require_owner();
"""

DROP = """
    DROP TRIGGER member_keeps_an_owner ON merchants_member;
    DROP FUNCTION merchants_require_owner;
"""


class Migration(migrations.Migration):
    replaces = [("merchants", "0012_let_in_by_operators")]

    dependencies = [("merchants", "0001_tables")]

    operations = [migrations.RunSQL(KEEP_AN_OWNER, DROP)]
