"""Months of tables that point to others are dropped without a lock of those, and waiting for locks ends sooner.

What waits for less than a second gives way before PostgreSQL looks for a deadlock, which may end somebody else.
"""

from django.db import migrations

FUNCTIONS = """
    CREATE OR REPLACE FUNCTION drop_month(month text, kept_by text DEFAULT NULL, since timestamptz DEFAULT NULL)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '800ms' AS $$
    DECLARE
        parent text;
    BEGIN
        SELECT whole.relname INTO parent FROM pg_inherits
        JOIN pg_class AS part ON part.oid = inhrelid
        JOIN pg_class AS whole ON whole.oid = inhparent
        WHERE inhrelid = to_regclass(format('public.%I', month)) AND part.relkind = 'r' AND part.relispartition
            AND pg_get_expr(part.relpartbound, part.oid) <> 'DEFAULT'
            AND has_table_privilege(session_user, inhparent, 'DELETE');
        IF parent IS NULL THEN
            RAISE EXCEPTION '% is no month of a table from which % may delete', month, session_user
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        EXECUTE format('LOCK TABLE ONLY public.%I', parent);
        IF kept_by IS NOT NULL THEN
            EXECUTE format(
                'CREATE TABLE public.%I AS SELECT * FROM public.%I WHERE %I >= %L', month || '_kept', month, kept_by, since
            );
        END IF;
        EXECUTE format('DROP TABLE public.%I', month);
        IF kept_by IS NOT NULL THEN
            EXECUTE format('INSERT INTO public.%I SELECT * FROM public.%I', parent, month || '_kept');
            EXECUTE format('DROP TABLE public.%I', month || '_kept');
        END IF;
    END $$;

    ALTER FUNCTION make_months SET lock_timeout = '800ms';
"""


class Migration(migrations.Migration):
    dependencies = [("installation", "0004_months")]

    operations = [migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop)]
