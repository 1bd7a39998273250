"""The wallets of merchants as operators see them; members change them on the dashboard."""

from __future__ import annotations

from django.contrib import admin

from config.admin.base import LongList, ReadOnly
from config.admin.columns import RecordPage
from payments.merchant_wallets.models import MerchantWallet


@admin.register(MerchantWallet)
class MerchantWalletAdmin(ReadOnly, LongList, RecordPage[MerchantWallet]):
    list_display = ("address", "network", "merchant", "status", "proof", "takes_effect_at", "ended_at")
    list_filter = ("environment", "network", "status", "proof")
    list_select_related = ("merchant",)
    search_fields = ("address__exact", "merchant__name__istartswith")
    search_help_text = "An address, or how the name of a merchant begins."
