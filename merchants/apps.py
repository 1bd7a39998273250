"""Merchants, their access, and the ledger of what is owed to them."""

from django.apps import AppConfig


class MerchantsConfig(AppConfig):
    name = "merchants"
    default_auto_field = "django.db.models.BigAutoField"
