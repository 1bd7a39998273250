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
    dependencies = [("refunds", "0007_database_defaults"), ("transfers", "0016_end_states")]

    operations = [migrations.RunSQL(GUARDS, WITHOUT)]
