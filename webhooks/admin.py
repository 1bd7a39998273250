"""Webhooks as operators see them: endpoints, events, deliveries and attempts. Never a secret."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config import ids
from config.admin.base import ReadOnly, unless
from config.admin.columns import RecordPage, Table
from config.api.renderers import render_json
from config.errors import DomainError
from webhooks.events.catalogue import CATALOGUE
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.services import enable_endpoint, redeliver
from webhooks.states import EndpointStatus

SECRETS = ("secret_encrypted", "previous_secret_encrypted")


class _FoundById:
    """Finds rows by their public id, or by the other search fields of the page."""

    kind: ClassVar[ids.PublicId]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        key = self.kind.decode(search_term.strip())
        if key is not None:
            return queryset.filter(pk=key), False
        found: tuple[QuerySet[Any], bool] = super().get_search_results(  # type: ignore[misc]  # the admin's, beside it
            request, queryset, search_term
        )
        return found


@admin.register(Endpoint)
class EndpointAdmin(_FoundById, ReadOnly, RecordPage[Endpoint]):
    kind = ids.WEBHOOK
    list_display = ("public_id", "merchant", "environment", "url", "status", "failing_since", "deleted_at")
    list_filter = ("environment", "status", "disabled_reason", "is_direct")
    list_select_related = ("merchant",)
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    search_fields = ("url", "merchant__name")
    search_help_text = "A webhook id, a part of the address, or a merchant."
    show_full_result_count = False
    exclude = SECRETS
    actions = ("enable",)
    refusals: ClassVar = {"enable": unless(lambda row: row.status != EndpointStatus.ENABLED, "it is enabled.")}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Endpoint]:
        return super().get_queryset(request).defer(*SECRETS)

    @admin.action(description="Enable: it receives events from now on", permissions=["enable"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        for endpoint in queryset:
            try:
                enable_endpoint(endpoint=endpoint)
            except DomainError as error:
                self.message_user(request, f"{endpoint}: {error.message}", messages.ERROR)
            else:
                self.message_user(request, f"{endpoint} is enabled.", messages.SUCCESS)

    def has_enable_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_endpoint")


@admin.register(Event)
class EventAdmin(_FoundById, ReadOnly, RecordPage[Event]):
    kind = ids.EVENT
    list_display = ("public_id", "type", "merchant", "environment", "version", "is_fanned_out", "created_at")
    list_filter = ("environment", "type", "is_fanned_out")
    value_words: ClassVar = {"type": {name: name for name in CATALOGUE}}
    list_select_related = ("merchant",)
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    search_fields = ("object_id",)
    search_help_text = "An event id, or the key of the record it is about."
    show_full_result_count = False
    exclude = ("payload",)
    readonly_fields = ("record",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("payload")

    @admin.display(description="The record at this version")
    def record(self, event: Event) -> SafeString:
        return format_html("<pre>{}</pre>", render_json(event.payload).decode())


class AttemptInline(ReadOnly, Table[Attempt, Delivery]):
    model = Attempt
    fields = ("number", "started_at", "duration_milliseconds", "status_code", "error", "beginning_of_reply")
    readonly_fields = fields
    ordering: ClassVar = ["number"]
    extra = 0

    @admin.display(description="Beginning of the reply")
    def beginning_of_reply(self, attempt: Attempt) -> str:
        return bytes(attempt.reply_start).decode(errors="replace")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attempt]:
        return Attempt.objects.beginnings()


@admin.register(Delivery)
class DeliveryAdmin(_FoundById, ReadOnly, RecordPage[Delivery]):
    kind = ids.DELIVERY
    list_display = (
        "public_id",
        "type",
        "merchant",
        "environment",
        "endpoint",
        "status",
        "attempt_count",
        "next_attempt_at",
        "delivered_at",
    )
    list_filter = ("environment", "status")
    list_per_page = 50
    ordering: ClassVar = ["-id"]
    search_fields = ("endpoint__url",)
    search_help_text = "A delivery id, or a part of the address."
    show_full_result_count = False
    inlines = (AttemptInline,)
    actions = ("redeliver",)
    refusals: ClassVar = {"redeliver": unless(lambda row: row.endpoint.deleted_at is None, "its webhook is deleted.")}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        rows = super().get_queryset(request).select_related("merchant", "endpoint", "event")
        return rows.defer("event__payload", *(f"endpoint__{name}" for name in SECRETS))

    @admin.display(description="Event")
    def type(self, delivery: Delivery) -> str:
        return delivery.event.type

    @admin.action(description="Send again now", permissions=["redeliver"])
    def redeliver(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        for delivery in queryset:
            try:
                redeliver(delivery=delivery)
            except DomainError as error:
                self.message_user(request, f"{delivery}: {error.message}", messages.ERROR)
            else:
                self.message_user(request, f"{delivery} will be sent again.", messages.SUCCESS)

    def has_redeliver_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("webhooks.change_delivery")
