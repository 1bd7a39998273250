"""What PostgreSQL itself refuses: changing what people did, and deleting what they did in the last year.

The age of a row is the millisecond inside its key, which nothing can change either.
"""

from django.db import migrations

APPEND_ONLY = """
    CREATE FUNCTION audit_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
    END $$;

    CREATE FUNCTION audit_refuse_early_delete() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        milliseconds bigint := ('x' || left(replace(OLD.id::text, '-', ''), 12))::bit(48)::bigint;
    BEGIN
        IF to_timestamp(milliseconds / 1000.0) > now() - interval '365 days' THEN
            RAISE EXCEPTION '% keeps rows for 365 days: DELETE refused', TG_TABLE_NAME
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN OLD;
    END $$;

    -- Test databases are emptied between tests: they alone carry this setting.
    CREATE FUNCTION audit_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('ballast.allow_truncate', true) IS DISTINCT FROM 'on' THEN
            RAISE EXCEPTION '% is append-only: TRUNCATE refused', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NULL;
    END $$;

    CREATE TRIGGER logged_action_append_only BEFORE UPDATE ON audit_loggedaction
        FOR EACH ROW EXECUTE FUNCTION audit_refuse_update();
    CREATE TRIGGER logged_action_kept BEFORE DELETE ON audit_loggedaction
        FOR EACH ROW EXECUTE FUNCTION audit_refuse_early_delete();
    CREATE TRIGGER logged_action_not_truncated BEFORE TRUNCATE ON audit_loggedaction
        FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_truncate();
"""

DROP = """
    DROP TRIGGER logged_action_append_only ON audit_loggedaction;
    DROP TRIGGER logged_action_kept ON audit_loggedaction;
    DROP TRIGGER logged_action_not_truncated ON audit_loggedaction;
    DROP FUNCTION audit_refuse_update, audit_refuse_early_delete, audit_refuse_truncate;
"""


class Migration(migrations.Migration):
    replaces = [("audit", "0003_by_record")]

    dependencies = [("audit", "0001_tables")]

    operations = [migrations.RunSQL(APPEND_ONLY, DROP)]
