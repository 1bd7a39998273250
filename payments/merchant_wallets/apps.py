"""The wallets of merchants."""

from django.apps import AppConfig


class MerchantWalletsConfig(AppConfig):
    name = "payments.merchant_wallets"
    label = "merchant_wallets"
    default_auto_field = "django.db.models.BigAutoField"
