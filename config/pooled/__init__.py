"""PostgreSQL behind a pooler that gives out its sessions for one database transaction each, as pgbouncer's does."""
