"""Receipts that anybody can check without this installation."""

from django.apps import AppConfig


class ReceiptsConfig(AppConfig):
    name = "payments.receipts"
    label = "receipts"
    default_auto_field = "django.db.models.BigAutoField"
