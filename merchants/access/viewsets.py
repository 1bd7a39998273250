"""The base of every /v1 view: a known key, its budget, its scope, and one database transaction per write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeVar, cast

from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from config import ids
from config.api.fields import EmptySerializer, read_query
from config.api.hints import no_such
from config.api.pagination import KeyRange, page
from config.api.renderers import render_json
from config.api.versions import HEADER, UnknownVersion, deprecation_headers, requested_version
from config.database.replica import reads_from_replica
from config.environments import Environment
from config.errors import DomainError
from merchants import counting
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

Record = TypeVar("Record", bound=Model)

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class MerchantViewSet(GenericViewSet[Any]):
    """Derive from it, name a scope for every action, and start every query from `merchant` and `environment`.

    The URL's `environment` is removed from the arguments: actions receive only their own. A write
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
        UnknownVersion,
        idempotency.IdempotencyKeyInvalid,
        idempotency.IdempotencyKeyReused,
        idempotency.IdempotencyKeyInUse,
    )
    """Errors that any request may get before its action runs; the reference lists them."""
    queried: ClassVar[Collection[str]] = ("list",)
    """Actions that read query parameters, by `read_query`; at any other every query parameter is unknown."""
    reports: ClassVar[Collection[str]] = ("list",)
    """GET actions that show a list, a report or a file of one, and read from a replica if there is one."""
    inquiries: ClassVar[Collection[str]] = ()
    """POST actions that query something outside Ballast and change nothing, so that repeating them does no harm.

    They run in no database transaction; only their replies are kept, for a repeated request.
    """
    single_statements: ClassVar[Collection[str]] = ()
    """Actions that change something by one SQL statement, the last thing they do: it is a database transaction by
    itself. With an `Idempotency-Key` it is in one with the reply that is stored."""
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
        if request.method == "OPTIONS":  # a browser asks before it sends a key: it is told that the API is for servers
            self.http_method_not_allowed(request)
        self.perform_authentication(request)
        self.key = cast("ApiKey", request.auth)
        self.merchant = self.key.merchant
        self.environment = Environment(self.key.environment)
        self._take_from_budget()
        self.headers[HEADER] = str(requested_version(request._request))
        self.headers.update(deprecation_headers(request.path, self.action or ""))
        self.check_permissions(request)
        if self.action and self.action not in self.queried:  # none for a method that is not possible
            read_query(EmptySerializer, request)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        own_arguments = {name: value for name, value in kwargs.items() if name != "environment"}
        try:
            self.initial(self.request, *args, **kwargs)
            handler = getattr(self, (request.method or "").lower(), self.http_method_not_allowed)
            if request.method in _READS:
                read: Callable[..., Any] = reads_from_replica(handler) if self.action in self.reports else handler
                response = read(self.request, *args, **own_arguments)
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
        """Run the action and render its reply in one database transaction: without a reply nothing is done."""
        request = self.request._request
        key = idempotency.key_of(request) if request.method == "POST" else None
        if (query := self.before_transaction()) is not None:
            if key is not None and (known := self._stored(key)) is not None:
                return self._replayed(known)
            query()
        if key is None and self.action in self.single_statements:
            return self._rendered(handler(self.request, *args, **arguments))
        with transaction.atomic(durable=True):
            if key is None:
                return self._rendered(handler(self.request, *args, **arguments))
            acquired = self._acquire(key)
            if isinstance(acquired, idempotency.StoredReply):
                return self._replayed(acquired)
            response = self._rendered(handler(self.request, *args, **arguments))
            idempotency.store(acquired, status=response.status_code, body=self.seal_reply(response.content))
            return response

    def _inquire(self, handler: Callable[..., Response], *args: Any, **arguments: Any) -> Response:
        """Run the query, then store the reply. Of two requests with the same key, both get the reply that is stored
        first."""
        request = self.request._request
        key = idempotency.key_of(request) if request.method == "POST" else None
        if key is None:
            return self._rendered(handler(self.request, *args, **arguments))
        if (known := self._stored(key)) is not None:
            return self._replayed(known)
        response = self._rendered(handler(self.request, *args, **arguments))
        with transaction.atomic(durable=True):
            acquired = self._acquire(key)
            if isinstance(acquired, idempotency.StoredReply):
                return self._replayed(acquired)
            idempotency.store(acquired, status=response.status_code, body=self.seal_reply(response.content))
            return response

    def before_transaction(self) -> Callable[[], None] | None:
        """A query of a write to something outside Ballast, run before its database transaction begins; None for
        most."""
        return None

    def _stored(self, key: str) -> idempotency.StoredReply | None:
        """The reply stored for a key, in a database transaction that leaves nothing behind."""
        with transaction.atomic(durable=True):
            known = self._acquire(key)
            transaction.set_rollback(True)
        return known if isinstance(known, idempotency.StoredReply) else None

    def _acquire(self, key: str) -> idempotency.AcquiredKey | idempotency.StoredReply:
        return idempotency.acquire(
            merchant=self.merchant,
            environment=self.environment,
            key=key,
            digest=idempotency.request_digest(self.request._request),
            exact=idempotency.exact_digest(self.request._request),
        )

    def _replayed(self, reply: idempotency.StoredReply) -> Response:
        body = self.unseal_reply(reply.body)
        return self._rendered(Response(body, status=reply.status, headers={"Idempotent-Replayed": "true"}))

    def find(self, kind: ids.PublicId, public_id: str, among: QuerySet[Record], *, param: str | None = None) -> Record:
        """The record with this id among some; NotFound when it is none of them."""
        key = kind.decode(public_id)
        found = key and among.filter(pk=key).first()
        if not found:
            raise no_such(kind, public_id, param=param)
        return found

    def listed(
        self,
        own: QuerySet[Any, Any],
        query: Mapping[str, Any],
        *,
        kind: ids.PublicId,
        render: Callable[[Any], Any],
        filters: Mapping[str, str] = MappingProxyType({}),
        narrow: Q | None = None,
        read: Callable[[QuerySet[Any, Any]], Sequence[Any]] = list,
        prepare: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
        counted: counting.Counted | None = None,
        most_counted: int | None = None,
        count: Callable[[QuerySet[Any, Any]], int] | None = None,
    ) -> Response:
        """A page of the list, as `config.api.pagination.page` makes it.

        `filters` names the column for each parameter of the query that narrows the list, which may have several values,
        and `narrow` is what else does. Records that are `counted` by
        status are not counted anew as long as nothing else narrows them. Of a list without an end `most_counted` is
        how far the total counts. `count` does it by an index that has another order than the list.
        """
        chosen = {column: query[name] for name, column in filters.items() if name in query}
        matching = narrow or Q()
        for column, value in chosen.items():
            matching &= Q(**({f"{column}__in": value} if isinstance(value, list) else {column: value}))

        def total(keys: KeyRange) -> int:
            if counted is None or narrow or chosen.keys() - {"status"}:
                matched = own.filter(keys.condition, matching)
                return count(matched) if count else matched.order_by("-pk")[:most_counted].count()
            status = chosen.get("status")
            return counting.total(
                counted,
                merchant_id=self.merchant.pk,
                environment=self.environment,
                statuses=status if isinstance(status, list) else [status] if status else None,
                keys=keys,
            )

        shown = page(
            own, query, public_id=kind, narrow=matching, read=read, prepare=prepare, render=render, total=total
        )
        return Response(render_json(shown))  # at once: a response is a part of cycles, and would keep all records

    def seal_reply(self, body: bytes) -> bytes:
        """The stored form of a reply for a repeated request. A view whose replies contain secrets encrypts them
        here."""
        return body

    def unseal_reply(self, sealed: bytes) -> bytes:
        return sealed

    def _rendered(self, response: Response) -> Response:
        self.response = self.finalize_response(self.request, response)
        response.render()
        return response
