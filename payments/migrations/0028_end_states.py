"""PostgreSQL refuses to let a return to a sender leave a state that has no moves."""

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
    dependencies = [("payments", "0027_database_defaults"), ("transfers", "0016_end_states")]

    operations = [migrations.RunSQL(GUARDS, WITHOUT)]
