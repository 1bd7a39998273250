from django.apps import AppConfig


class ScreeningConfig(AppConfig):
    name = "payments.screening"
    label = "screening"
    verbose_name = "Screening"
    default_auto_field = "django.db.models.BigAutoField"
