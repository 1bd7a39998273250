"""Networks and alarms as operators see them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import starmap
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.admin.base import LongList, ReadOnly, confirmation_page, confirms, unless
from config.admin.columns import RecordPage
from merchants.ledger.models import Stop
from merchants.wording import from_now
from payments.chains import registry
from payments.monitoring.figures import CoinFigures, NetworkFigures, coins_text, figures_once, snapshots_in_use
from payments.monitoring.models import Alarm, NetworkSnapshot, RoleChange
from payments.monitoring.services import acknowledge_alarm, know_role_change, let_providers_back
from payments.treasury.sweeping import request_sweep

_NONE = format_html("{}", "none")


@admin.register(Alarm)
class AlarmAdmin(ReadOnly, RecordPage[Alarm]):
    list_display = ("__str__", "message", "raised", "cleared", "acknowledged_by")
    list_filter = ("environment", "network", ("cleared_at", admin.EmptyFieldListFilter), "kind")
    list_per_page = 50
    show_full_result_count = False
    fields = (
        "kind",
        "environment",
        "network",
        "subject",
        "message",
        "what_to_do",
        "raised_at",
        "last_seen_at",
        "cleared_at",
        "acknowledged_by",
        "acknowledged_at",
        "raise_mailed_at",
        "clear_mailed_at",
    )
    readonly_fields = fields
    actions = ("acknowledge",)
    refusals: ClassVar = {
        "acknowledge": unless(
            lambda row: not (row.cleared_at or row.acknowledged_at), "it is over, or somebody is on it."
        )
    }

    @admin.display(description="Raised", ordering="raised_at")
    def raised(self, alarm: Alarm) -> str:
        return _ago(alarm.raised_at)

    @admin.display(description="Over", ordering="cleared_at")
    def cleared(self, alarm: Alarm) -> str:
        return _ago(alarm.cleared_at) if alarm.cleared_at else "no"

    @admin.display(description="What to do")
    def what_to_do(self, alarm: Alarm) -> str:
        if not alarm.runbook:
            return alarm.advice
        return format_html('{} <a href="{}">Runbook</a>', alarm.advice, alarm.runbook)

    @admin.action(description="Acknowledge: I am working on it", permissions=["acknowledge"])
    def acknowledge(self, request: HttpRequest, chosen: QuerySet[Alarm]) -> None:
        for alarm in chosen:
            if acknowledge_alarm(alarm, acknowledged_by=request.user.get_username()):
                self.log_change(request, alarm, "Acknowledged.")
                self.message_user(request, f"You look after: {alarm}.", messages.SUCCESS)
            else:
                self.message_user(request, f"Over, or somebody looks after it already: {alarm}.", messages.WARNING)

    def has_acknowledge_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("operations.change_alarm")


@admin.register(NetworkSnapshot)
class NetworkAdmin(ReadOnly, RecordPage[NetworkSnapshot]):
    """Every network in one line, and a page for each with its providers, coins and costs. Sends no query to a
    network."""

    list_display = ("network", "environment", "alarms", "blocks", "gas_tank", "waiting", "last_sweep")
    native_amounts = (
        "native_balance",
        "native_reserve",
        "payout_cost",
        "sweep_cost",
        "first_time_cost",
        "again_cost",
        "set_aside_cost",
    )
    actions = ("sweep_now", "let_back")

    # Its state

    @admin.display(description="Alarms")
    def alarms(self, snapshot: NetworkSnapshot) -> SafeString:
        return _lines(alarm.get_kind_display() for alarm in figures_once(snapshot).alarms) or _NONE

    @admin.display(description="Blocks")
    def blocks(self, snapshot: NetworkSnapshot) -> SafeString:
        figures = figures_once(snapshot)
        cursor = figures.cursor
        if cursor is None or cursor.polled_at is None:
            return format_html("{}", "never read")
        is_halted = Stop.objects.halting().of_network(cursor.environment, cursor.network).exists()
        trouble = ", halted" if is_halted else ", does not answer" if cursor.failing_since else ""
        return _lines(
            (
                f"head {cursor.head_height:,}",
                f"final {cursor.finalized_height:,}, {figures.lag:,} behind",
                f"read {_ago(cursor.polled_at)}{trouble}",
            )
        )

    # What it holds

    @admin.display(description="Gas tank")
    def gas_tank(self, snapshot: NetworkSnapshot) -> SafeString:
        tank = figures_once(snapshot).tank
        if tank is None:
            return format_html("{}", "not measured")
        return format_html(
            '<meter min="0" max="100" low="50" optimum="100" value="{}"></meter><div>{} of {}</div>',
            tank.percent // 2,
            coins_text(tank.balance, tank.native),
            coins_text(tank.wanted, tank.native),
        )

    @admin.display(description="To be swept")
    def waiting(self, snapshot: NetworkSnapshot) -> SafeString:
        figures = figures_once(snapshot)
        worth = [coin.sweepable_text for coin in figures.coins if coin.worth]
        dust = [f"dust: {coin.dust_text}" for coin in figures.coins if coin.dust]
        dust += [f"passed over: {coin.passed_over_text}" for coin in figures.coins if coin.passed_over]
        stray = [f"sent by mistake: {coins_text(figures.stray, figures.native)}"] * bool(figures.stray)
        return _lines([*worth, *dust, *stray])

    @admin.display(description="Last sweep")
    def last_sweep(self, snapshot: NetworkSnapshot) -> str:
        sweep = figures_once(snapshot).last_sweep
        return (
            f"{sweep.asset}, {sweep.transfer.get_status_display()}, {_ago(sweep.transfer.created_at)}"
            if sweep
            else "none"
        )

    # Actions

    @admin.action(description="Sweep now: do not wait for the threshold", permissions=["sweep"])
    def sweep_now(self, request: HttpRequest, chosen: QuerySet[NetworkSnapshot]) -> TemplateResponse | None:
        coins = [(figures_once(snapshot), coin) for snapshot in chosen for coin in figures_once(snapshot).coins]
        found = [(figures, coin) for figures, coin in coins if coin.worth or coin.passed_over]
        if not found:
            self.message_user(request, "Nothing that is worth it waits there.", messages.WARNING)
            return None
        question = confirmation_page(
            self,
            request,
            chosen.filter(pk__in=[figures.snapshot.pk for figures, _ in found]),
            action="sweep_now",
            title="Sweep now?",
            consequence=" ".join(["The worker sweeps within seconds:", *starmap(_coin_text, found), "Dust stays."]),
        )
        if question is None:
            for figures, coin in found:
                snapshot, by = figures.snapshot, request.user.get_username()
                place = {"environment": snapshot.environment, "network": snapshot.network}
                request_sweep(**place, asset=coin.asset.code, requested_by=by)
                self.log_change(request, snapshot, f"Asked for a sweep of {coin.asset.code}.")
                note = "The page of the network says what was taken and what not."
                self.message_user(request, f"Asked for: {_coin_text(figures, coin)} {note}", messages.SUCCESS)
        return question

    @admin.action(description="Use providers again that were put aside", permissions=["let_back"])
    @confirms(
        title="Ask them again?",
        consequence="Every process asks them again from its next look on. Who is contradicted again is out for longer.",
    )
    def let_back(self, request: HttpRequest, chosen: QuerySet[NetworkSnapshot]) -> None:
        for snapshot in chosen:
            let_providers_back(snapshot, said_by=request.user.get_username())
            self.log_change(request, snapshot, "Let providers back.")
            self.message_user(request, f"Providers of {snapshot} are asked again.", messages.SUCCESS)

    def has_let_back_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("operations.change_networksnapshot")

    def has_sweep_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("operations.change_networksnapshot")

    def get_queryset(self, request: HttpRequest) -> QuerySet[NetworkSnapshot]:
        return super().get_queryset(request).filter(pk__in=[snapshot.pk for snapshot in snapshots_in_use()])

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not settings.OPERATOR_EMAILS:
            self.message_user(request, "OPERATOR_EMAILS is not set: nobody is told of alarms.", messages.WARNING)
        for snapshot in self.get_queryset(request):
            if snapshot.network in registry.decided_by_one(snapshot.environment):
                warning = f"One provider alone decides about money on {snapshot}: what it invents is credited and paid."
                self.message_user(request, warning, messages.WARNING)
        return super().changelist_view(request, extra_context)


@admin.register(RoleChange)
class RoleChangeAdmin(ReadOnly, LongList, RecordPage[RoleChange]):
    list_display = ("__str__", "transaction_hash", "known_by", "known_at")
    list_filter = ("environment", "network", "role", ("known_at", admin.EmptyFieldListFilter))
    actions = ("know",)
    refusals: ClassVar = {"know": unless(lambda row: row.known_at is None, "it is confirmed.")}

    @admin.action(description="Confirm that an operator did this: the alarm ends", permissions=["know"])
    @confirms(
        title="Was it one of you?",
        consequence="The alarm ends. A holder other than the settings name still stops the network. Your name is kept.",
    )
    def know(self, request: HttpRequest, chosen: QuerySet[RoleChange]) -> None:
        for change in chosen:
            if know_role_change(change, known_by=request.user.get_username()):
                self.log_change(request, change, "Known.")
                self.message_user(request, f"Noted: {change}.", messages.SUCCESS)

    def has_know_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("operations.change_rolechange")


def _coin_text(figures: NetworkFigures, coin: CoinFigures) -> str:
    cost = coins_text(coin.sweep_cost, figures.native)
    loss = "" if coin.is_paid else ", which is more than it brings"
    again = f" Tried again: {coin.passed_over_text} that a sweep passed over." if coin.passed_over else ""
    if not coin.worth:
        return again.strip()
    return f"{coin.sweepable_text} on {figures.snapshot} for about {cost}{loss}.{again}"


def _ago(instant: datetime | None) -> str:
    return from_now(instant, timezone.now()) if instant else "never"


def _lines(texts: Iterable[str]) -> SafeString:
    return format_html_join("", "<div>{}</div>", ((text,) for text in texts))
