"""Production from its documented first steps to a settled week, over TLS, on real processes, servers and nodes."""

from tests.gauntlet.production.scenario import run

__all__ = ["run"]
