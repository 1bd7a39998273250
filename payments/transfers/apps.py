"""Outgoing transfers, an app inside `payments`."""

from django.apps import AppConfig


class TransfersConfig(AppConfig):
    name = "payments.transfers"
    label = "transfers"
    default_auto_field = "django.db.models.BigAutoField"
