"""Who may do what: every route of the API against everybody who might ask.

The table below is compared with the URLconf, so that a new route without a row fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from config import ids
from config.environments import Environment
from merchants.access.scopes import Scope, allows
from merchants.models import ApiKey, AttemptCount, Merchant
from merchants.request_log.models import LoggedRequest
from merchants.request_log.recording import RECORDER
from merchants.roles import Role
from merchants.services import IssuedKey, revoke_api_key
from payments.models import Payment
from tests.factories import PASSWORD, api_client, key_headers, make_key, make_member, make_merchant
from tests.payments.linking import make_link
from tests.payments.scenes import STELLAR, make_payment
from tests.refunds.scenes import ask, paid, wallet
from tests.settlements.page_scenes import earn_and_settle, make_invoice
from webhooks.services import register_endpoint, send_test

SANDBOX, PRODUCTION = Environment
BASES = {SANDBOX: "/sandbox/v1/", PRODUCTION: "/v1/"}

PAYMENT = {
    "amount": 19.99,
    "currency": "EUR",
    "cryptocurrency": "USDC",
    "network": "polygon",
    "merchantWallet": "0x52908400098527886E0F7030069857D2E4169EE7",
}
LINK = {
    "description": "Harbour tour",
    "amount": 19.99,
    "currency": "EUR",
    "merchantWallets": {"polygon": PAYMENT["merchantWallet"]},
}
REFUND = {"paymentId": "<str:refundable_payment_id>", "amount": 5}
WEBHOOK = {"url": "https://shop.example.com/webhooks"}
REPLAY = {"createdGte": "2026-01-01", "createdLte": "2199-12-31"}


Records = Mapping[str, str]
"""Public ids by the name that the URLconf gives them."""

KINDS = {
    "payment_id": ids.PAYMENT,
    "refundable_payment_id": ids.PAYMENT,
    "short_payment_id": ids.PAYMENT,
    "discrepancy_id": ids.DISCREPANCY,
    "link_id": ids.PAYMENT_LINK,
    "refund_id": ids.REFUND,
    "settlement_id": ids.SETTLEMENT,
    "invoice_id": ids.INVOICE,
    "webhook_id": ids.WEBHOOK,
    "event_id": ids.EVENT,
    "delivery_id": ids.DELIVERY,
    "logged_id": ids.LOGGED_REQUEST,
}


@dataclass(frozen=True)
class Route:
    """One method of one path: the scope it needs, and what it answers to somebody who may."""

    method: str
    path: str
    scope: Scope
    succeeds_with: int = 200
    body: Any = None
    stands_for: Mapping[str, str] = field(default_factory=dict)
    """Which record of a kind is meant, where the usual one does not do."""
    query: str = ""
    """What it cannot do without."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def records(self) -> list[str]:
        """What kinds of record the path names: `payment_id`."""
        return re.findall(r"<str:(\w+)>", self.path)

    def call(self, issued: IssuedKey | None, environment: Environment, records: Records, **headers: str) -> Any:
        sent = {**(key_headers(issued) if issued else {}), **headers}
        return self.call_with(Client(), environment, records, sent)

    def call_with(
        self, client: Client, environment: Environment, records: Records, headers: dict[str, str], query: str = ""
    ) -> Any:
        def named(text: str) -> str:
            return re.sub(r"<str:(\w+)>", lambda found: records[self.stands_for.get(found[1], found[1])], text)

        path = BASES[environment] + named(self.path).replace("<month:month>", f"{timezone.now():%Y-%m}")
        path += query or self.query
        data = b"" if self.body is None else named(json.dumps(self.body)).encode()
        return client.generic(self.method, path, data, content_type="application/json", headers=headers)


