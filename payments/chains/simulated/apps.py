"""The sandbox's networks, kept as rows."""

from django.apps import AppConfig


class SimulatedChainConfig(AppConfig):
    name = "payments.chains.simulated"
    label = "simulated_chain"
    verbose_name = "Simulated chain"
    default_auto_field = "django.db.models.BigAutoField"
