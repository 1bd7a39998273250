"""Makes the settings and secrets of a first installation, and the users of its database. Never changes one."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from urllib.parse import urlsplit

from deploy.installer import env_files
from deploy.installer.checks import psql, psql_environment
from deploy.installer.places import SOURCE, Places
from deploy.installer.questions import FIRST, Answers
from deploy.installer.release import Failed, run

DATABASE = "ballast"
USERS = ("owner", "web", "worker")
HEADING = "Settings and secrets of Ballast (docs/settings.md). Each process is given its own secrets alone.\n"
HEADING += "Keep a copy of this folder apart from the backups of the database: without it they cannot be read."


@dataclass(frozen=True)
class Server:
    """PostgreSQL, as an administrator reaches it: on this machine as the user postgres, else by an address."""

    url: str

    @property
    def is_local(self) -> bool:
        return self.url == "local"

    @property
    def environment(self) -> dict[str, str]:
        return {"PGDATABASE": "postgres"} if self.is_local else psql_environment(self.url, PGDATABASE="postgres")

    @property
    def database(self) -> str:
        return DATABASE if self.is_local else urlsplit(self.url).path.strip("/") or DATABASE

    def ask(self, script: str) -> str:
        code, said = psql(self.environment, script, as_postgres=self.is_local)
        if code:
            raise Failed(f"PostgreSQL refuses: {said.strip()}")
        return said.strip()

    def address_for(self, user: str, password: str) -> str:
        query = ""
        if self.is_local:
            place = f"127.0.0.1:{self.ask('SHOW port')}"
        else:
            parts = urlsplit(self.url)
            place = parts.netloc.rpartition("@")[2]
            query = f"?{parts.query}" if parts.query else ""
        return f"postgres://ballast_{user}:{password}@{place}/{self.database}{query}"


def is_installed(places: Places) -> bool:
    return (places.settings / "ballast.env").exists()


def has_tables(server: Server) -> bool:
    """Whether its database is of an installation: made anew, secrets would open nothing of it, and its processes
    elsewhere would be locked out by the new passwords."""
    environment = {**server.environment, "PGDATABASE": server.database}
    script = "SELECT to_regclass('public.django_migrations') IS NOT NULL"
    return psql(environment, script, as_postgres=server.is_local) == (0, "t\n")


def make(places: Places, answers: Answers) -> None:
    """Write the settings, with secrets made here, where there are none yet; the last file is what counts as all."""
    places.settings.mkdir(parents=True, exist_ok=True)
    places.settings.chmod(0o700)
    (places.settings / "keys").mkdir(mode=0o700, exist_ok=True)
    server = Server(answers(FIRST[1]))
    for user in USERS:
        path = places.settings / f"database-{user}.env"
        if not path.exists():
            address = server.address_for(user, secrets.token_hex(24))
            env_files.write(path, f"Where PostgreSQL is, and as whom: ballast_{user}.", {"DATABASE_URL": address})
    host = answers(FIRST[0])
    values = {
        "PUBLIC_URL": f"https://{host}",
        "ALLOWED_HOSTS": host,
        "TRUSTED_PROXIES": "127.0.0.1/32,::1/128",
        "DEFAULT_FROM_EMAIL": f"Ballast <ballast@{host}>",
        "WEB_CONCURRENCY": str(max(1, (os.cpu_count() or 1) // 2)),
        "SECRET_KEY": secrets.token_urlsafe(48),
        "API_KEY_PEPPER": secrets.token_urlsafe(48),
        "WEBHOOK_ENCRYPTION_KEY": secrets.token_urlsafe(48),
        "PAYOUT_INTENT_KEY": secrets.token_urlsafe(48),
        "EVM_ADDRESS_KEY": secrets.token_hex(32),
    } | dict(answers.settings())
    env_files.write(places.settings / "ballast.env", HEADING, values)


def owner(places: Places) -> dict[str, str]:
    """How psql connects as the owner of the tables."""
    return psql_environment(env_files.read(places.settings / "database-owner.env")["DATABASE_URL"])


def make_database(places: Places, answers: Answers) -> bool:
    """Make the database and its users, with the passwords of the settings; False where the owner can connect."""
    if psql(owner(places), "SELECT 1")[0] == 0:
        return False
    server = Server(answers(FIRST[1]))
    addresses = {user: env_files.read(places.settings / f"database-{user}.env")["DATABASE_URL"] for user in USERS}
    name = urlsplit(addresses["owner"]).path.strip("/")
    missing = f"NOT EXISTS (SELECT FROM pg_database WHERE datname = '{name}')"
    server.ask(
        f"SELECT format('CREATE DATABASE %I ENCODING UTF8 TEMPLATE template0', '{name}') WHERE {missing} \\gexec"
    )
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), **server.environment, "PGDATABASE": name}
    environment |= {"POSTGRES_DB": name, "POSTGRES_USER": server.environment.get("PGUSER", "postgres")}
    for user, address in addresses.items():
        environment[f"POSTGRES_{user.upper()}_PASSWORD"] = urlsplit(address).password or ""
    script = (SOURCE / "config" / "installation" / "roles.sh").read_text(encoding="utf-8")
    shell = ["runuser", "-u", "postgres", "--", "sh", "-s"] if server.is_local else ["sh", "-s"]
    run(*shell, env=environment, input=script, cwd="/")
    code, said = psql(owner(places), "SELECT 1")
    if code:
        raise Failed(f"The owner of the tables cannot connect: {said.strip()}")
    return True