ROUTES = [
    Route("POST", "payments", Scope.PAYMENTS_WRITE, 201, PAYMENT),
    Route("GET", "payments", Scope.PAYMENTS_READ),
    Route("GET", "payments/<str:payment_id>", Scope.PAYMENTS_READ),
    Route("GET", "discrepancies", Scope.PAYMENTS_READ),
    Route("GET", "quote", Scope.PAYMENTS_READ, query="?amount=25.50&currency=EUR"),
    Route("PATCH", "payments/<str:payment_id>", Scope.PAYMENTS_WRITE, body={"note": "x"}),
    Route("POST", "payments/<str:payment_id>/cancel", Scope.PAYMENTS_WRITE),
    Route(
        "POST",
        "payments/<str:payment_id>/close",
        Scope.DECISIONS_WRITE,
        stands_for={"payment_id": "short_payment_id"},
    ),
    Route("POST", "payments/<str:payment_id>/claim", Scope.PAYMENTS_READ, body={"transactionHash": "0x" + "ab" * 32}),
    Route("POST", "payments/<str:payment_id>/simulate", Scope.PAYMENTS_WRITE, body={"scenario": "exact"}),
    Route("GET", "payments/<str:payment_id>/timeline", Scope.PAYMENTS_READ),
    Route("GET", "payments/<str:payment_id>/transfers", Scope.PAYMENTS_READ),
    Route("GET", "payments/<str:payment_id>/discrepancies", Scope.PAYMENTS_READ),
    Route(
        "POST",
        "payments/<str:payment_id>/discrepancies/<str:discrepancy_id>/accept",
        Scope.DECISIONS_WRITE,
        stands_for={"payment_id": "refundable_payment_id"},
    ),
    Route("POST", "payment-links", Scope.PAYMENTS_WRITE, 201, LINK),
    Route("GET", "payment-links", Scope.PAYMENTS_READ),
    Route("GET", "payment-links/<str:link_id>", Scope.PAYMENTS_READ),
    Route("PATCH", "payment-links/<str:link_id>", Scope.PAYMENTS_WRITE, body={"enabled": False}),
    Route("POST", "refunds", Scope.REFUNDS_WRITE, 201, REFUND),
    Route("GET", "refunds", Scope.REFUNDS_READ),
    Route("GET", "refunds/<str:refund_id>", Scope.REFUNDS_READ),
    Route("POST", "refunds/<str:refund_id>/cancel", Scope.REFUNDS_WRITE),
    Route("POST", "refunds/<str:refund_id>/destination", Scope.REFUNDS_WRITE, body={"destination": wallet()}),
    Route("GET", "settlements", Scope.SETTLEMENTS_READ),
    Route("GET", "settlements/next", Scope.SETTLEMENTS_READ),
    Route("GET", "settlements/<str:settlement_id>", Scope.SETTLEMENTS_READ),
    Route("GET", "settlements/<str:settlement_id>/statement", Scope.SETTLEMENTS_READ),
    Route("GET", "statements", Scope.SETTLEMENTS_READ),
    Route("GET", "statements/<month:month>", Scope.SETTLEMENTS_READ),
    Route("GET", "invoices", Scope.SETTLEMENTS_READ),
    Route("GET", "invoices/<str:invoice_id>", Scope.SETTLEMENTS_READ),
    Route("POST", "webhooks", Scope.WEBHOOKS_WRITE, 201, WEBHOOK),
    Route("GET", "webhooks", Scope.WEBHOOKS_READ),
    Route("POST", "webhooks/signing-secret/rotate", Scope.WEBHOOKS_WRITE),
    Route("GET", "webhooks/<str:webhook_id>", Scope.WEBHOOKS_READ),
    Route("PATCH", "webhooks/<str:webhook_id>", Scope.WEBHOOKS_WRITE, body={"description": "Warehouse"}),
    Route("DELETE", "webhooks/<str:webhook_id>", Scope.WEBHOOKS_WRITE),
    Route("POST", "webhooks/<str:webhook_id>/test", Scope.WEBHOOKS_WRITE),
    Route("POST", "webhooks/<str:webhook_id>/rotate", Scope.WEBHOOKS_WRITE),
    Route("POST", "webhooks/<str:webhook_id>/replay", Scope.WEBHOOKS_WRITE, body=REPLAY),
    Route("GET", "events", Scope.WEBHOOKS_READ),
    Route("GET", "events/<str:event_id>", Scope.WEBHOOKS_READ),
    Route("GET", "deliveries", Scope.WEBHOOKS_READ),
    Route("GET", "deliveries/<str:delivery_id>", Scope.WEBHOOKS_READ),
    Route("POST", "deliveries/<str:delivery_id>/redeliver", Scope.WEBHOOKS_WRITE),
    Route("GET", "requests", Scope.REQUESTS_READ),
    Route("GET", "merchant", Scope.MERCHANT_READ),
    Route("PATCH", "merchant/settings", Scope.MERCHANT_WRITE, body={"settlementCurrency": "DAI"}),
    Route("GET", "balance", Scope.MERCHANT_READ),
]
PUBLIC = {"GET openapi.json"}
"""Documentation, the same for everybody."""

