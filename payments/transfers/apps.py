"""Outgoing transfers, an app inside `payments`."""

from django.apps import AppConfig


class TransfersConfig(AppConfig):
    name = "payments.transfers"
    label = "transfers"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from merchants.ledger import stops
        from payments.chains import registry
        from payments.transfers.audit import adopt_unknown  # noqa: F401 - registers how a frozen wallet is thawed
        from payments.transfers.payouts import lock_policy
        from payments.transfers.wallets import wallet_addresses

        stops.lock_signing.register(lock_policy)
        stops.networks_of.register(registry.networks)
        stops.wallets_of.register(wallet_addresses)
