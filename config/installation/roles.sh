#!/bin/sh
# Makes the users of PostgreSQL that the processes of compose.yaml connect as, or gives them their passwords again, and hands
# the database over to the owner. `manage.py database_roles` says what the users may do.
set -eu
psql --set=ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --quiet --single-transaction <<'SQL'
\getenv owner POSTGRES_OWNER_PASSWORD
\getenv web POSTGRES_WEB_PASSWORD
\getenv worker POSTGRES_WORKER_PASSWORD
SELECT format('CREATE ROLE %I', wanted) FROM unnest(ARRAY['ballast_owner', 'ballast_web', 'ballast_worker']) AS wanted
WHERE wanted NOT IN (SELECT rolname FROM pg_roles) \gexec
ALTER ROLE ballast_owner LOGIN PASSWORD :'owner';
ALTER ROLE ballast_web LOGIN PASSWORD :'web';
ALTER ROLE ballast_worker LOGIN PASSWORD :'worker';
SELECT format('ALTER DATABASE %I OWNER TO ballast_owner', current_database()) \gexec
ALTER SCHEMA public OWNER TO ballast_owner;
SQL
