"""The schema of every error reply, for tests that meet one."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

TYPES = [
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "rate_limit_error",
    "idempotency_error",
    "api_error",
]

_CODE = {"type": "string", "pattern": "^[a-z][a-z0-9_]+$"}
_MESSAGE = {"type": "string", "minLength": 3, "maxLength": 1000}
_PARAM = {"type": "string", "maxLength": 100}

ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "additionalProperties": False,
            "required": ["type", "code", "message", "requestId"],
            "properties": {
                "type": {"enum": TYPES},
                "code": _CODE,
                "message": _MESSAGE,
                "param": _PARAM,
                "requestId": {"type": "string", "pattern": "^[A-Za-z0-9_-]{8,64}$"},
                "errors": {
                    "type": "array",
                    "minItems": 2,
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["param", "code", "message"],
                        "properties": {"param": _PARAM, "code": _CODE, "message": _MESSAGE},
                    },
                },
            },
        }
    },
}
ERRORS = Draft202012Validator(ERROR_SCHEMA)
"""Made once: `jsonschema.validate` would check the schema itself each time, which costs more than the request."""


def check_error(response: Any) -> dict[str, Any]:
    """The error of a reply that must be one, after checking everything that all of them share."""
    assert response.status_code >= 400
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-store"
    body = response.json()
    ERRORS.validate(body)
    error: dict[str, Any] = body["error"]
    assert error["requestId"] == response.headers["X-Request-Id"]
    return error
