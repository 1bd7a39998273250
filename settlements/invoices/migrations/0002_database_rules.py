"""PostgreSQL refuses to change or delete an invoice: what was issued stays as it was, whatever the way in."""

from django.db import migrations

GUARD = """
    CREATE FUNCTION invoices_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'invoices are never changed: % refused', TG_OP
            USING ERRCODE = 'restrict_violation', HINT = 'Correct an invoice by a credit note.';
    END $$;
    CREATE TRIGGER invoice_never_changed BEFORE UPDATE OR DELETE ON invoices_invoice
        FOR EACH ROW EXECUTE FUNCTION invoices_refuse_change();
    CREATE TRIGGER invoice_not_truncated BEFORE TRUNCATE ON invoices_invoice
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_truncate();
"""

WITHOUT = """
    DROP TRIGGER invoice_not_truncated ON invoices_invoice;
    DROP TRIGGER invoice_never_changed ON invoices_invoice;
    DROP FUNCTION invoices_refuse_change();
"""


class Migration(migrations.Migration):
    replaces = [("invoices", "0003_carried")]

    dependencies = [("invoices", "0001_tables"), ("ledger", "0002_database_rules")]

    operations = [migrations.RunSQL(GUARD, WITHOUT)]
