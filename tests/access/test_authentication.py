"""401 and 403 on the way in: every code, in the order in which they are decided."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config.environments import Environment
from merchants.access import attempts
from merchants.models import ApiKey, AttemptCount
from merchants.services import IssuedKey, revoke_api_key
from tests.factories import PASSWORD, ApiClient, api_client, key_headers, make_key, make_member, suspend

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.access.probe")]


def get(headers: dict[str, str], *, environment: Environment = Environment.SANDBOX, **extra: Any) -> Any:
    base = "/sandbox/v1" if environment == Environment.SANDBOX else "/v1"
    return Client(headers=headers).get(f"{base}/probe", **extra)


def outcome(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]["code"]


class Clock:
    """Moves the time that authentication sees."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = timezone.now()
        monkeypatch.setattr("merchants.access.authentication.timezone.now", lambda: self.now)

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("environment", Environment)
def test_a_key_acts_for_its_merchant_in_its_environment(environment: Environment) -> None:
    issued = make_key(environment=environment, name="Shop")
    reply = get(key_headers(issued), environment=environment)
    assert reply.status_code == 200
    assert reply.json() == {
        "merchant": issued.key.merchant.public_id,
        "environment": environment.value,
        "key": "Shop",
    }


def test_a_known_key_costs_one_query(django_assert_num_queries: Any) -> None:
    issued = make_key()
    get(key_headers(issued))
    with django_assert_num_queries(1):
        assert get(key_headers(issued)).status_code == 200


def without(name: str) -> Any:
    return lambda issued: {key: value for key, value in key_headers(issued).items() if key != name}


def with_authorization(text: str) -> Any:
    return lambda issued: {**key_headers(issued), "Authorization": text.replace("PK", issued.key.public_key)}


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        (lambda issued: {}, "key_missing"),
        (without("Authorization"), "key_missing"),
        (without("X-Api-Secret"), "key_missing"),
        (with_authorization("PK"), "key_missing"),
        (with_authorization("Basic PK"), "key_missing"),
        (with_authorization("Bearer"), "key_missing"),
        (with_authorization("Bearer  "), "key_missing"),
        (with_authorization("Bearer PKx"), "key_invalid"),
        (with_authorization("Bearer PK,PK"), "key_invalid"),
        (with_authorization("Bearer pk_test_"), "key_invalid"),
        (with_authorization("Bearer pk_test_\0"), "key_invalid"),
        (with_authorization("Bearer hello"), "key_invalid"),
        (with_authorization("Bearer pk_test_" + "x" * 10_000), "key_invalid"),
        (lambda issued: {**key_headers(issued), "X-Api-Secret": "x" * 10_000}, "key_invalid"),
        (lambda issued: {**key_headers(issued), "X-Api-Secret": issued.secret + "x"}, "key_invalid"),
        (lambda issued: {**key_headers(issued), "X-Api-Secret": issued.secret.swapcase()}, "key_invalid"),
        (lambda issued: {**key_headers(issued), "X-Api-Secret": issued.key.public_key}, "key_invalid"),
    ],
)
def test_a_missing_or_wrong_key_is_401(headers: Any, code: str) -> None:
    reply = get(headers(make_key()))
    assert outcome(reply) == (401, code)
    assert reply.json()["error"]["type"] == "authentication_error"
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")


def test_the_scheme_is_read_in_any_case() -> None:
    issued = make_key()
    assert get(with_authorization("bearer PK")(issued)).status_code == 200


def test_unknown_deleted_and_wrong_secrets_are_answered_alike() -> None:
    known, deleted, other = make_key(), make_key(), make_key()
    revoke_api_key(key=deleted.key)
    unknown = {"Authorization": "Bearer pk_test_" + "0" * 43, "X-Api-Secret": known.secret}
    wrong = {**key_headers(known), "X-Api-Secret": other.secret}
    replies = [get(headers) for headers in (unknown, wrong, key_headers(deleted))]
    assert [reply.status_code for reply in replies] == [401, 401, 401]
    bodies = [{**reply.json()["error"], "requestId": None} for reply in replies]
    assert bodies[0] == bodies[1] == bodies[2]
    assert bodies[0]["code"] == "key_invalid"


def test_a_deleted_key_is_refused_by_the_next_request() -> None:
    issued = make_key()
    client = api_client(issued)
    assert client.call("GET", "/probe").status_code == 200
    revoke_api_key(key=issued.key)
    assert client.call("GET", "/probe").status_code == 401


@pytest.mark.parametrize("environment", Environment)
def test_a_key_of_the_other_environment_is_told_so(environment: Environment) -> None:
    issued = make_key(environment=environment)
    other = next(each for each in Environment if each != environment)
    assert outcome(get(key_headers(issued), environment=other)) == (401, "key_wrong_environment")


def test_the_stored_environment_counts_and_not_the_prefix_alone() -> None:
    issued = make_key()
    ApiKey.objects.update(environment=Environment.PRODUCTION)
    assert outcome(get(key_headers(issued))) == (401, "key_wrong_environment")


def test_a_key_expires_to_the_moment(clock: Clock) -> None:
    issued = make_key(expires_at=clock.now + timedelta(seconds=10))
    clock.advance(9.999)
    assert get(key_headers(issued)).status_code == 200
    clock.advance(0.001)
    assert outcome(get(key_headers(issued))) == (401, "key_expired")
    wrong = {**key_headers(issued), "X-Api-Secret": "sk_test_x"}
    assert outcome(get(wrong)) == (401, "key_invalid")


