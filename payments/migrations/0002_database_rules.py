"""The numbers that deposit addresses derive from, never used twice; and PostgreSQL refuses to let a return to a sender leave a
state that has no moves.
"""

from django.db import migrations

GUARDS = """
    CREATE TRIGGER payer_return_end_state BEFORE UPDATE ON payments_payerreturn
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('completed', 'failed', 'replaced');
"""

WITHOUT = """
    DROP TRIGGER payer_return_end_state ON payments_payerreturn;
"""


class Migration(migrations.Migration):
    replaces = [("payments", "0030_proposals")]

    dependencies = [("payments", "0001_tables"), ("transfers", "0002_database_rules")]

    operations = [
        migrations.RunSQL("CREATE SEQUENCE payments_deposit_sequence", "DROP SEQUENCE payments_deposit_sequence"),
        migrations.RunSQL(GUARDS, WITHOUT),
    ]
