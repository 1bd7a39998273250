"""The ledger, an app inside `merchants`: double entry, append-only."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "merchants.ledger"
    label = "ledger"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.models.signals import post_migrate

        from config.admin import previews
        from merchants.ledger.balances import watch_balances
        from merchants.ledger.kinds import replace_functions

        previews.watch_balances.register(watch_balances)

        post_migrate.connect(replace_functions, sender=self, dispatch_uid="kinds of accounts")
