"""The ledger as operators see it: everything can be looked up; only stops and explained findings are made here."""

from merchants.ledger.admin import accounts, findings, stops  # noqa: F401 - Django registers what these define