@pytest.mark.parametrize(
    ("address", "expected"),
    [("192.0.2.200", 200), ("192.0.3.1", 403), ("2001:db8::1", 200), ("2001:db9::1", 403), ("", 403)],
)
def test_a_key_bound_to_networks_works_only_from_there(address: str, expected: int) -> None:
    issued = make_key(allowed_networks=["192.0.2.0/24", "2001:db8::/32"])
    reply = get(key_headers(issued), REMOTE_ADDR=address)
    assert reply.status_code == expected
    if expected == 403:
        assert reply.json()["error"]["type"] == "permission_error"
        assert outcome(reply) == (403, "ip_not_allowed")


def test_a_suspended_merchant_is_refused() -> None:
    issued = make_key()
    suspend(issued.key.merchant)
    assert outcome(get(key_headers(issued))) == (403, "merchant_inactive")


@pytest.mark.parametrize("is_staff", [False, True])
def test_a_cookie_alone_is_no_key(is_staff: bool) -> None:
    member = make_member()
    member.user.is_staff = is_staff
    member.user.save()
    client = Client()
    assert client.login(username=member.user.email, password=PASSWORD)
    assert outcome(client.get("/sandbox/v1/probe")) == (401, "key_missing")
    assert outcome(client.post("/sandbox/v1/probe", "{}", content_type="application/json")) == (401, "key_missing")


class TestLastUse:
    def test_it_is_noted_at_most_once_a_minute(self, clock: Clock, django_assert_num_queries: Any) -> None:
        issued = make_key()
        get(key_headers(issued))
        first = ApiKey.objects.get().last_used_at
        assert first == clock.now
        clock.advance(59)
        with django_assert_num_queries(1):
            get(key_headers(issued))
        assert ApiKey.objects.get().last_used_at == first
        clock.advance(1)
        get(key_headers(issued))
        assert ApiKey.objects.get().last_used_at == clock.now

    def test_a_refused_request_is_no_use(self) -> None:
        issued = make_key()
        get({**key_headers(issued), "X-Api-Secret": "sk_test_x"})
        assert ApiKey.objects.get().last_used_at is None


class TestGuessing:
    FROM = "198.51.100.9"

    def guess(self, issued: IssuedKey, times: int, address: str = FROM) -> list[tuple[int, str]]:
        wrong = {**key_headers(issued), "X-Api-Secret": f"sk_test_{'x' * 43}"}
        return [outcome(get(wrong, REMOTE_ADDR=address)) for _ in range(times)]

    def test_after_twenty_wrong_keys_wrong_ones_wait_and_the_right_one_beside_them_does_not(self, clock: Clock) -> None:
        issued = make_key()
        assert self.guess(issued, 20) == [(401, "key_invalid")] * 20
        assert self.guess(issued, 30) == [(429, "too_many_bad_keys")] * 30
        assert get(key_headers(issued), REMOTE_ADDR=self.FROM).status_code == 200
        assert self.guess(issued, 1) == [(429, "too_many_bad_keys")]
        clock.advance(61)
        assert self.guess(issued, 1) == [(401, "key_invalid")]

    def test_others_are_not_held_up(self, clock: Clock) -> None:
        issued = make_key()
        self.guess(issued, 25)
        assert get(key_headers(issued), REMOTE_ADDR="198.51.100.10").status_code == 200

    def test_unknown_keys_count_like_wrong_secrets(self, clock: Clock) -> None:
        headers = {"Authorization": f"Bearer pk_test_{'x' * 43}", "X-Api-Secret": f"sk_test_{'x' * 43}"}
        codes = [outcome(get(headers, REMOTE_ADDR=self.FROM))[0] for _ in range(22)]
        assert codes == [401] * 20 + [429] * 2

    def test_many_addresses_guessing_at_one_key_are_slowed_but_its_owner_is_not_locked_out(self, clock: Clock) -> None:
        issued = make_key()
        seen = [self.guess(issued, 10, f"203.0.113.{host}") for host in range(7)]
        assert seen[:6] == [[(401, "key_invalid")] * 10] * 6
        assert seen[6] == [(429, "too_many_bad_keys")] * 10
        assert get(key_headers(issued)).status_code == 200

    def test_a_private_key_sent_as_the_public_one_is_not_kept(self, clock: Clock) -> None:
        issued = make_key()
        headers = {"Authorization": f"Bearer {issued.secret}", "X-Api-Secret": issued.secret}
        assert get(headers).status_code == 401
        assert not AttemptCount.objects.exists()

    def test_an_old_job_with_a_deleted_or_expired_key_is_not_guessing(self, clock: Clock) -> None:
        deleted, expired = make_key(), make_key(expires_at=clock.now + timedelta(seconds=1))
        revoke_api_key(key=deleted.key)
        clock.advance(2)
        for _ in range(30):
            get(key_headers(deleted))
            get(key_headers(expired))
        assert not AttemptCount.objects.exists()

    def test_counts_are_dropped_when_nobody_waits_for_them(self, clock: Clock) -> None:
        self.guess(make_key(), 1)
        assert attempts.purge(before=clock.now) == 0
        assert attempts.purge(before=clock.now + timedelta(seconds=1)) == 2


def test_methods_a_view_does_not_have_are_405_and_only_for_those_with_a_key() -> None:
    issued = make_key()
    client: ApiClient = api_client(issued)
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert client.call(method, "/probe").status_code == 405, method
        without_key = 405 if method == "OPTIONS" else 401  # a browser asks before it sends one
        assert api_client().call(method, "/probe").status_code == without_key, method
    assert client.call("HEAD", "/probe").status_code == 200
