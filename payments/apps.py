"""Money in: payments, what arrives for them, and the page a payer sees."""

from django.apps import AppConfig


class PaymentsConfig(AppConfig):
    name = "payments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from payments.records import qr_codes_of
        from webhooks.rebuilding import Kept, keep_out

        # Half of what an event would take up, and the payment has it for ever.
        keep_out("payment", Kept("qrCode", qr_codes_of))
