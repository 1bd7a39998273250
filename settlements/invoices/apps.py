"""Invoices over fees, an app inside the settlements."""

from django.apps import AppConfig


class InvoicesConfig(AppConfig):
    name = "settlements.invoices"
    label = "invoices"
    verbose_name = "Invoices over fees"
    default_auto_field = "django.db.models.BigAutoField"
