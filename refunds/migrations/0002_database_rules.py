"""PostgreSQL refuses to let a refund leave a state that has no moves."""

from django.db import migrations

GUARDS = """
    CREATE TRIGGER refund_end_state BEFORE UPDATE ON refunds_refund
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('completed', 'failed', 'cancelled');
"""

WITHOUT = """
    DROP TRIGGER refund_end_state ON refunds_refund;
"""


class Migration(migrations.Migration):
    replaces = [("refunds", "0008_end_states")]

    dependencies = [("refunds", "0001_tables"), ("transfers", "0002_database_rules")]

    operations = [migrations.RunSQL(GUARDS, WITHOUT)]