every_environment = pytest.mark.parametrize("environment", Environment)
routes_with_records = pytest.mark.parametrize("route", [route for route in ROUTES if route.records], ids=str)


def routed() -> Iterator[str]:
    """Method and path of everything that the URLconf serves under /v1 or /sandbox/v1."""

    def walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[str]:
        for pattern in patterns:
            path = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, path)
            else:
                for base in ("sandbox/v1/", "v1/"):
                    if path.startswith(base):
                        actions = getattr(pattern.callback, "actions", {"get": ""})
                        methods = set(actions) - {"head"}  # REST framework adds it beside every "get"
                        yield from (f"{method.upper()} {path.removeprefix(base)}" for method in methods)

    return walk(get_resolver().url_patterns, "")


def test_the_table_is_the_url_conf() -> None:
    found = list(routed())
    assert set(found) == {str(route) for route in ROUTES} | PUBLIC
    assert len(found) == 2 * len(set(found)), "both environments serve the same routes"


# --- the world ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """A merchant with one record of each kind in the sandbox, and somebody else's with records of its own."""

    merchant: Merchant
    own: Records
    foreign: Records
    foreign_secrets: frozenset[str]
    """What only the other merchant may ever see."""

    def unknown(self) -> Records:
        return {name: kind.encode(ids.new_uuid()) for name, kind in KINDS.items()}


