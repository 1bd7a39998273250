"""DATABASE_URL with one host or several: the one that lives and takes writes is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.db import connections

from config.embedded.postgres import SUPERUSER, EmbeddedPostgres
from config.process.variables import Variables


def read(monkeypatch: pytest.MonkeyPatch, address: str) -> dict[str, Any]:
    monkeypatch.setenv("DATABASE_URL", address)
    found = Variables().database("DATABASE_URL")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("hosts", "host", "port"),
    [
        ("one:5432,two:5433", "one,two", "5432,5433"),
        ("one,two:5433,three", "one,two,three", "5432,5433,5432"),
        ("[::1]:6000,[fe80::2],10.0.0.3", "::1,fe80::2,10.0.0.3", "6000,5432,5432"),
        ("%2Frun%2Fone,%2Frun%2Ftwo:5433", "/run/one,/run/two", "5432,5433"),
    ],
)
def test_every_host_has_its_port(monkeypatch: pytest.MonkeyPatch, hosts: str, host: str, port: str) -> None:
    found = read(monkeypatch, f"postgres://us%40er:p%2Fw,1@{hosts}/ballast?sslmode=prefer")
    assert (found["HOST"], found["PORT"]) == (host, port)
    assert (found["USER"], found["PASSWORD"], found["NAME"]) == ("us@er", "p/w,1", "ballast")
    assert found["OPTIONS"] == {"target_session_attrs": "read-write", "sslmode": "prefer"}


def test_what_the_address_asks_of_the_session_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, "postgres://one,two/b?target_session_attrs=any")["OPTIONS"] == {
        "target_session_attrs": "any"
    }
    alone = read(monkeypatch, "postgres://one/b")
    assert "OPTIONS" not in alone


@pytest.fixture
def reader() -> Iterator[EmbeddedPostgres]:
    """A second server, which takes no writes: as a standby does."""
    with TemporaryDirectory(prefix="ballast-reader-") as folder:
        Path(folder).chmod(0o755)
        with EmbeddedPostgres(Path(folder), durable=False) as server:
            with psycopg.connect(host=str(server.socket_folder), user=SUPERUSER, dbname="postgres") as session:
                session.autocommit = True
                session.execute("ALTER SYSTEM SET default_transaction_read_only = on")
                session.execute("SELECT pg_reload_conf()")
            yield server


@pytest.mark.django_db
def test_the_host_that_lives_and_takes_writes_is_found(
    monkeypatch: pytest.MonkeyPatch, reader: EmbeddedPostgres
) -> None:
    usable = connections["default"].settings_dict
    place = quote(usable["HOST"] or "127.0.0.1", safe="") + (f":{usable['PORT']}" if usable["PORT"] else "")
    hosts = ",".join(["127.0.0.1:1", quote(str(reader.socket_folder), safe=""), place])
    found = read(monkeypatch, f"postgres://{hosts}/ballast")
    connection = connections["default"].copy()
    connection.settings_dict.update(HOST=found["HOST"], PORT=found["PORT"])
    connection.settings_dict["OPTIONS"] = {**connection.settings_dict["OPTIONS"], **found["OPTIONS"]}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW transaction_read_only")
            assert cursor.fetchone() == ("off",)
    finally:
        connection.close()
