"""What operators must know of the networks: alarms, gas balances, what waits to be swept."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "payments.monitoring"
    label = "operations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from payments.monitoring.starting import warn_of_single_providers

        warn_of_single_providers()
