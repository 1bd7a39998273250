"""The base of every /v1 view: a known key, its budget, its scope, and one database transaction per write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Final, cast

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from config.environments import Environment
from config.errors import DomainError
from merchants.access import idempotency, throttling
from merchants.access.authentication import (
    AddressNotAllowed,
    KeyAuthentication,
    KeyExpired,
    KeyInvalid,
    KeyMissing,
    KeyWrongEnvironment,
    MerchantInactive,
    TooManyBadKeys,
)
from merchants.access.errors import TooManyRequests
from merchants.access.permissions import HasScope, InsufficientScope
from merchants.access.scopes import Scope
from merchants.access.signing import (
    SignatureInvalid,
    SignatureMissing,
    SignatureReplayed,
    TimestampInvalid,
    TimestampOutOfRange,
)
from merchants.models import ApiKey, Merchant

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class MerchantViewSet(GenericViewSet[Any]):
    """Derive from it, name a scope for every action, and start every query from `merchant` and `environment`.

    The URL's `environment` is taken out of the arguments: actions receive only what is their own. A write
    runs in one database transaction that a refusal rolls back; a POST honours `Idempotency-Key`.
    """

    scopes: ClassVar[Mapping[str, Scope]] = {}
    refusals: ClassVar[tuple[type[DomainError], ...]] = (
        KeyMissing,
        KeyInvalid,
        KeyExpired,
        KeyWrongEnvironment,
        SignatureMissing,
        SignatureInvalid,
        TimestampInvalid,
        TimestampOutOfRange,
        SignatureReplayed,
        InsufficientScope,
        AddressNotAllowed,
        MerchantInactive,
        TooManyRequests,
        TooManyBadKeys,
        idempotency.IdempotencyKeyInvalid,
        idempotency.IdempotencyKeyReused,
        idempotency.IdempotencyKeyInUse,
    )
    """What any request may be refused with before its action runs; the reference lists them."""
    inquiries: ClassVar[Collection[str]] = ()
    """POST actions that ask somebody outside and change nothing a repetition would change again.

    They run in no database transaction; only their replies are kept, for a repeated request.
    """
    authentication_classes = (KeyAuthentication,)
    permission_classes = (HasScope,)
    throttle_classes = ()
    http_method_names = ("get", "head", "post", "patch", "delete")

    merchant: Merchant
    environment: Environment
    key: ApiKey

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.format_kwarg = None
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        self.perform_authentication(request)
        self.key = cast("ApiKey", request.auth)
        self.merchant = self.key.merchant
        self.environment = Environment(self.key.environment)
        self._take_from_budget()
        self.check_permissions(request)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        own_arguments = {name: value for name, value in kwargs.items() if name != "environment"}
        try:
            self.initial(self.request, *args, **kwargs)
            handler = getattr(self, (request.method or "").lower(), self.http_method_not_allowed)
            if request.method in _READS:
                response = handler(self.request, *args, **own_arguments)
                self.response = self.finalize_response(self.request, response)
            elif self.action in self.inquiries:
                self.response = self._inquire(handler, *args, **own_arguments)
            else:
                self.response = self._write(handler, *args, **own_arguments)
        except Exception as error:
            self.response = self.finalize_response(self.request, self.handle_exception(error))
        return self.response

    def _take_from_budget(self) -> None:
        budget = throttling.take(self.merchant, self.environment)
        self.headers.update(budget.headers)
        if not budget.accepted:
            raise TooManyRequests(retry_after_seconds=budget.reset_seconds)

    def _write(self, handler: Callable[..., Response], *args: Any, **arguments: Any) -> Response:
        """Do it and render it in one database transaction: what cannot be answered is not done."""
        request = self.request._request
        key = idempotency.key_of(request) if request.method == "POST" else None
        with transaction.atomic(durable=True):
            if key is None:
                return self._rendered(handler(self.request, *args, **arguments))
            claim = self._claim(key)
            if isinstance(claim, idempotency.StoredReply):
                return self._replayed(claim)
            response = self._rendered(handler(self.request, *args, **arguments))
            idempotency.store(claim, status=response.status_code, body=self.seal_reply(response.content))
            return response

    def _inquire(self, handler: Callable[..., Response], *args: Any, **arguments: Any) -> Response:
        """Ask, then keep the reply. Of two at once that carry the same key, the first to be kept answers both."""
        request = self.request._request
        key = idempotency.key_of(request) if request.method == "POST" else None
        if key is None:
            return self._rendered(handler(self.request, *args, **arguments))
        with transaction.atomic(durable=True):
            known = self._claim(key)
            if isinstance(known, idempotency.StoredReply):
                return self._replayed(known)
            transaction.set_rollback(True)  # nothing is kept before there is a reply
        response = self._rendered(handler(self.request, *args, **arguments))
        with transaction.atomic(durable=True):
            claim = self._claim(key)
            if isinstance(claim, idempotency.StoredReply):
                return self._replayed(claim)
            idempotency.store(claim, status=response.status_code, body=self.seal_reply(response.content))
            return response

    def _claim(self, key: str) -> idempotency.Claim | idempotency.StoredReply:
        return idempotency.claim(
            merchant=self.merchant,
            environment=self.environment,
            key=key,
            digest=idempotency.request_digest(self.request._request),
        )

    def _replayed(self, reply: idempotency.StoredReply) -> Response:
        body = self.unseal_reply(reply.body)
        return self._rendered(Response(body, status=reply.status, headers={"Idempotent-Replayed": "true"}))

    def seal_reply(self, body: bytes) -> bytes:
        """What is kept of a reply for a repeated request. A view whose replies hold secrets encrypts them here."""
        return body

    def unseal_reply(self, sealed: bytes) -> bytes:
        return sealed

    def _rendered(self, response: Response) -> Response:
        self.response = self.finalize_response(self.request, response)
        response.render()
        return response
