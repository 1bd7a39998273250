"""Money out to a merchant."""

from django.apps import AppConfig


class SettlementsConfig(AppConfig):
    name = "settlements"
    default_auto_field = "django.db.models.BigAutoField"
