"""Never more than the budget in any 60 seconds, never less than the budget, and a true Retry-After."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import redis
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from config.environments import Environment
from merchants.access import throttling
from merchants.access.throttling import Budget, FallbackLog, LocalLog, RedisLog, requests_per_minute
from merchants.models import Merchant, Plan
from tests.access.redis_server import BINARY, RedisServer
from tests.factories import api_client, key_headers, make_key, make_merchant
from tests.patience import connect_as_ballast_does

WINDOW = 60_000_000  # microseconds

needs_redis = pytest.mark.skipif(BINARY is None, reason="there is no redis-server on this machine")


class Clock:
    """Microseconds that move when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000_000_000

    def __call__(self) -> int:
        return self.now * 1000


# Gaps from none at all to more than a window, so that bursts, steady streams and pauses all appear.
gaps = st.lists(
    st.one_of(st.just(0), st.integers(0, 100), st.integers(0, 3_000_000), st.integers(0, 2 * WINDOW)), max_size=150
)


def accepted_times(log: LocalLog, clock: Clock, moves: list[int], limit: int) -> list[int]:
    """Sends a request after each gap and checks every answer against what was accepted before."""
    accepted: list[int] = []
    for gap in moves:
        clock.now += gap
        recent = [each for each in accepted if each > clock.now - WINDOW]
        budget = log.take("m", limit)
        assert budget.accepted is (len(recent) < limit), "it refuses when and only when the window is full"
        if budget.accepted:
            accepted.append(clock.now)
            assert budget.remaining == limit - len(recent) - 1
        else:
            frees_in = recent[0] + WINDOW - clock.now
            assert budget.remaining == 0
            assert 0 <= budget.reset_seconds * 1_000_000 - frees_in < 1_000_000, "Retry-After is true to the second"
    return accepted


@given(moves=gaps, limit=st.integers(1, 7))
@settings(max_examples=300)
def test_no_window_ever_holds_more_than_the_budget(moves: list[int], limit: int) -> None:
    clock = Clock()
    accepted = accepted_times(LocalLog(clock=clock), clock, moves, limit)
    for first, next_but in zip(accepted, accepted[limit:], strict=False):
        assert next_but - first >= WINDOW


def test_a_hundred_at_once_then_one_for_each_that_leaves() -> None:
    clock, limit = Clock(), 100
    log = LocalLog(clock=clock)
    moves = [10_000] * 100  # one second of 100 requests
    assert len(accepted_times(log, clock, moves, limit)) == 100
    refused = log.take("m", limit)
    assert (refused.accepted, refused.reset_seconds) == (False, 60)
    clock.now += 59_000_000
    assert not log.take("m", limit).accepted
    clock.now += 10_000
    assert log.take("m", limit).accepted
    assert not log.take("m", limit).accepted


def test_a_waiting_client_that_obeys_retry_after_is_accepted_next_time() -> None:
    clock = Clock()
    log = LocalLog(clock=clock)
    for _ in range(500):
        budget = log.take("m", 3)
        if not budget.accepted:
            clock.now += (budget.reset_seconds - 1) * 1_000_000 - 1
            assert not log.take("m", 3).accepted
            clock.now += 1_000_001
            assert log.take("m", 3).accepted
        clock.now += 777_777


def test_a_smaller_budget_takes_effect_at_once() -> None:
    clock = Clock()
    log = LocalLog(clock=clock)
    for _ in range(10):
        log.take("m", 10)
        clock.now += 1_000_000
    refused = log.take("m", 4)
    assert (refused.accepted, refused.reset_seconds) == (False, 56)
    clock.now += refused.reset_seconds * 1_000_000
    assert log.take("m", 4).accepted


def test_several_processes_give_out_shares_of_one_budget() -> None:
    clock = Clock()
    processes = [LocalLog(processes=3, clock=clock) for _ in range(3)]
    accepted = sum(process.take("m", 100).accepted for process in processes for _ in range(100))
    assert accepted == 99
    assert LocalLog(processes=8, clock=clock).take("m", 1).accepted


def test_quiet_merchants_are_forgotten() -> None:
    clock = Clock()
    log = LocalLog(clock=clock)
    for number in range(1000):
        log.take(f"m{number}", 5)
    clock.now += WINDOW + 1
    log.take("other", 5)
    assert list(log._accepted) == ["other"]


def test_names_do_not_share() -> None:
    log = LocalLog(clock=Clock())
    assert [log.take(name, 1).accepted for name in "abab"] == [True, True, False, False]


