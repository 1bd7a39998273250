"""Four eyes, an app inside `merchants`: what operators have proposed, and who agreed."""

from django.apps import AppConfig


class FourEyesConfig(AppConfig):
    name = "merchants.four_eyes"
    label = "four_eyes"
    verbose_name = "Four eyes"
    default_auto_field = "django.db.models.BigAutoField"
