"""Stablecoin payments with Ballast: `Ballast().payments.create(amount=25, currency="EUR", …)`."""

from ballast import events, models
from ballast._client import AsyncBallast, Ballast
from ballast._core import NOT_GIVEN, AppInfo, NotGiven, RequestOptions, WriteOptions
from ballast._errors import (
    ApiConnectionError,
    ApiStatusError,
    ApiTimeoutError,
    AuthenticationError,
    BallastError,
    IdempotencyError,
    InvalidRequestError,
    NotFoundError,
    ParameterError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    WebhookVerificationError,
)
from ballast._models import Model
from ballast._pages import AsyncPage, AsyncPager, Page
from ballast._transport import RawResponse
from ballast._version import __version__
from ballast._webhooks import Webhook
from ballast.events import Event

__all__ = [
    "NOT_GIVEN",
    "ApiConnectionError",
    "ApiStatusError",
    "ApiTimeoutError",
    "AppInfo",
    "AsyncBallast",
    "AsyncPage",
    "AsyncPager",
    "AuthenticationError",
    "Ballast",
    "BallastError",
    "Event",
    "IdempotencyError",
    "InvalidRequestError",
    "Model",
    "NotFoundError",
    "NotGiven",
    "Page",
    "ParameterError",
    "PermissionDeniedError",
    "RateLimitError",
    "RawResponse",
    "RequestOptions",
    "ServerError",
    "Webhook",
    "WebhookVerificationError",
    "WriteOptions",
    "__version__",
    "events",
    "models",
]