@pytest.mark.parametrize(
    ("plan", "own", "environment", "expected"),
    [
        (Plan.STARTER, None, Environment.SANDBOX, 100),
        (Plan.ENTERPRISE, 9000, Environment.SANDBOX, 100),
        (Plan.STARTER, None, Environment.PRODUCTION, 500),
        (Plan.STARTER, 9000, Environment.PRODUCTION, 500),
        (Plan.BUSINESS, None, Environment.PRODUCTION, 2000),
        (Plan.ENTERPRISE, None, Environment.PRODUCTION, 2000),
        (Plan.ENTERPRISE, 9000, Environment.PRODUCTION, 9000),
    ],
)
def test_the_budget_follows_the_plan(plan: str, own: int | None, environment: Environment, expected: int) -> None:
    assert requests_per_minute(Merchant(plan=plan, requests_per_minute=own), environment) == expected


def test_an_operator_may_give_the_sandbox_another_budget(settings: Settings) -> None:
    settings.SANDBOX_REQUESTS_PER_MINUTE = 7
    assert requests_per_minute(Merchant(plan=Plan.STARTER), Environment.SANDBOX) == 7


# --- Redis -------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[RedisServer]:
    server = RedisServer()
    server.start()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RedisServer]:
    server = RedisServer()
    server.start()
    yield server
    server.remove()


@needs_redis
@given(moves=gaps, limit=st.integers(1, 7), smaller=st.integers(1, 7))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_redis_decides_exactly_as_the_process_does(
    shared_server: RedisServer, moves: list[int], limit: int, smaller: int
) -> None:
    """The script itself, in a real Redis, with its clock replaced by one that the test moves."""
    client = redis.Redis.from_url(shared_server.url)
    client.flushall()
    take = client.register_script(throttling._TAKE.replace("redis.call('TIME')", "{ARGV[3], ARGV[4]}"))
    clock = Clock()
    local = LocalLog(clock=clock)
    for number, gap in enumerate(moves):
        clock.now += gap
        budget = limit if number < 100 else smaller
        seconds, microseconds = divmod(clock.now, 1_000_000)
        accepted, remaining, frees_in = take(keys=["k"], args=[budget, WINDOW, seconds, microseconds])
        expected = local.take("m", budget)
        assert Budget(budget, remaining, throttling._seconds(frees_in), bool(accepted)) == expected


@needs_redis
def test_redis_keeps_the_budget_against_threads(shared_server: RedisServer) -> None:
    log = RedisLog(shared_server.url, window_seconds=0.5)
    log.take("warm", 1)
    limit, begun = 20, time.monotonic()
    accepted: list[float] = []

    def hammer() -> None:
        while len(accepted) < 4 * limit and time.monotonic() < begun + 60:
            try:
                if log.take("threads", limit).accepted:
                    accepted.append(time.monotonic())
            except redis.RedisError:  # a machine too busy to answer within 50 ms
                time.sleep(0.01)

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lasted = time.monotonic() - begun
    assert 4 * limit <= len(accepted) <= limit * (int(lasted / 0.5) + 1)


@needs_redis
def test_redis_forgets_a_quiet_merchant_by_itself(shared_server: RedisServer) -> None:
    begun = time.monotonic()
    RedisLog(shared_server.url).take("quiet", 5)
    remaining = redis.Redis.from_url(shared_server.url).pttl("ballast:rate:quiet")
    lasted = (time.monotonic() - begun) * 1000
    assert 61_000 - lasted - 1 <= int(str(remaining)) <= 61_000


@needs_redis
def test_requests_flow_when_redis_is_killed_and_return_to_it_when_it_is_back(server: RedisServer) -> None:
    seconds = 0.0
    log = FallbackLog(RedisLog(server.url), LocalLog(), clock=lambda: seconds)
    limit = 50
    before = sum(log.take("m", limit).accepted for _ in range(limit + 10))
    server.kill()
    during = [log.take("m", limit) for _ in range(limit + 10)]
    assert before == limit
    assert sum(budget.accepted for budget in during) == limit  # at most twice the budget in all
    server.start()
    assert not log.take("m", limit).accepted, "it does not ask Redis again before the rest is over"
    seconds += 5
    assert log.take("m", limit).accepted
    assert log.take("m", limit).remaining == limit - 2


