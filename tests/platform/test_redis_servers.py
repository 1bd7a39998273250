"""Every form of REDIS_URL against real servers: broker, cache and rate limiter, with TLS and through sentinels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

import pytest
import redis

from config.periodic.redis_servers import RedisAddressInvalid, RedisServers
from tests.access.redis_server import BINARY, PASSWORD, Certificates, RedisServer
from tests.patience import until
from tests.platform.forks import run_in_fork

pytestmark = pytest.mark.slow

SERVICE = "ballast"
SENTINEL_PASSWORD = "another"
ALL_OF_IT = ["cache kept b'\"kept\"'", "limiter 4", "waiting True False", "broker payments.assess_due"]

needs_redis = pytest.mark.skipif(BINARY is None, reason="there is no redis-server on this machine")


def probe(address: str) -> tuple[list[str], str]:
    """What a process with this REDIS_URL got done, and what it wrote to its log."""
    done = run_in_fork("-m", "tests.platform.redis_probe", environment={**os.environ, "REDIS_URL": address})
    return done.stdout.splitlines(), done.stderr


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as running:
        yield running


def started(servers: ExitStack, server: RedisServer) -> RedisServer:
    servers.callback(server.remove)
    server.start()
    return server


def with_sentinel(
    servers: ExitStack, certificates: Certificates | None, *, silent_seconds: int
) -> tuple[str, RedisServer]:
    """A leader with a replica, and of three sentinels the one that runs: the address, and the leader.

    The sentinel takes the leader for dead when it has heard nothing of it for so many seconds.
    """
    at_once = "repl-diskless-sync-delay 0"
    leader = started(servers, RedisServer(at_once, certificates=certificates, password=PASSWORD))
    follows = f"replicaof 127.0.0.1 {leader.port}"
    replica = started(servers, RedisServer(follows, certificates=certificates, password=PASSWORD))
    until_it_works(lambda: redis.Redis.from_url(replica.url).info("replication")["master_link_status"] == "up")
    watch = (
        f"sentinel monitor {SERVICE} 127.0.0.1 {leader.port} 1",
        f'sentinel auth-pass {SERVICE} "{PASSWORD}"',
        f"sentinel down-after-milliseconds {SERVICE} {silent_seconds * 1000}",
        f"sentinel failover-timeout {SERVICE} 3000",
    )
    sentinel = started(servers, RedisServer(*watch, certificates=certificates, password=SENTINEL_PASSWORD))
    asked = redis.Redis.from_url(sentinel.url)
    until_it_works(lambda: [each["port"] for each in asked.sentinel_slaves(SERVICE)] == [replica.port])
    scheme, query = ("sentinels", f"&ssl_ca_certs={certificates.authority}") if certificates else ("sentinel", "")
    place = f"127.0.0.1:1,127.0.0.1:{sentinel.port},[::1]:1/0"
    query = f"service_name={SERVICE}&sentinel_password={SENTINEL_PASSWORD}{query}"
    return f"{scheme}://:{quote(PASSWORD, safe='')}@{place}?{query}", leader


def until_it_works(condition: Callable[[], bool]) -> None:
    """Wait for servers that refuse or err meanwhile."""

    def works() -> bool:
        with suppress(redis.RedisError):
            return condition()
        return False

    until(works)


@needs_redis
@pytest.mark.parametrize("password", ["", PASSWORD])
def test_a_server_with_a_certificate_of_a_known_authority(
    servers: ExitStack, certificates: Certificates, password: str
) -> None:
    server = started(servers, RedisServer(certificates=certificates, password=password))
    done, log = probe(server.url)
    assert done == ALL_OF_IT, log
    assert log == "", "no warning either"


@needs_redis
def test_a_server_whose_certificate_nobody_vouches_for_is_not_believed(
    servers: ExitStack, certificates: Certificates
) -> None:
    server = started(servers, RedisServer(certificates=certificates))
    address, _, _ = server.url.partition("?")
    done, log = probe(address)
    assert done == []
    assert "certificate verify failed" in log
    client = RedisServers.parse(f"{address}?ssl_cert_reqs=none").client()
    assert client.ping(), "unless the address says that it need not be checked"


@needs_redis
def test_sentinels_say_who_leads(servers: ExitStack) -> None:
    address, _ = with_sentinel(servers, None, silent_seconds=600)
    done, log = probe(address)
    assert done == ALL_OF_IT, log
    assert log == ""


@needs_redis
def test_sentinels_over_tls_say_who_leads_after_the_leader_died(servers: ExitStack, certificates: Certificates) -> None:
    address, leader = with_sentinel(servers, certificates, silent_seconds=2)
    client = RedisServers.parse(address).client(socket_timeout=5)
    until_it_works(lambda: bool(client.set("written", "before")))
    leader.kill()
    until_it_works(lambda: bool(client.set("written", "after the leader died")))
    # The sentinel names the new leader a moment before it vouches for it to whoever asks anew.
    until_it_works(lambda: all(RedisServers.parse(address).client(socket_timeout=5).ping() for _ in range(10)))

    done, log = probe(address)

    assert done == ALL_OF_IT, log
    assert log == ""


@needs_redis
def test_a_socket_on_this_machine(servers: ExitStack, tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    started(servers, RedisServer(f"unixsocket {path}"))
    done, log = probe(f"unix://{path}?db=3")
    assert done == ALL_OF_IT, log


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("localhost", "is not a Redis address"),
        ("http://localhost", "is not a Redis address"),
        ("redis://:hunter2@", "has a host or a port that cannot be"),
        ("redis://:hunter2@host:0/0", "has a host or a port that cannot be"),
        ("redis://:hunter2@host:6379/first", "has a database that is not a number"),
        ("redis://:hunter2@one,two/0", "names several servers"),
        ("sentinel://:hunter2@one,two/0", "does not name the service of its sentinels"),
        ("redis://:hunter2@host/0?ssl_cert_reqs=none", "has options that are not known here: ssl_cert_reqs"),
        ("rediss://:hunter2@host/0?ssl_cert_reqs=maybe", "has an ssl_cert_reqs that is not one of"),
        ("rediss://:hunter2@host/0?ssl_check_hostname=maybe", "has an ssl_check_hostname that is neither"),
    ],
)
def test_an_address_that_cannot_be_is_refused_without_its_password(address: str, fault: str) -> None:
    with pytest.raises(RedisAddressInvalid, match=fault) as refusal:
        RedisServers.parse(address)
    assert "hunter2" not in str(refusal.value)
