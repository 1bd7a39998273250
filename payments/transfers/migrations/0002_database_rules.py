"""PostgreSQL refuses to let a payout or a transfer leave a state that has no moves, whatever the way in."""

from django.db import migrations

FUNCTION = """
    CREATE FUNCTION refuse_to_leave_end_state() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF OLD.status::text = ANY (TG_ARGV) THEN
            RAISE EXCEPTION '% % has ended as %: it does not become %', TG_TABLE_NAME, OLD.id, OLD.status, NEW.status
                USING ERRCODE = 'restrict_violation', HINT = 'What has ended is never begun again: make another.';
        END IF;
        RETURN NEW;
    END $$;
"""

GUARDS = """
    CREATE TRIGGER payout_end_state BEFORE UPDATE ON transfers_payout
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('paid', 'failed', 'cancelled');
    CREATE TRIGGER transfer_end_state BEFORE UPDATE ON transfers_transfer
        FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
        EXECUTE FUNCTION refuse_to_leave_end_state('final', 'failed', 'dead');
"""

WITHOUT = """
    DROP TRIGGER payout_end_state ON transfers_payout;
    DROP TRIGGER transfer_end_state ON transfers_transfer;
"""


class Migration(migrations.Migration):
    replaces = [("transfers", "0018_stops")]

    dependencies = [("transfers", "0001_tables")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION refuse_to_leave_end_state()"),
        migrations.RunSQL(GUARDS, WITHOUT),
    ]
