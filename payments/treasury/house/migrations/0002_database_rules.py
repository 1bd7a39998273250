"""PostgreSQL refuses to let a withdrawal leave a state that has no moves."""

from django.db import migrations

GUARDS = """
    CREATE TRIGGER withdrawal_end_state BEFORE UPDATE ON house_withdrawal
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('completed', 'failed');
"""

WITHOUT = """
    DROP TRIGGER withdrawal_end_state ON house_withdrawal;
"""


class Migration(migrations.Migration):
    replaces = [("house", "0006_withdrawals_found_after_a_restore")]

    dependencies = [("house", "0001_tables"), ("transfers", "0002_database_rules")]

    operations = [migrations.RunSQL(GUARDS, WITHOUT)]
