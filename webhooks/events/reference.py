"""The webhooks of the OpenAPI document: one typed body for each event, distinguished by `type`."""

from __future__ import annotations

from typing import Any

from config import ids
from webhooks.events.catalogue import CATALOGUE
from webhooks.events.samples import sample_of

RECORDS = {"payment": "Payment", "refund": "Refund", "settlement": "Settlement", "webhook": "Webhook"}
"""The component that describes the record in an event, by the first word of its type."""

_SCHEMAS = "#/components/schemas/"


def describe_events(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Hook of drf-spectacular: `Event` becomes one of the events' own schemas, each of which is a webhook as well."""
    schemas = result["components"]["schemas"]
    general = schemas.pop("Event")
    schemas.pop("EventData", None)
    for type, sentence in CATALOGUE.items():
        schemas[_name(type)] = _event(general, type, str(sentence))
    references = {type: f"{_SCHEMAS}{_name(type)}" for type in CATALOGUE}
    schemas["Event"] = {
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": "type", "mapping": references},
    }
    result["webhooks"] = {type: {"post": _delivery(type, str(sentence))} for type, sentence in CATALOGUE.items()}
    return result


def _name(type: str) -> str:
    """`payment.coins_missing` is described by `PaymentCoinsMissingEvent`."""
    return "".join(word.capitalize() for word in type.replace(".", "_").split("_")) + "Event"


def _event(general: dict[str, Any], type: str, sentence: str) -> dict[str, Any]:
    data = {
        "type": "object",
        "required": ["object"],
        "properties": {"object": {"$ref": _SCHEMAS + RECORDS[type.partition(".")[0]]}},
        "description": "The whole record as it was at this version.",
    }
    properties = {**general["properties"], "type": {"type": "string", "enum": [type]}, "data": data}
    return {**general, "description": sentence, "properties": properties}


def _delivery(type: str, sentence: str) -> dict[str, Any]:
    taken = "Accepted, whatever the body says. Reply within 15 seconds, then process the event."
    stop = "Stop: the webhook is disabled, and you get a mail."
    return {
        "operationId": f"receive_{type.replace('.', '_')}",
        "summary": sentence,
        "description": "Verify the signature over the raw body, and remember `webhook-id`: an event may come twice.",
        "tags": ["Webhooks"],
        "security": [],
        "parameters": [
            _header("webhook-id", ids.EVENT.pattern, "The event's id, the same whenever it is sent again."),
            _header("webhook-timestamp", "^[0-9]{1,12}$", "Seconds since the Unix epoch when this try was signed."),
            _header(
                "webhook-signature",
                "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$",
                "HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`; two of them after a rotation.",
            ),
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": _SCHEMAS + _name(type)},
                    "examples": {type: {"summary": sentence, "value": sample_of(type)}},
                }
            },
        },
        "responses": {"2XX": {"description": taken}, "410": {"description": stop}},
    }


def _header(name: str, pattern: str, description: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": True, "description": description, "schema": schema}
