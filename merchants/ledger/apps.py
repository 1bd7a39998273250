"""The ledger, an app inside `merchants`: double entry, append-only."""

from django.apps import AppConfig

BALANCES = """
    SELECT environment, network, asset, kind, count(*), sum(balance) FROM ledger_account
    GROUP BY environment, network, asset, kind ORDER BY environment, network, asset, kind
"""
ENTRIES = """
    SELECT environment, network, asset, count(*), sum(amount), sum(abs(amount))
    FROM ledger_entry JOIN ledger_account ON ledger_account.id = account_id
    GROUP BY environment, network, asset ORDER BY environment, network, asset
"""
"""What a backup's copy must have as the original had it."""


class LedgerConfig(AppConfig):
    name = "merchants.ledger"
    label = "ledger"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.models.signals import post_migrate

        from config.admin import previews
        from config.installation.backups.manifest import add_figure
        from merchants.ledger.balances import watch_balances
        from merchants.ledger.kinds import replace_functions

        previews.watch_balances.register(watch_balances)
        add_figure("balances of the ledger", BALANCES)
        add_figure("entries of the ledger", ENTRIES)

        post_migrate.connect(replace_functions, sender=self, dispatch_uid="kinds of accounts")