@needs_redis
def test_a_hanging_redis_costs_one_short_wait_and_then_nothing(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis.connection.AbstractConnection, "connect", connect_as_ballast_does)
    asked = []

    class Counted(RedisLog):
        def take(self, name: str, limit: int) -> Budget:
            asked.append(name)
            return super().take(name, limit)

    log = FallbackLog(Counted(server.url), LocalLog(), clock=lambda: 0.0)
    server.freeze()
    begun = time.perf_counter()
    for _ in range(50):
        assert log.take("m", 1000).accepted
    assert len(asked) == 1
    assert time.perf_counter() - begun < 30, "it waited for more than 50 ms, and would have for ever"


@pytest.mark.parametrize(("processes", "share"), [(1, 100), (2, 50)])
def test_without_redis_each_process_keeps_a_log_of_its_share(processes: int, share: int) -> None:
    with override_settings(REDIS_URL="", WEB_PROCESSES=processes):
        accepted = [throttling.log().take("sandbox:m", 100).accepted for _ in range(101)]
    assert accepted == [True] * share + [False] * (101 - share)


def test_with_redis_the_log_is_there_with_a_fallback() -> None:
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        assert isinstance(throttling.log(), FallbackLog)
        assert throttling.take(Merchant(), Environment.SANDBOX).remaining == 99


# --- through requests --------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.urls("tests.access.probe")
class TestRequests:
    def headers(self, reply: Any) -> tuple[str | None, ...]:
        names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "Retry-After")
        return tuple(reply.headers.get(name) for name in names)

    def test_the_sandbox_answers_a_hundred_and_refuses_the_next(self) -> None:
        client = api_client(make_key())
        replies = [client.call("GET", "/probe") for _ in range(101)]
        assert [reply.status_code for reply in replies] == [200] * 100 + [429]
        assert self.headers(replies[0]) == ("100", "99", "60", "100;w=60", None)
        left = [int(reply.headers["RateLimit-Remaining"]) for reply in replies[:100]]
        assert all(one - other == 1 for one, other in pairwise(left))
        *limits, retry_after = self.headers(replies[100])
        assert limits[:2] == ["100", "0"]
        assert limits[2] == retry_after
        assert 50 <= int(str(retry_after)) <= 60
        error = replies[100].json()["error"]
        assert (error["type"], error["code"]) == ("rate_limit_error", "rate_limit_exceeded")

    def test_all_keys_of_a_merchant_share_the_budget_and_nobody_else_does(self) -> None:
        merchant = make_merchant()
        first, second = api_client(make_key(merchant)), api_client(make_key(merchant))
        live, other = api_client(make_key(merchant, Environment.PRODUCTION)), api_client(make_key())
        for client in (first, second):
            for _ in range(50):
                assert client.call("GET", "/probe").status_code == 200
        assert [client.call("GET", "/probe").status_code for client in (first, second, live, other)] == [
            429,
            429,
            200,
            200,
        ]

    def test_refusals_after_the_key_count_and_carry_the_headers(self) -> None:
        merchant = make_merchant()
        limited = api_client(make_key(merchant, scopes=["refunds:read"]))
        forbidden = limited.call("GET", "/probe")
        unacceptable = api_client(make_key(merchant)).call("POST", "/probe", json_body={"name": ""})
        missing = api_client(make_key(merchant)).call("PUT", "/probe")
        assert [reply.status_code for reply in (forbidden, unacceptable, missing)] == [403, 400, 405]
        assert [self.headers(reply)[1] for reply in (forbidden, unacceptable, missing)] == ["99", "98", "97"]

    def test_a_wrong_key_takes_nothing_from_the_budget_of_its_owner(self) -> None:
        issued = make_key()
        wrong = api_client().call("GET", "/probe", headers={**key_headers(issued), "X-Api-Secret": "sk_test_x"})
        assert self.headers(wrong) == (None,) * 5
        assert api_client(issued).call("GET", "/probe").headers["RateLimit-Remaining"] == "99"

    @needs_redis
    def test_no_request_fails_when_redis_dies_in_the_middle(self, server: RedisServer) -> None:
        client = api_client(make_key())
        with override_settings(REDIS_URL=server.url):
            throttling.log.cache_clear()
            first = [client.call("GET", "/probe").status_code for _ in range(120)]
            server.kill()
            second = [client.call("GET", "/probe").status_code for _ in range(120)]
        assert (first.count(200), second.count(200)) == (100, 100)
        assert set(first + second) == {200, 429}