@pytest.fixture(scope="module")
def made_once(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """It takes a second to make, and nearly every test goes on from it: what each of them changes is undone."""
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock(), transaction.atomic():
        patch.setattr(settings, "SIMULATED_BLOCK_SECONDS", 0)
        patch.setattr(settings, "SANDBOX_REQUESTS_PER_MINUTE", 1_000_000)  # all the tests together are one merchant
        merchant = make_merchant()
        payment, foreign = make_payment(merchant=merchant), make_payment()
        own_ids, foreign_ids = records_of(payment), records_of(foreign)
        yield World(
            merchant,
            own=own_ids,
            foreign=foreign_ids,
            foreign_secrets=frozenset({*foreign_ids.values(), foreign.deposit_address, foreign.merchant.public_id}),
        )
        transaction.set_rollback(True)


@pytest.fixture
def world(made_once: World, db: None) -> World:
    return made_once


def records_of(payment: Payment) -> Records:
    """One of each kind, of the payment's merchant."""
    settlement = earn_and_settle(payment.merchant, network=STELLAR)  # first: it takes all there is
    endpoint, _ = register_endpoint(merchant=payment.merchant, environment=payment.environment, **WEBHOOK)
    delivery = send_test(endpoint=endpoint)
    overpaid = paid(received=["60", "45"], senders=["Ada", "Bob"], merchant=payment.merchant)
    refund = ask(overpaid, "10")  # it needs an address
    api_client(make_key(payment.merchant)).call("GET", "/balance")
    RECORDER.flush()
    return {
        "payment_id": payment.public_id,
        "refundable_payment_id": refund.payment.public_id,
        "short_payment_id": paid(received=["60"], merchant=payment.merchant).public_id,
        "discrepancy_id": overpaid.discrepancies.get().public_id,
        "link_id": make_link(payment.merchant).public_id,
        "refund_id": refund.public_id,
        "settlement_id": settlement.public_id,
        "invoice_id": make_invoice(payment.merchant).public_id,
        "webhook_id": endpoint.public_id,
        "event_id": delivery.event.public_id,
        "delivery_id": delivery.public_id,
        "logged_id": LoggedRequest.objects.filter(merchant=payment.merchant).latest("pk").public_id,
    }


def everything() -> list[tuple[str, str]]:
    """All rows of the product, but for the notes of who asked: those change when somebody is refused."""
    labels = {
        "merchants",
        "ledger",
        "webhooks",
        "payments",
        "simulated",
        "transfers",
        "refunds",
        "settlements",
        "invoices",
    }
    models = [model for model in apps.get_models() if model._meta.app_label in labels and model is not AttemptCount]
    rows = (
        f"SELECT '{table}', (to_jsonb({table}) - '{{last_used_at,last_used_from}}'::text[])::text FROM {table}"  # noqa: S608 - our own names
        for table in (model._meta.db_table for model in models)
    )
    with connection.cursor() as cursor:
        cursor.execute(f"{' UNION ALL '.join(rows)} ORDER BY 1, 2")
        return list(cursor.fetchall())


def refusal(reply: Any) -> tuple[int, str, str]:
    if reply.status_code < 400:
        return reply.status_code, "", ""
    error = reply.json()["error"]
    assert error["requestId"] == reply.headers["X-Request-Id"]
    return reply.status_code, error["type"], error["code"]


def answer(reply: Any) -> tuple[int, Any, dict[str, str]]:
    """All that a caller can see of a reply, apart from what differs from request to request."""
    body = json.loads(reply.content)
    body["error"].pop("requestId")
    passing = {"X-Request-Id", "RateLimit-Remaining", "RateLimit-Reset"}
    return reply.status_code, body, {name: value for name, value in reply.headers.items() if name not in passing}


# --- nobody without a key ----------------------------------------------------------------------------


def assert_refused(found: tuple[int, str, str], call: Callable[[Route], Any], routes: Iterable[Route] = ROUTES) -> None:
    """Each of these routes, asked one after the other, refuses so, and all of them together change nothing."""
    before = everything()
    refused = {str(route): refusal(call(route)) for route in routes}
    assert refused == dict.fromkeys(refused, found)
    assert everything() == before


@every_environment
def test_without_a_key(world: World, environment: Environment) -> None:
    assert_refused((401, "authentication_error", "key_missing"), lambda route: route.call(None, environment, world.own))


@every_environment
def test_with_a_bad_secret(world: World, environment: Environment) -> None:
    issued, other = make_key(world.merchant, environment), make_key(environment=environment)
    for secret in (other.secret, issued.secret[:-1], "x"):

        def guess(route: Route, secret: str = secret) -> Any:
            AttemptCount.objects.all().delete()  # or after some of them the others are not looked at
            return route.call(issued, environment, world.own, **{"X-Api-Secret": secret})

        assert_refused((401, "authentication_error", "key_invalid"), guess)


@every_environment
def test_with_a_revoked_key(world: World, environment: Environment) -> None:
    issued = make_key(world.merchant, environment)
    revoke_api_key(key=issued.key)
    assert_refused(
        (401, "authentication_error", "key_invalid"), lambda route: route.call(issued, environment, world.own)
    )


@every_environment
def test_with_an_expired_key(world: World, environment: Environment) -> None:
    issued = make_key(world.merchant, environment, expires_at=timezone.now() + timedelta(days=1))
    ApiKey.objects.filter(pk=issued.key.pk).update(expires_at=timezone.now())
    assert_refused(
        (401, "authentication_error", "key_expired"), lambda route: route.call(issued, environment, world.own)
    )


@every_environment
def test_with_a_key_of_the_other_environment(world: World, environment: Environment) -> None:
    issued = make_key(world.merchant, PRODUCTION if environment == SANDBOX else SANDBOX)
    assert_refused(
        (401, "authentication_error", "key_wrong_environment"),
        lambda route: route.call(issued, environment, world.own),
    )


@every_environment
def test_with_a_cookie_only(world: World, environment: Environment) -> None:
    member = make_member(world.merchant, role=Role.OWNER)
    member.user.is_staff = member.user.is_superuser = True
    member.user.save()
    client = Client()
    assert client.login(username=member.user.email, password=PASSWORD)
    assert_refused(
        (401, "authentication_error", "key_missing"),
        lambda route: route.call_with(client, environment, world.own, {}),
    )


# --- each scope --------------------------------------------------------------------------------------


def assert_let_through(issued: IssuedKey, world: World, routes: Iterable[Route]) -> None:
    """Each of these routes does what it is for. What it changed is undone before the next one is asked."""
    for route in routes:
        before = transaction.savepoint()
        reply = route.call(issued, SANDBOX, world.own)
        assert reply.status_code == route.succeeds_with, (str(route), reply.content)
        transaction.savepoint_rollback(before)


@pytest.mark.parametrize("scope", Scope)
def test_with_each_scope_alone(world: World, scope: Scope) -> None:
    issued = make_key(world.merchant, scopes=[scope])
    assert_refused(
        (403, "permission_error", "insufficient_scope"),
        lambda route: route.call(issued, SANDBOX, world.own),
        [route for route in ROUTES if not allows([scope], route.scope)],
    )
    assert_let_through(issued, world, [route for route in ROUTES if allows([scope], route.scope)])


def test_with_all_scopes_but_the_one_it_needs(world: World) -> None:
    keys = {
        needed: make_key(world.merchant, scopes=[scope for scope in Scope if not allows([scope], needed)])
        for needed in Scope
    }
    assert_refused(
        (403, "permission_error", "insufficient_scope"),
        lambda route: route.call(keys[route.scope], SANDBOX, world.own),
    )


def test_with_full_access(world: World) -> None:
    assert_let_through(make_key(world.merchant), world, ROUTES)


def test_every_route_refuses_a_query_parameter_that_it_does_not_know(world: World) -> None:
    headers = key_headers(make_key(world.merchant))
    assert_refused(
        (400, "invalid_request_error", "unknown_parameter"),
        lambda route: route.call_with(Client(), SANDBOX, world.own, headers, f"{route.query or '?'}&every=1"),
    )


# --- somebody else's records -------------------------------------------------------------------------


SPOILED: list[Callable[[str], str]] = [
    lambda known: "nonsense",
    lambda known: f"{known[:3]}_",
    lambda known: f"mer{known[3:]}",
    str.upper,
    lambda known: f"{known}0",
    lambda known: f"{known}%00",
]
"""What somebody may make of an id. A hint about its form is the same whether or not anything has the id."""


@routes_with_records
def test_another_merchant_s_id_answers_exactly_as_an_unknown_one(world: World, route: Route) -> None:
    issued = make_key(world.merchant)
    before = everything()
    unknown = route.call(issued, SANDBOX, world.unknown())
    assert refusal(unknown) == (404, "not_found_error", "resource_missing")
    assert answer(route.call(issued, SANDBOX, world.foreign)) == answer(unknown)
    for name in route.records:
        for spoil in SPOILED:
            replies = [
                route.call(issued, SANDBOX, dict.fromkeys(KINDS, spoil(known[name])))
                for known in (world.own, world.unknown())
            ]
            assert answer(replies[0]) == answer(replies[1]), spoil(world.own[name])
            assert refusal(replies[0]) == (404, "not_found_error", "resource_missing")
    assert everything() == before


@routes_with_records
def test_an_id_of_the_other_environment_answers_exactly_as_an_unknown_one(world: World, route: Route) -> None:
    issued = make_key(world.merchant, PRODUCTION)
    before = everything()
    unknown = route.call(issued, PRODUCTION, world.unknown())
    assert refusal(unknown) == (404, "not_found_error", "resource_missing")
    assert answer(route.call(issued, PRODUCTION, world.own)) == answer(unknown)
    assert everything() == before


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/payments", "payment_id"),
        ("/payments/<str:payment_id>/timeline", "payment_id"),
        ("/payments/<str:payment_id>/discrepancies", "discrepancy_id"),
        ("/refunds", "refund_id"),
        ("/settlements", "settlement_id"),
        ("/invoices", "invoice_id"),
        ("/webhooks", "webhook_id"),
        ("/events", "event_id"),
        ("/deliveries", "delivery_id"),
        ("/requests", "logged_id"),
    ],
)
def test_another_merchant_s_id_as_a_cursor_answers_exactly_as_an_unknown_one(
    world: World, path: str, kind: str
) -> None:
    client = api_client(make_key(world.merchant))
    path = re.sub(r"<str:(\w+)>", lambda found: world.own[found[1]], path)
    replies = [
        client.call("GET", f"{path}?starting_after={cursors[kind]}") for cursors in (world.foreign, world.unknown())
    ]
    assert answer(replies[0]) == answer(replies[1])
    assert refusal(replies[0])[0] == 400


def test_lists_and_records_show_nothing_of_anybody_else(world: World) -> None:
    for environment in Environment:
        issued = make_key(world.merchant, environment)
        for route in ROUTES:
            if route.method == "GET":
                shown = route.call(issued, environment, world.own).getvalue().decode()
                assert not [secret for secret in world.foreign_secrets if secret in shown], str(route)


def test_what_is_public_needs_no_key_and_names_nobody(world: World) -> None:
    for base in BASES.values():
        reply = Client().get(f"{base}openapi.json")
        assert reply.status_code == 200
        assert world.merchant.public_id not in reply.content.decode()
