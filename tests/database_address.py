"""Where the server of this test run is, for processes that a test starts."""

from __future__ import annotations

from django.db import connections


def database_address(name: str = "") -> str:
    """DATABASE_URL of this test's own database, or of another one on the same server."""
    place = connections["default"].settings_dict
    host, port, user, password = (str(place[key] or "") for key in ("HOST", "PORT", "USER", "PASSWORD"))
    login = f"{user}:{password}" if password else user
    place_of_server = f"/{host}" if host.startswith("/") else f"{host}:{port or 5432}"  # a socket's folder, or a host
    return f"postgres://{login}@{place_of_server}/{name or place['NAME']}"
