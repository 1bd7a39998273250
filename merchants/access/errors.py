"""The kinds of error of authentication and permission. Each has subclasses next to the rules that raise them."""

from __future__ import annotations

from config.errors import DomainError


class AuthenticationRefused(DomainError):
    type = "authentication_error"
    code = "authentication_failed"
    status = 401
    message = "The API key is missing or not valid."


class PermissionRefused(DomainError):
    type = "permission_error"
    code = "permission_denied"
    status = 403
    message = "This key does not have permission for this."


class TooManyRequests(DomainError):
    type = "rate_limit_error"
    code = "rate_limit_exceeded"
    status = 429
    message = "Too many requests."
