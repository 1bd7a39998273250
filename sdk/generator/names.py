"""Names of the clients, for all languages at once. README.md lists the rules."""

from __future__ import annotations

import re

VERBS = {"retrieve": "get", "destroy": "delete"}
"""Methods that are not called as their operationId ends."""

COMMON_FIELDS = {"status", "type", "kind", "code", "reason", "format", "account", "plan", "object", "surplus", "events"}
"""Fields whose name alone says too little: their enumerations are named after the record as well."""

ENUMERATIONS = {
    "EventsListType": "EventType",
    "WebhookEvents": "WebhookEventType",
    "PaymentStatusReasons": "PaymentStatusReason",
    "MonthAccountAccount": "MonthAccountName",
    "RequestsListMethod": "RequestMethod",
    "RequestsListStatus": "RequestStatus",
}
"""Enumerations whose name by the rule would mislead."""

RECORDS = {"Webhook": "WebhookEndpoint", "WebhookWithSecret": "WebhookEndpointWithSecret"}
"""Records that are not called as their schema: `Webhook` is what verifies one."""

SECRET_FIELDS = {"secret", "claimUrl"}


def words(name: str) -> list[str]:
    """The words of a name in any case: `merchantWallets`, `merchant_wallets` and `Payment links` alike."""
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)


def snake(name: str) -> str:
    return "_".join(word.lower() for word in words(name))


def pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:].lower() for word in words(name))


def camel(name: str) -> str:
    text = pascal(name)
    return text[:1].lower() + text[1:]


def resource_and_method(operation_id: str, tag: str) -> tuple[str, str]:
    """`payment_links_create` of the tag `Payment links` is `create` of `payment_links`."""
    resource = snake(tag)
    prefix = f"{resource}_"
    if not operation_id.startswith(prefix):
        raise ValueError(f"{operation_id} does not begin with its tag: {prefix}")
    method = operation_id.removeprefix(prefix)
    return resource, VERBS.get(method, method)
