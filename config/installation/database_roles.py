"""Rights of each role of PostgreSQL: one for the web, one for workers, and the owner of the tables for migrations.

Whoever steals a process has its role, so what nobody has to do is refused by PostgreSQL itself: neither role makes or
changes a table, turns a trigger off, or changes what is written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.db import connection

OWNER, WEB, WORKER = "ballast_owner", "ballast_web", "ballast_worker"
"""The owner's name is this one only where a superuser hands the tables over."""

READ = "SELECT"
ADD = "SELECT, INSERT"
KEEP = "SELECT, INSERT, UPDATE"
EVERYTHING = "SELECT, INSERT, UPDATE, DELETE"
FORGET = "SELECT, DELETE"

TABLES: Mapping[str, tuple[str, str]] = {
    # Written once.
    "ledger_posting": (ADD, ADD),
    "ledger_entry": (ADD, ADD),
    "invoices_invoice": (ADD, ADD),
    "receipts_receiptkey": (ADD, READ),
    "installation_backuprun": (ADD, ADD),
    "payments_offeredaddress": (ADD, READ),
    "ledger_account": (f"{ADD}, UPDATE (balance)", f"{ADD}, UPDATE (balance)"),
    "ledger_daysum": (KEEP, KEEP),
    # PostgreSQL keeps the last year of it by a trigger, whoever deletes.
    "audit_loggedaction": (ADD, f"{ADD}, DELETE"),
    # What is signed, and what was sent of it.
    "transfers_envelope": (READ, ADD),
    "transfers_transfer": (READ, KEEP),
    "transfers_transferline": (READ, ADD),
    "transfers_payout": (KEEP, KEEP),
    # What people decide.
    "four_eyes_proposal": (f"{ADD}, UPDATE (status, decided_by_id, decided_at)", READ),
    # A worker stops payouts, and lets none go on.
    "ledger_breaker": (KEEP, ADD),
    # A worker locks the row of the policy, for which it must be able to change some column.
    "transfers_payoutpolicy": (KEEP, f"{ADD}, UPDATE (id)"),
    # A worker imports lists, which alone it lets another take the place of; the web only shows them.
    "screening_sanctionslist": (READ, KEEP),
    "screening_listedaddress": (READ, f"{ADD}, DELETE"),
    # Who people are. Workers forget those who never confirmed their address, and sessions that have ended.
    "merchants_user": (EVERYTHING, f"{FORGET}, UPDATE (last_login)"),
    "merchants_user_groups": (EVERYTHING, FORGET),
    "merchants_user_user_permissions": (EVERYTHING, FORGET),
    "merchants_member": (EVERYTHING, FORGET),
    "mfa_authenticator": (EVERYTHING, FORGET),
    "account_emailaddress": (EVERYTHING, FORGET),
    "django_session": (EVERYTHING, f"{FORGET}, UPDATE (expire_date)"),
    "merchants_apikey": (EVERYTHING, READ),
    # Who adds one can fetch keys by it. Workers delete those that nobody used.
    "webhooks_connectioncode": (f"{ADD}, DELETE", FORGET),
    # A payer's address: the web takes one back by emptying it, and workers delete the row after its time.
    "payments_payercontact": (KEEP, f"{FORGET}, UPDATE"),
    "auth_group": (READ, READ),
    "auth_group_permissions": (READ, READ),
    "auth_permission": (READ, READ),
    "django_content_type": (READ, READ),
    "django_migrations": (READ, READ),
}
"""Rights of the web and of workers on a table, where they are not everything with its rows."""

BOTH = f"{WEB}, {WORKER}"

_MAKE = """
    DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role}; END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;  -- another run was quicker
    END $$
"""

_HAND_OVER = f"""
    SELECT format('ALTER TABLE public.%%I OWNER TO {OWNER}', relname)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
    UNION ALL
    SELECT format('ALTER SEQUENCE public.%%I OWNER TO {OWNER}', relname)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype IN ('a', 'i'))
    UNION ALL
    SELECT format('ALTER ROUTINE %%s OWNER TO {OWNER}', oid::regprocedure)
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
"""  # noqa: S608 - a name of our own


def statements() -> Iterator[str]:
    """The SQL that makes roles and rights what they should be in this database, whatever they are now.

    For one database transaction of the tables' owner. A superuser hands them over to OWNER first, and goes on as that.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT quote_ident(current_database()), rolsuper FROM pg_roles WHERE rolname = current_user")
        database, is_superuser = cursor.fetchone() or ("", False)
        cursor.execute(_HAND_OVER, [])
        handing_over = [statement for (statement,) in cursor.fetchall()] if is_superuser else []
    for role in (OWNER, WEB, WORKER) if is_superuser else (WEB, WORKER):
        yield _MAKE.format(role=role)
    if is_superuser:
        yield f"ALTER DATABASE {database} OWNER TO {OWNER}"
        yield f"ALTER SCHEMA public OWNER TO {OWNER}"
        yield from handing_over
        yield f"SET LOCAL ROLE {OWNER}"
    # A table of a session of its own would hide the real one from the functions of triggers.
    yield f"REVOKE CREATE, TEMPORARY ON DATABASE {database} FROM PUBLIC, {BOTH}"
    yield f"GRANT CONNECT ON DATABASE {database} TO {BOTH}"
    yield f"REVOKE CREATE ON SCHEMA public FROM PUBLIC, {BOTH}"
    yield f"GRANT USAGE ON SCHEMA public TO {BOTH}"
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, {BOTH}"
    yield f"GRANT {EVERYTHING} ON ALL TABLES IN SCHEMA public TO {BOTH}"
    yield f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM PUBLIC, {BOTH}"
    yield f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {BOTH}"
    for table, rights in TABLES.items():
        yield f"REVOKE ALL ON {table} FROM {BOTH}"
        for role, right in zip((WEB, WORKER), rights, strict=True):
            yield f"GRANT {right} ON {table} TO {role}"
    # Those that a later migration makes, from the moment that they are there.
    yield f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT {EVERYTHING} ON TABLES TO {BOTH}"
    yield f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO {BOTH}"


IS_SUPERUSER, OWNS_TABLES = "is a superuser of PostgreSQL", "owns the tables"

_TOO_MUCH = f"""
    SELECT CASE
        WHEN rolsuper THEN '{IS_SUPERUSER}'
        WHEN pg_has_role(rolname, (SELECT relowner FROM pg_class WHERE oid = 'ledger_entry'::regclass), 'MEMBER')
            THEN '{OWNS_TABLES}'
        WHEN has_table_privilege(rolname, 'ledger_entry', 'UPDATE, DELETE, TRUNCATE') THEN 'may change the ledger'
        WHEN has_database_privilege(rolname, current_database(), 'CREATE, TEMPORARY')
            OR has_schema_privilege(rolname, 'public', 'CREATE') THEN 'may make tables'
    END FROM pg_roles WHERE rolname = coalesce(%s, current_user)
"""  # noqa: S608 - words of our own


def too_much(role: str | None = None) -> str | None:
    """Excess rights of a role, or of the one of this connection; None when there are none."""
    with connection.cursor() as cursor:
        cursor.execute(_TOO_MUCH, [role])
        (found,) = cursor.fetchone() or ("is not there",)
    return found
