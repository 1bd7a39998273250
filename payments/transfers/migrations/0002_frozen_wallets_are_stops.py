"""A frozen wallet is a stop. Its columns are kept equal for processes of the version before; a later one drops them.

The functions have the rights of who calls them: a worker, which may lift no stop, lifts none by the columns.
"""

from django.db import migrations

CARRY_OVER = """
    INSERT INTO ledger_breaker (kind, environment, network, asset, address, reason, opened_at, closed_by)
    SELECT 'wallet', environment, network, '', address, frozen_reason, frozen_at, '' FROM transfers_wallet
    WHERE frozen_at IS NOT NULL
    ON CONFLICT DO NOTHING;
"""

KEEP_THE_COLUMNS = """
    ALTER TABLE transfers_wallet ALTER COLUMN frozen_reason SET DEFAULT '';
    CREATE FUNCTION transfers_stop_of_wallet() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.frozen_at IS NOT NULL THEN
            INSERT INTO ledger_breaker (kind, environment, network, asset, address, reason, opened_at, closed_by)
            VALUES ('wallet', NEW.environment, NEW.network, '', NEW.address, NEW.frozen_reason, NEW.frozen_at, '')
            ON CONFLICT DO NOTHING;
        ELSE
            UPDATE ledger_breaker SET closed_at = now()
            WHERE kind = 'wallet' AND environment = NEW.environment AND network = NEW.network
                AND address = NEW.address AND closed_at IS NULL;
        END IF;
        RETURN NULL;
    END $$;
    CREATE FUNCTION transfers_wallet_of_stop() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.closed_at IS NULL THEN
            UPDATE transfers_wallet SET frozen_at = NEW.opened_at, frozen_reason = NEW.reason
            WHERE environment = NEW.environment AND network = NEW.network AND address = NEW.address
                AND frozen_at IS NULL;
        ELSE
            UPDATE transfers_wallet SET frozen_at = NULL, frozen_reason = ''
            WHERE environment = NEW.environment AND network = NEW.network AND address = NEW.address
                AND frozen_at IS NOT NULL;
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER stop_of_wallet AFTER UPDATE OF frozen_at ON transfers_wallet
        FOR EACH ROW WHEN (OLD.frozen_at IS DISTINCT FROM NEW.frozen_at) EXECUTE FUNCTION transfers_stop_of_wallet();
    CREATE TRIGGER wallet_of_stop AFTER INSERT OR UPDATE OF closed_at ON ledger_breaker
        FOR EACH ROW WHEN (NEW.kind = 'wallet') EXECUTE FUNCTION transfers_wallet_of_stop();
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0004_frozen_wallets_are_stops"), ("transfers", "0001_tables")]

    operations = [
        migrations.RunSQL(CARRY_OVER, migrations.RunSQL.noop),
        migrations.RunSQL(KEEP_THE_COLUMNS, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(model_name="wallet", name="frozen_at"),
                migrations.RemoveField(model_name="wallet", name="frozen_reason"),
            ]
        ),
    ]
