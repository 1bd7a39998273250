"""The OpenAPI description of the API, drawn from the same serializers and errors the code uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from config.api.exceptions import INTERNAL, MAX_PARAM_CHARACTERS, METHOD_NOT_ALLOWED
from config.api.fields import StrictField, StrictSerializer
from config.api.meanings import explain_fields
from config.api.parsers import BodyTooLarge, InvalidJSON, UnsupportedContentType
from config.api.refining import refine
from config.api.versions import HEADER, PRODUCTION_PREFIX, deprecation_of, operation_of, resource_of
from config.errors import DomainError, InvalidParameter, NotFound, ServiceUnavailable
from config.pages.samples import cut_addresses, sandbox_addresses

Action = TypeVar("Action", bound=Callable[..., Any])

Endpoint = tuple[str, str, str, Any]
"""Path, its regular expression, method and view, as drf-spectacular lists them."""

_METHODS = ("POST", "GET", "PATCH", "DELETE")
_SHARED_STATUSES = {"401", "403", "404", "409", "429", "500", "503"}


def refuses(*errors: type[DomainError]) -> Callable[[Action], Action]:
    """Names the errors that an action of a viewset may reply with, beyond those of every request of its kind."""

    def name(action: Action) -> Action:
        action.refusals = errors  # type: ignore[attr-defined]
        return action

    return name


class MissingParameter(InvalidParameter):
    code = "missing_parameter"
    message = "Missing required parameter: amount."


class UnknownParameter(InvalidParameter):
    code = "unknown_parameter"
    message = 'Unknown parameter: "ammount". Did you mean amount?'


class MethodNotAllowed(DomainError):
    type, code, status = METHOD_NOT_ALLOWED.type, METHOD_NOT_ALLOWED.code, METHOD_NOT_ALLOWED.status
    message = 'PUT is not possible at "/v1/payments", which takes GET and POST.'


class InternalError(DomainError):
    type, code, status, message = INTERNAL.type, INTERNAL.code, INTERNAL.status, INTERNAL.message


class StrictSerializerExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # has no types
    """Schema of a strict serializer: unknown fields of a request are refused."""

    target_class = StrictSerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # type: ignore[no-untyped-call]  # has no types
        return {**schema, "additionalProperties": False}


class StrictFieldExtension(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # nor here
    """Schema of a strict field, as the field declares it."""

    target_class = StrictField
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        return dict(self.target.json_schema)


class FloatFieldExtension(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # nor here
    """The number is an exact decimal; how a client stores it is its own choice."""

    target_class = serializers.FloatField

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        return {"type": "number"}


class BallastSchema(AutoSchema):
    """Describes one operation.

    A viewset may carry `scopes` by action, and it and its actions `refusals`, the errors they reply with.
    """

    def get_tags(self) -> list[str]:
        return [resource_of(self.path).replace("-", " ").capitalize()]

    def get_operation_id(self) -> str:
        return operation_of(self.path, getattr(self.view, "action", self.method.lower()))

    def get_auth(self) -> list[dict[str, Any]]:
        return [{"publicKey": [], "privateKey": []}]

    def get_filter_backends(self) -> list[Any]:
        return []

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}List"

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        name: str = super().get_serializer_name(serializer, direction)
        return name.removesuffix("Schema")

    def get_operation(self, *args: Any) -> dict[str, Any]:
        operation: dict[str, Any] = super().get_operation(*args)  # type: ignore[assignment]  # none is excluded
        if (scope := getattr(self.view, "scopes", {}).get(getattr(self.view, "action", None))) is not None:
            operation["description"] = f"{operation.get('description', '')}\n\nScope: `{scope}`.".strip()
        if (deprecation := deprecation_of(operation["operationId"])) is not None:
            operation["deprecated"] = True
            operation["description"] = f"{deprecation.words}\n\n{operation.get('description', '')}".strip()
        for parameter in operation.get("parameters", ()):
            if parameter.get("schema", {}).get("type") == "object":  # written as name[key]=value
                parameter |= {"style": "deepObject", "explode": True}
        if self.method == "POST":
            operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/IdempotencyKey"})
        responses = operation["responses"]
        for status, response in responses.items():
            response["description"] = response.get("description") or f"{HTTPStatus(int(status)).phrase}."
            response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
        errors: dict[int, list[type[DomainError]]] = {}
        for error in self._refusals(operation.get("parameters", ())):
            errors.setdefault(error.status, []).append(error)
        for number in sorted(errors):
            responses[str(number)] = _error_response(number, errors[number])
        return operation

    def _refusals(self, parameters: Iterable[dict[str, Any]]) -> Iterable[type[DomainError]]:
        """Every error the operation may reply with, each code once."""
        action = getattr(self.view, getattr(self.view, "action", ""), None)
        found: list[type[DomainError]] = []
        if self.method in {"POST", "PATCH"}:
            found += [MissingParameter, InvalidParameter, UnknownParameter]
            found += [InvalidJSON, BodyTooLarge, UnsupportedContentType]
        elif any(parameter.get("in") == "query" for parameter in parameters):
            found += [InvalidParameter, UnknownParameter]
        found += [
            error
            for error in getattr(self.view, "refusals", ())
            if self.method == "POST" or error.type != "idempotency_error"
        ]
        found += getattr(action, "refusals", ())
        if "{" in self.path:
            found.append(NotFound)
        found += [InternalError, ServiceUnavailable]
        return {(error.status, error.code): error for error in found}.values()


def _error_response(status: int, errors: list[type[DomainError]]) -> dict[str, Any]:
    codes = ", ".join(f"`{error.code}`" for error in errors)
    headers = [
        "X-Request-Id",
        *(["Retry-After"] if status in {409, 429, 503} else []),
        *(["Allow"] if status == 405 else []),
    ]
    return {
        "description": f"{HTTPStatus(status).phrase}: {codes}.",
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/ErrorReply"},
                "examples": {error.code: {"value": _example(error)} for error in errors},
            }
        },
    }


def _example(error: type[DomainError]) -> dict[str, Any]:
    body: dict[str, Any] = {"type": error.type, "code": error.code, "message": error.message}
    if issubclass(error, InvalidParameter):
        body["param"] = "ammount" if error is UnknownParameter else "amount"
    return {"error": {**body, "requestId": "req_01kfjhr3c8e4bs0dz6wd5n5yry"}}


def production_routes(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Both environments have the same routes: they are described once, in order; the servers differ."""
    own = [endpoint for endpoint in endpoints if endpoint[0].startswith(PRODUCTION_PREFIX)]
    paths = list(dict.fromkeys(path for path, _, _, _ in own))
    return sorted(own, key=lambda endpoint: (paths.index(endpoint[0]), _METHODS.index(endpoint[2])))


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the components every operation refers to, and describe replies that most operations share only once."""
    components = result["components"]
    for kind, entries in COMPONENTS.items():
        components[kind] = {**components.get(kind, {}), **entries}
    refine(components["schemas"])
    explain_fields(components["schemas"])
    shared = components.setdefault("responses", {})
    for path in result["paths"].values():
        for operation in path.values():
            responses = operation["responses"]
            responses["405"] = {"$ref": "#/components/responses/MethodNotAllowed"}
            for status in sorted(_SHARED_STATUSES & responses.keys()):
                name = HTTPStatus(int(status)).phrase.replace(" ", "")
                if shared.setdefault(name, responses[status]) == responses[status]:
                    responses[status] = {"$ref": f"#/components/responses/{name}"}
    described: dict[str, Any] = _with_safe_examples(_without_internal_keys(result), cut_addresses)
    return described


def _with_safe_examples(value: Any, safe: Callable[[Any], Any]) -> Any:
    """Examples of requests can be sent as they stand; others have no address that somebody could send money to."""
    if isinstance(value, dict):
        return {
            key: safe(inner)
            if key in {"example", "examples"}
            else _with_safe_examples(inner, sandbox_addresses if key == "requestBody" else safe)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_safe_examples(inner, safe) for inner in value]
    return value


def _without_internal_keys(value: Any) -> Any:
    """Remove keys that drf-spectacular leaves for its own hooks."""
    if isinstance(value, dict):
        return {key: _without_internal_keys(inner) for key, inner in value.items() if key != "x-spec-enum-id"}
    if isinstance(value, list):
        return [_without_internal_keys(inner) for inner in value]
    return value


_PARAM = {
    "type": "string",
    "maxLength": MAX_PARAM_CHARACTERS,
    "description": "The parameter at fault; dotted when it is nested.",
}
_CODE = {"type": "string", "pattern": "^[a-z][a-z0-9_]+$", "description": "What happened, for programs."}
_MESSAGE = {"type": "string", "description": "What happened, for people."}

ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "additionalProperties": False,
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "code", "message", "requestId"],
            "additionalProperties": False,
            "properties": {
                "type": {
                    "type": "string",
                    "enum": [
                        "invalid_request_error",
                        "authentication_error",
                        "permission_error",
                        "not_found_error",
                        "rate_limit_error",
                        "idempotency_error",
                        "api_error",
                    ],
                },
                "code": _CODE,
                "message": _MESSAGE,
                "param": _PARAM,
                "requestId": {"type": "string", "description": "Also in the header X-Request-Id, and in our logs."},
                "errors": {
                    "type": "array",
                    "description": "Every parameter at fault, when there are several.",
                    "items": {
                        "type": "object",
                        "required": ["param", "code", "message"],
                        "additionalProperties": False,
                        "properties": {"param": _PARAM, "code": _CODE, "message": _MESSAGE},
                    },
                },
            },
        }
    },
}

_HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {
        "description": "The id of this request. Send your own, 8 to 64 letters, digits, _ or -, to have it kept.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
    },
    "Ballast-Release": {
        "description": "The release of Ballast that replied, for your logs. Never make what you do depend on it.",
        "schema": {"type": "string", "pattern": "^[0-9]+[.][0-9]+[.][0-9]+$"},
    },
    HEADER: {
        "description": "The version of the API that replied, by its date. A request chooses one with the same header.",
        "schema": {"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    },
    "RateLimit-Limit": {"description": "Requests per minute.", "schema": {"type": "integer"}},
    "RateLimit-Remaining": {"description": "Requests left just now.", "schema": {"type": "integer"}},
    "RateLimit-Reset": {
        "description": "Seconds until the full limit is available again.",
        "schema": {"type": "integer"},
    },
}

COMPONENTS: dict[str, Any] = {
    "responses": {"MethodNotAllowed": _error_response(405, [MethodNotAllowed])},
    "schemas": {"ErrorReply": ERROR},
    "headers": {
        **_HEADERS,
        "Retry-After": {"description": "Seconds after which to try again.", "schema": {"type": "integer"}},
        "Allow": {
            "description": "The methods that there are.",
            "schema": {"type": "string", "pattern": "^[A-Z]+(, [A-Z]+)*$"},
        },
    },
    "parameters": {
        "IdempotencyKey": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": (
                "A text of your own that is unique for each operation. A request that is sent again with it and "
                "the same body within 72 hours gets the stored reply, and nothing is done twice."
            ),
            "schema": {
                "type": "string",
                "minLength": 1,
                "maxLength": 255,
                "pattern": "^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$",
            },
        }
    },
    "securitySchemes": {
        "publicKey": {
            "type": "http",
            "scheme": "bearer",
            "description": "The public key: `pk_live_…` in production, `pk_test_…` in the sandbox.",
        },
        "privateKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-Api-Secret",
            "description": "The secret key of the same pair: `sk_live_…` or `sk_test_…`.",
        },
    },
}
