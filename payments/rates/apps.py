"""Exchange rates between coins and the currencies of payments."""

from django.apps import AppConfig


class RatesConfig(AppConfig):
    name = "payments.rates"
    label = "rates"
    verbose_name = "Exchange rates"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from payments.rates import checks  # noqa: F401 - registers the system check
