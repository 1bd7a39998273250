"""Monitoring of the networks for operators: alarms, gas balances, coins that wait to be swept."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "payments.monitoring"
    label = "operations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from payments.monitoring.starting import serve_metrics_beside_beat, warn_of_single_providers

        warn_of_single_providers()
        serve_metrics_beside_beat()
