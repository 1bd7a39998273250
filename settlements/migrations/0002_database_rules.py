"""PostgreSQL refuses to let a settlement leave a state that has no moves."""

from django.db import migrations

GUARDS = """
    CREATE TRIGGER settlement_end_state BEFORE UPDATE ON settlements_settlement
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('completed', 'failed');
"""

WITHOUT = """
    DROP TRIGGER settlement_end_state ON settlements_settlement;
"""


class Migration(migrations.Migration):
    replaces = [("settlements", "0012_end_states")]

    dependencies = [("settlements", "0001_tables"), ("transfers", "0002_database_rules")]

    operations = [migrations.RunSQL(GUARDS, WITHOUT)]
