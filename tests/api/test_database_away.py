"""While the database is away, whoever asks hears 503 and when to ask again: programs as JSON, people on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, connections
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from payments.models import Payment
from tests.api.errors import check_error
from tests.dashboard.addresses import READS, UNKNOWN, WRITES
from tests.factories import PASSWORD, api_client, key_headers, make_key, make_member, make_merchant
from tests.test_routes import PAYMENT

SESSION = {"ballast_session": "k" * 32}
PAGES = ["/pay/{payment}", "/pay/{payment}/status", "/pay/{payment}/claim", "/admin/", *READS]


def page(path: str) -> str:
    return path.format(**UNKNOWN)


def check_page(response: Any) -> None:
    assert response.status_code == 503, response.request["PATH_INFO"]
    assert response.headers["Retry-After"] == "2"
    assert "Ballast is not available right now" in response.text
    assert "no-store" in response.headers["Cache-Control"]


def check_api(response: Any) -> None:
    error = check_error(response)
    assert (response.status_code, error["type"], error["code"]) == (503, "api_error", "service_unavailable")
    assert response.headers["Retry-After"] == "2"


@pytest.fixture
def without_database(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Nobody listens where the database should be."""
    usable = connections["default"]
    broken = usable.copy()
    broken.settings_dict["HOST"] = "/nowhere"
    connections["default"] = broken
    try:
        with django_db_blocker.unblock():
            yield
    finally:
        connections["default"] = usable


@pytest.mark.usefixtures("without_database")
class TestNobodyListens:
    def test_a_page_is_asked_for(self) -> None:
        for path in PAGES:
            browser = Client(raise_request_exception=False)
            browser.cookies.load(SESSION)
            check_page(browser.get(page(path)))

    def test_a_form_is_sent(self) -> None:
        for path in ("/login", "/admin/login/", *WRITES):
            browser = Client(raise_request_exception=False)
            browser.cookies.load(SESSION)
            check_page(browser.post(page(path), {"username": "ada@example.com", "password": PASSWORD}))

    @pytest.mark.parametrize(("prefix", "kind"), [("/v1", "live"), ("/sandbox/v1", "test")])
    @pytest.mark.parametrize(("method", "path"), [("GET", "/payments"), ("POST", "/payments"), ("GET", "/balance")])
    def test_the_api_is_asked(self, prefix: str, kind: str, method: str, path: str) -> None:
        headers = {"Authorization": f"Bearer pk_{kind}_{'a' * 43}", "X-Api-Secret": f"sk_{kind}_{'a' * 43}"}
        client = Client(raise_request_exception=False, headers=headers)
        check_api(client.generic(method, prefix + path, b"{}", content_type="application/json"))


@contextmanager
def lost_after(number: int) -> Iterator[list[str]]:
    """The server ends the session after so many statements; what was sent of them."""
    sent: list[str] = []
    session = connection.connection
    parameters = connection.get_connection_params()
    parameters = {
        name: parameters[name] for name in ("host", "port", "user", "password", "dbname") if name in parameters
    }

    def end() -> None:
        with psycopg.connect(**parameters, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 2000)", [session.info.backend_pid])

    def send(execute: Callable[..., Any], statement: str, *arguments: Any) -> Any:
        result = execute(statement, *arguments)
        sent.append(statement)
        if len(sent) == number:
            end()
        return result

    if number == 0:
        end()
    with connection.execute_wrapper(send):
        yield sent
    connection.close()


@pytest.mark.django_db(transaction=True)
class TestLostOnTheWay:
    def test_wherever_it_is_lost_the_request_can_be_sent_again(self) -> None:
        client = api_client(make_key())
        client.raise_request_exception = False
        client.call("POST", "/payments", json_body=PAYMENT)
        lost = 0
        for number in range(100):
            connection.ensure_connection()
            headers: Any = {"HTTP_IDEMPOTENCY_KEY": f"order-{number}"}
            with lost_after(number) as sent:
                response = client.call("POST", "/payments", json_body=PAYMENT, **headers)
            if len(sent) < number:
                assert response.status_code == 201
                break
            check_api(response)
            before = Payment.objects.count()
            assert client.call("POST", "/payments", json_body=PAYMENT, **headers).status_code == 201
            assert Payment.objects.count() == before + 1
            lost += 1
        assert lost > 5

    def test_wherever_it_is_lost_the_page_says_so(self) -> None:
        browser = Client(raise_request_exception=False)
        browser.force_login(make_member(make_merchant()).user)
        for number in range(100):
            connection.ensure_connection()
            with lost_after(number) as sent:
                response = browser.get("/dashboard/payments")
            if len(sent) < number:
                assert response.status_code == 200
                break
            if len(sent) == number and response.status_code == 200:
                continue  # it was the last statement: nothing was left to ask
            check_page(response)
        assert number > 3


@pytest.mark.django_db(transaction=True)
def test_a_standby_that_takes_no_writes(client: Client) -> None:
    issued = make_key()
    browser = Client(raise_request_exception=False)
    browser.force_login(make_member(make_merchant()).user)
    caller = Client(raise_request_exception=False, headers=key_headers(issued))
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        check_api(caller.post("/sandbox/v1/payments", PAYMENT, content_type="application/json"))
        check_page(browser.post("/dashboard/webhooks/new", {"url": "https://mine.example/", "events": "*"}))
    finally:
        connection.close()
    assert not Payment.objects.exists()
