"""The query of the list of requests, and its records."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from config.api.fields import StrictCharField, StrictChoiceField
from config.api.pagination import CreatedListQuery
from config.api.renderers import format_instant
from config.environments import Environment
from merchants.request_log.filters import METHODS, STATUSES
from merchants.request_log.models import LoggedRequest


class RequestListQuery(CreatedListQuery):
    """The filters of the list of requests, those of the dashboard's page."""

    status = StrictChoiceField(
        choices=list(STATUSES), required=False, help_text="Only those answered so; `error` is 4xx and 5xx."
    )
    method = StrictChoiceField(choices=METHODS, required=False, help_text="Only those with this method.")
    path = StrictCharField(required=False, max_length=100, help_text="Only those whose path contains this.")
    key = StrictCharField(required=False, max_length=80, help_text="Only those with this public key.")
    request_id = StrictCharField(
        required=False, max_length=64, help_text="Only the one with this `X-Request-Id`, as an error has it."
    )


class RequestLogEntrySchema(serializers.Serializer[Any]):
    """The logged request, for the reference; `request_record` writes it."""

    id = serializers.CharField()
    object = serializers.ChoiceField(choices=["request"])
    method = serializers.CharField(help_text="Of HTTP.")
    path = serializers.CharField(help_text="Without the query.")
    query = serializers.CharField(help_text="What followed the `?`, without secrets.")
    statusCode = serializers.IntegerField(help_text="Of the reply.")
    errorCode = serializers.CharField(allow_null=True, help_text="The `code` of its error; null without one.")
    requestId = serializers.CharField(help_text="Its `X-Request-Id`.")
    idempotencyKey = serializers.CharField(allow_null=True, help_text="Its `Idempotency-Key`; null without one.")
    publicKey = serializers.CharField(help_text="The public half of its key pair.")
    ipAddress = serializers.CharField(allow_null=True, help_text="Where it came from; null if that is not known.")
    durationMs = serializers.IntegerField(help_text="Until it was answered, in milliseconds.")
    environment = serializers.ChoiceField(choices=Environment.choices)
    createdAt = serializers.DateTimeField(help_text="When it came.")


def request_record(logged: LoggedRequest) -> dict[str, Any]:
    """The logged request as the API shows it: never its bodies, which hold what other scopes of a key protect."""
    return {
        "id": logged.public_id,
        "object": "request",
        "method": logged.method,
        "path": logged.path,
        "query": logged.query,
        "statusCode": logged.status,
        "errorCode": logged.error_code or None,
        "requestId": logged.request_id,
        "idempotencyKey": logged.idempotency_key or None,
        "publicKey": logged.public_key,
        "ipAddress": logged.address,
        "durationMs": logged.duration_milliseconds,
        "environment": logged.environment,
        "createdAt": format_instant(logged.created_at),
    }
