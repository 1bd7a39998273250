"""The house's own money, an app inside the treasury."""

from django.apps import AppConfig


class HouseConfig(AppConfig):
    name = "payments.treasury.house"
    label = "house"
    verbose_name = "The house's own money"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from payments.transfers.owners import Owners, register_owners
        from payments.treasury.house.withdrawals import follow_payout, to_follow

        register_owners("withdrawals", Owners(to_follow, follow_payout))
