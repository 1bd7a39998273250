"""A halted network is a stop. Its column is kept equal for processes of the version before; a later one drops it.

The functions have the rights of who calls them: a worker, which may lift no stop, lifts none by the column.
"""

from django.db import migrations

CARRY_OVER = """
    UPDATE ledger_breaker AS stop SET kind = 'halt', reason = place.last_error, opened_at = place.halted_at
    FROM payments_scancursor AS place
    WHERE place.halted_at IS NOT NULL AND stop.closed_at IS NULL AND stop.kind = 'breaker' AND stop.asset = ''
        AND (stop.environment, stop.network) = (place.environment, place.network)
        AND stop.reason = 'The network is halted: ' || place.last_error;
    INSERT INTO ledger_breaker (kind, environment, network, asset, reason, opened_at, closed_by)
    SELECT 'halt', environment, network, '', last_error, halted_at, '' FROM payments_scancursor
    WHERE halted_at IS NOT NULL
    ON CONFLICT DO NOTHING;
"""

KEEP_THE_COLUMN = """
    CREATE FUNCTION payments_stop_of_cursor() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.halted_at IS NOT NULL THEN
            INSERT INTO ledger_breaker (kind, environment, network, asset, reason, opened_at, closed_by)
            VALUES ('halt', NEW.environment, NEW.network, '', NEW.last_error, NEW.halted_at, '')
            ON CONFLICT DO NOTHING;
        ELSE
            UPDATE ledger_breaker SET closed_at = now()
            WHERE kind = 'halt' AND environment = NEW.environment AND network = NEW.network AND closed_at IS NULL;
        END IF;
        RETURN NULL;
    END $$;
    CREATE FUNCTION payments_cursor_of_stop() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.closed_at IS NULL THEN
            UPDATE payments_scancursor SET halted_at = NEW.opened_at, last_error = NEW.reason
            WHERE environment = NEW.environment AND network = NEW.network AND halted_at IS NULL;
        ELSE
            UPDATE payments_scancursor SET halted_at = NULL
            WHERE environment = NEW.environment AND network = NEW.network AND halted_at IS NOT NULL;
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER stop_of_cursor AFTER UPDATE OF halted_at ON payments_scancursor
        FOR EACH ROW WHEN (OLD.halted_at IS DISTINCT FROM NEW.halted_at) EXECUTE FUNCTION payments_stop_of_cursor();
    CREATE TRIGGER cursor_of_stop AFTER INSERT OR UPDATE OF closed_at ON ledger_breaker
        FOR EACH ROW WHEN (NEW.kind = 'halt') EXECUTE FUNCTION payments_cursor_of_stop();
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0003_halts_are_stops"), ("payments", "0004_volume_is_what_was_paid")]

    operations = [
        migrations.RunSQL(CARRY_OVER, migrations.RunSQL.noop),
        migrations.RunSQL(KEEP_THE_COLUMN, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField(model_name="scancursor", name="halted_at")]
        ),
    ]
