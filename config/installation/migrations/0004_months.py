"""Functions of the database that make and drop the months of partitioned tables: the hourly tasks call them.

Both run with the rights of the owner of the tables, as a worker may make and drop none. So the one takes nothing from
its caller but the name of a table, and makes what `migrate` would make. The other drops only months of a table whose
rows the caller may delete anyway; rows whose column `kept_by` is not before `since` go to the rest.

They wait for a lock for less than a second, as everybody else waits behind them, and so that they give way before
PostgreSQL looks for a deadlock, which may end somebody else. To drop a month locks no table that it points to.
"""

from django.db import migrations

FUNCTIONS = r"""
    CREATE FUNCTION first_uuid_at(instant timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE RETURN (
        lpad(to_hex((extract(epoch FROM instant) * 1000)::bigint), 12, '0') || '70008000000000000000'
    )::uuid;

    CREATE FUNCTION make_months(parent text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' SET lock_timeout = '800ms' AS $$
    DECLARE
        key text;
        rest text;
        month text;
        last text;
        since timestamptz;
        lower uuid;
        upper uuid;
    BEGIN
        SELECT attname, relname INTO STRICT key, rest FROM pg_partitioned_table
        JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
        JOIN pg_class ON pg_class.oid = partdefid
        WHERE partrelid = to_regclass(format('public.%I', parent));
        EXECUTE format('LOCK TABLE ONLY public.%I IN SHARE UPDATE EXCLUSIVE MODE', parent);
        SELECT max(substring(pg_get_expr(relpartbound, oid) FROM 'TO \(''(.*)''\)') COLLATE "C") INTO last
        FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = to_regclass(format('public.%I', parent));
        since := coalesce(
            to_timestamp(('x' || left(replace(last, '-', ''), 12))::bit(48)::bigint / 1000), date_trunc('month', now())
        );
        WHILE since <= date_trunc('month', now()) + interval '1 month' LOOP
            month := parent || to_char(since, '_YYYY_MM');
            lower := first_uuid_at(since);
            since := since + interval '1 month';
            upper := first_uuid_at(since);
            EXECUTE format('LOCK TABLE public.%I', rest);
            EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL EXCLUDING INDEXES)', month, parent);
            EXECUTE format(
                'WITH moved AS (DELETE FROM public.%1$I WHERE %2$I >= %3$L AND %2$I < %4$L RETURNING *)'
                ' INSERT INTO public.%5$I SELECT * FROM moved', rest, key, lower, upper, month
            );
            EXECUTE format(
                'ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                parent, month, lower, upper
            );
        END LOOP;
    END $$;

    CREATE FUNCTION drop_month(month text, kept_by text DEFAULT NULL, since timestamptz DEFAULT NULL)
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
"""


class Migration(migrations.Migration):
    dependencies = [("installation", "0003_release")]

    operations = [migrations.RunSQL(FUNCTIONS, "DROP FUNCTION make_months, drop_month, first_uuid_at")]
