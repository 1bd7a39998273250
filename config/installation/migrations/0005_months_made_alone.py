"""Whoever writes waits for a month that is being made before it looks for the row's partition.

It waited for the rest, which then did not take the row any more: the month was there. Tables that are pointed to are
locked first, as whoever records an attempt does. And only who may write rows makes a month, as others are locked out
until the end of the caller's database transaction.
"""

from django.db import migrations

MAKE_MONTHS = r"""
    CREATE OR REPLACE FUNCTION make_months(parent text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' SET lock_timeout = '800ms' AS $$
    DECLARE
        key text;
        rest text;
        month text;
        last text;
        pointed_to regclass;
        since timestamptz;
        lower uuid;
        upper uuid;
    BEGIN
        SELECT attname, relname INTO STRICT key, rest FROM pg_partitioned_table
        JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
        JOIN pg_class ON pg_class.oid = partdefid
        WHERE partrelid = to_regclass(format('public.%I', parent))
            AND has_table_privilege(session_user, partrelid, 'INSERT');
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
            FOR pointed_to IN SELECT confrelid::regclass FROM pg_constraint
            WHERE conrelid = to_regclass(format('public.%I', parent)) AND contype = 'f' LOOP
                EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', pointed_to);
            END LOOP;
            EXECUTE format('LOCK TABLE ONLY public.%I', parent);
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
"""


class Migration(migrations.Migration):
    dependencies = [("installation", "0004_months")]

    operations = [migrations.RunSQL(MAKE_MONTHS, migrations.RunSQL.noop)]
