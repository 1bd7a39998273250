from django.apps import AppConfig


class LossesConfig(AppConfig):
    name = "payments.treasury.losses"
    label = "losses"
    default_auto_field = "django.db.models.BigAutoField"
