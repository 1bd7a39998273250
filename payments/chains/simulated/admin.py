"""Operators may look at the simulated networks; what happens on them is decided elsewhere."""

from __future__ import annotations

from django.contrib import admin

from config.admin.base import ReadOnly
from config.admin.columns import RecordPage, Table
from payments.chains.simulated.models import (
    SimulatedAccount,
    SimulatedNetwork,
    SimulatedTransaction,
    SimulatedTransfer,
)


class TransferInline(ReadOnly, Table[SimulatedTransfer, SimulatedTransaction]):
    model = SimulatedTransfer
    fields = ("ordinal", "contract", "amount", "source", "recipient", "memo")


@admin.register(SimulatedNetwork)
class SimulatedNetworkAdmin(ReadOnly, RecordPage[SimulatedNetwork]):
    list_display = ("network", "height", "generation", "fee_level", "outage_until")


@admin.register(SimulatedAccount)
class SimulatedAccountAdmin(ReadOnly, RecordPage[SimulatedAccount]):
    list_display = ("address", "network", "is_contract", "refuses")
    list_filter = ("network", "refuses")
    search_fields = ("=address",)


@admin.register(SimulatedTransaction)
class SimulatedTransactionAdmin(ReadOnly, RecordPage[SimulatedTransaction]):
    list_display = ("transaction_hash", "network", "status", "height", "sender", "sequence", "error")
    list_filter = ("network", "status")
    search_fields = ("=transaction_hash", "=sender", "=transfers__recipient")
    ordering = ("-id",)
    inlines = (TransferInline,)
