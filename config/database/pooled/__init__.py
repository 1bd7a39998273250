"""PostgreSQL behind a pooler that lends its sessions for one database transaction each, such as pgbouncer."""
