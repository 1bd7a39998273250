"""The OpenAPI description of the API, drawn from the same serializers and errors the code uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, TypeVar

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import append_meta
from rest_framework import serializers

from config.api.exceptions import INTERNAL, MAX_PARAM_CHARACTERS, METHOD_NOT_ALLOWED
from config.api.fields import StrictField, StrictSerializer
from config.api.parsers import BodyTooLarge, InvalidJSON, UnsupportedContentType
from config.api.refining import refine
from config.errors import DomainError, InvalidParameter, NotFound, ServiceUnavailable
from config.samples import cut_addresses

Refusals = tuple[type[DomainError], ...]
Action = TypeVar("Action", bound=Callable[..., Any])

Endpoint = tuple[str, str, str, Any]
"""Path, its regular expression, method and view, as drf-spectacular lists them."""

PRODUCTION_PREFIX = "/v1/"
_METHODS = ("POST", "GET", "PATCH", "DELETE")
_SHARED_STATUSES = {"401", "403", "404", "409", "429", "500", "503"}


def refuses(*errors: type[DomainError]) -> Callable[[Action], Action]:
    """Names the errors an action of a viewset may answer with, beyond those of every request of its kind."""

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


class Envelope:
    """What `page` wraps a list in. Its parameters are named by each list's own query serializer."""

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["object", "data", "hasMore", "totalCount"],
            "properties": {
                "object": {"type": "string", "const": "list"},
                "data": schema,
                "hasMore": {"type": "boolean", "description": "True when more records follow."},
                "totalCount": {"type": "integer", "description": "How many records match, exactly."},
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return []


class BallastSchema(AutoSchema):
    """Describes one operation.

    A viewset may carry `scopes` by action, and it and its actions `refusals`, the errors they answer with.
    """

    def get_tags(self) -> list[str]:
        return [self._tokenize_path()[0].replace("_", " ").capitalize()]

    def get_operation_id(self) -> str:
        resource = self._tokenize_path()[0]
        return f"{resource}_{getattr(self.view, 'action', self.method.lower())}"

    def get_description(self) -> str:  # type: ignore[override]  # drf-spectacular dropped REST framework's arguments
        description = super().get_description() or ""
        scope = getattr(self.view, "scopes", {}).get(getattr(self.view, "action", None))
        return description if scope is None else f"{description}\n\nScope: `{scope}`.".strip()

    def get_auth(self) -> list[dict[str, Any]]:
        return [{"publicKey": [], "privateKey": []}]

    def get_filter_backends(self) -> list[Any]:
        return []

    def _get_parameters(self) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super()._get_parameters()
        if self.method == "POST":
            parameters.append({"$ref": "#/components/parameters/IdempotencyKey"})
        return parameters

    def _get_paginator(self) -> Envelope:
        return Envelope()

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}List"

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        name: str = super().get_serializer_name(serializer, direction)
        return name.removesuffix("Schema")

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]  # untyped
        if isinstance(serializer, StrictSerializer):
            schema["additionalProperties"] = False
        return schema

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> dict[str, Any]:
        if isinstance(field, StrictField):
            meta = self._get_serializer_field_meta(field, direction)  # type: ignore[no-untyped-call]  # has no types
            described: dict[str, Any] = append_meta(dict(field.json_schema), meta)
            return described
        schema: dict[str, Any] = super()._map_serializer_field(  # type: ignore[no-untyped-call]  # has no types
            field, direction, bypass_extensions
        )
        if isinstance(field, serializers.FloatField):
            schema.pop("format", None)  # the number is an exact decimal; how a reader holds it is the reader's choice
        return schema

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        responses: dict[str, Any] = super()._get_response_bodies(direction)
        for status, response in responses.items():
            response["description"] = response.get("description") or f"{HTTPStatus(int(status)).phrase}."
            response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
        errors: dict[int, list[type[DomainError]]] = {}
        for error in self._refusals():
            errors.setdefault(error.status, []).append(error)
        for number in sorted(errors):
            responses[str(number)] = _error_response(number, errors[number])
        return responses

    def _refusals(self) -> Iterable[type[DomainError]]:
        """Every error the operation may answer with, each code once."""
        action = getattr(self.view, getattr(self.view, "action", ""), None)
        found: list[type[DomainError]] = []
        if self.method in {"POST", "PATCH"}:
            found += [MissingParameter, InvalidParameter, UnknownParameter]
            found += [InvalidJSON, BodyTooLarge, UnsupportedContentType]
        elif any(parameter.get("in") == "query" for parameter in self._get_parameters()):
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
    """Both environments have the same routes: describe them once, in their order. The servers tell them apart."""
    own = [endpoint for endpoint in endpoints if endpoint[0].startswith(PRODUCTION_PREFIX)]
    paths = list(dict.fromkeys(path for path, _, _, _ in own))
    return sorted(own, key=lambda endpoint: (paths.index(endpoint[0]), _METHODS.index(endpoint[2])))


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the components every operation refers to, and say only once what most operations answer alike."""
    components = result["components"]
    for kind, entries in COMPONENTS.items():
        components[kind] = {**components.get(kind, {}), **entries}
    refine(components["schemas"])
    shared = components.setdefault("responses", {})
    for path in result["paths"].values():
        for operation in path.values():
            responses = operation["responses"]
            responses["405"] = {"$ref": "#/components/responses/MethodNotAllowed"}
            for status in _SHARED_STATUSES & responses.keys():
                name = HTTPStatus(int(status)).phrase.replace(" ", "")
                if shared.setdefault(name, responses[status]) == responses[status]:
                    responses[status] = {"$ref": f"#/components/responses/{name}"}
    described: dict[str, Any] = _with_cut_examples(_without_internal_keys(result))
    return described


def _with_cut_examples(value: Any) -> Any:
    if isinstance(value, dict):
        cut = {"example", "examples"}
        return {key: cut_addresses(inner) if key in cut else _with_cut_examples(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_cut_examples(inner) for inner in value]
    return value


def _without_internal_keys(value: Any) -> Any:
    """Take out what drf-spectacular leaves for hooks of its own."""
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
    "RateLimit-Limit": {"description": "Requests per minute.", "schema": {"type": "integer"}},
    "RateLimit-Remaining": {"description": "Requests left just now.", "schema": {"type": "integer"}},
    "RateLimit-Reset": {"description": "Seconds until the whole budget is back.", "schema": {"type": "integer"}},
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
                "Any text of your own that is new for each thing you want done. Sent again with the same body within "
                "72 hours, it answers with the stored reply and does nothing twice."
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
            "description": "The private key of the same pair: `sk_live_…` or `sk_test_…`.",
        },
    },
}
