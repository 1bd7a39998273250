"""The house's own money, an app inside the treasury."""

from django.apps import AppConfig


class HouseConfig(AppConfig):
    name = "payments.treasury.house"
    label = "house"
    verbose_name = "The house's own money"
    default_auto_field = "django.db.models.BigAutoField"
