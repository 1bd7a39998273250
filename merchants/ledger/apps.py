"""The ledger, an app inside `merchants`: double entry, append-only."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "merchants.ledger"
    label = "ledger"
    default_auto_field = "django.db.models.BigAutoField"
