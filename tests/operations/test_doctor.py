"""What doctor says of an installation with a fault, planted for real, and once the fault is mended."""

from __future__ import annotations

import http.server
import io
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from allauth.mfa.models import Authenticator
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client, override_settings
from django.utils import timezone

from config.celery import QUEUES
from config.database.database_time import database_now
from config.doctor import host, registry
from config.doctor.registry import Asked, Finding, Level, ok
from config.installation.backups.keys import fingerprints
from config.installation.backups.records import note
from config.installation.models import BackupRun, Sign
from config.installation.services import look, stand_still
from config.periodic import task_runs
from config.periodic.beat_lock import TICK
from config.periodic.redis_servers import RedisServers
from merchants.ledger.models import ReconcileOutcome, ReconcileRun
from merchants.people.mailing import write_mail
from merchants.people.models import Mail
from merchants.people.sealing import SECOND_FACTORS
from payments.monitoring.models import Alarm, Pulse
from payments.monitoring.states import AlarmKind
from payments.rates.quoting import forget_rates
from tests.factories import make_key, make_merchant, make_user
from tests.ports import free_port
from tests.webhooks.scenes import make_delivery, make_endpoint
from webhooks.models import Attempt, Endpoint

pytestmark = pytest.mark.django_db

HOST = "localhost"
AT_ONCE = Asked(seconds=0)
TASK_OF = {"chain": "payments.watch_networks", "webhooks": "people.send_mails", "money": "transfers.drive"} | {
    "reports": "operations.watch_dangers"
}

Fault = Callable[["World"], AbstractContextManager[object]]


class Front:
    """What stands before Ballast: TLS, and headers that a proxy adds. Behind it is the application itself."""

    def __init__(self, folder: Path) -> None:
        self.adds: dict[str, str] = {"HTTP_X_FORWARDED_PROTO": "https"}
        self.replaces_caller = True
        self.status = 200
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                headers = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in self.headers.items()}
                if outer.replaces_caller:
                    headers["HTTP_X_FORWARDED_FOR"] = self.client_address[0]
                passed_on: dict[str, Any] = {**headers, **outer.adds, "REMOTE_ADDR": "127.0.0.1"}
                reply = Client().get(self.path, **passed_on)
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content)

            def log_message(self, *_: object) -> None:
                """Keeps the output of the tests readable."""

        self.folder = folder
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server.socket = self._context.wrap_socket(self._server.socket, server_side=True)
        self.show(timedelta(days=60))
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def show(self, ends_in: timedelta, name: str = HOST) -> None:
        """Have a certificate that ends then. Who trusts SSL_CERT_FILE trusts it."""
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(now - timedelta(days=90)).not_valid_after(now + ends_in)
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        certificate = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (self.folder / "certificate.pem").write_bytes(certificate)
        (self.folder / "both.pem").write_bytes(certificate + key.private_bytes(*form))
        self._context.load_cert_chain(self.folder / "both.pem")

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    found = Front(tmp_path_factory.mktemp("front"))
    yield found
    found.close()


class World:
    """An installation on which everything is well, and what a test changes of it."""

    def __init__(self, front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
        self.front, self.patch = front, monkeypatch
        self.user = make_user(is_staff=True, is_superuser=True)
        sealed = {"secret": SECOND_FACTORS.seal("a secret")}
        Authenticator.objects.create(user=self.user, type=Authenticator.Type.TOTP, data=sealed)
        self.merchant = make_merchant()
        make_key(self.merchant)
        self.endpoint = make_endpoint(self.merchant)
        write_mail(to="ada@example.com", subject="A mail", text="Hello")
        note(BackupRun.Kind.MADE, name="a.tar", taken_at=database_now(), keys=fingerprints())
        note(BackupRun.Kind.DRILLED, name="a.tar")
        with connection.cursor() as cursor:
            cursor.execute(TICK)
        for queue in QUEUES:
            Pulse.objects.create(kind=task_runs.TASK, subject=TASK_OF[queue], at=database_now())
        Pulse.objects.create(kind=task_runs.BEGAN, at=database_now())


@pytest.fixture
def world(front: Front, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("SSL_CERT_FILE", str(front.folder / "certificate.pem"))
    with override_settings(
        PUBLIC_URL=f"https://{HOST}:{front.port}",
        ALLOWED_HOSTS=[HOST, "testserver"],
        TRUSTED_PROXIES=["127.0.0.1/32"],
        SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
        MAILBOX_IS_SHOWN=False,
        EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend",
        OPERATORS_TO_DECIDE=1,
    ):
        yield World(front, monkeypatch)


def found(*checks: str) -> list[Finding]:
    return list(registry.examine(AT_ONCE, only=checks))


@contextmanager
def changed(of: object, **values: Any) -> Iterator[None]:
    before = {name: getattr(of, name) for name in values}
    for name, value in values.items():
        setattr(of, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(of, name, value)


@contextmanager
def rows(plant: Callable[[World], object], world: World) -> Iterator[None]:
    """Rows of the database, taken back in the end."""
    with transaction.atomic():
        plant(world)
        look_anew()
        yield
        transaction.set_rollback(True)
    look_anew()


def look_anew() -> None:
    """Forget what a process, or a database transaction, remembers."""
    forget_rates()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")


def in_rows(plant: Callable[[World], object]) -> Fault:
    return lambda world: rows(plant, world)


def set_to(**values: Any) -> Fault:
    return lambda world: override_settings(**values)


def front_with(**values: Any) -> Fault:
    return lambda world: changed(world.front, **values)


@contextmanager
def another_certificate(world: World, ends_in: timedelta, name: str = HOST) -> Iterator[None]:
    world.front.show(ends_in, name)
    try:
        yield
    finally:
        world.front.show(timedelta(days=60))


def lose_a_migration(world: World) -> None:
    MigrationRecorder(connection).record_unapplied("webhooks", "0001_tables")


def stop_working(queue: str) -> Fault:
    def plant(world: World) -> None:
        Pulse.objects.filter(subject=TASK_OF[queue]).update(at=F("at") - timedelta(minutes=5))

    return in_rows(plant)


def set_a_clock_back(world: World) -> None:
    Pulse.objects.create(kind=task_runs.CLOCK, subject="money worker a:1", at=Now(), ahead_seconds=-60)


def stop_beat(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', 'ballast', true)")


@contextmanager
def without_prices(world: World) -> Iterator[None]:
    def begin_earlier(world: World) -> None:
        Pulse.objects.filter(kind=task_runs.BEGAN).update(at=F("at") - timedelta(minutes=2))

    with override_settings(RATE_SOURCES=["kraken"]), rows(begin_earlier, world):
        yield


def run_reconcile(world: World) -> None:
    ReconcileRun.objects.create(
        options={"schedule": "quick"},
        checks=[{}],
        outcome=ReconcileOutcome.DISCREPANCY,
        error_count=1,
        finished_at=timezone.now(),
    )


def fail_everywhere(world: World) -> None:
    """Three hosts were called, and none has answered."""
    for number in range(3):
        endpoint = make_endpoint(world.merchant, url=f"https://shop{number}.example.com/hooks")
        delivery = make_delivery(endpoint)
        now = timezone.now()
        Attempt.objects.create(
            id=delivery.pk, delivery=delivery, number=1, started_at=now, duration_milliseconds=5, error="no route"
        )


def stand(world: World) -> None:
    look()
    stand_still(Sign.COPIED, "The tables were made by restoring a dump.")


def put_provider_aside(world: World) -> None:
    Alarm.objects.create(
        environment="production", network="polygon", kind=AlarmKind.PROVIDER_FAILING, subject="a.example", message="503"
    )


LATE = timedelta(hours=1)
SMTP = {"EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend", "EMAIL_HOST": "127.0.0.1"}

OLD_REDIS = {"redis_version": "6.0.16", "role": "master"}

FAULTS: dict[str, tuple[str, str, Level, str, Fault]] = {
    "a migration is pending": (
        *("migrations", "migrations", Level.FAIL, "webhooks.0001_tables"),
        in_rows(lose_a_migration),
    ),
    "the database was restored": ("restored database", "restored database", Level.FAIL, "dump", in_rows(stand)),
    "the last backup failed": (
        *("backups", "backups", Level.FAIL, "the disk is full"),
        in_rows(lambda world: note(BackupRun.Kind.MADE, fault="the disk is full")),
    ),
    "a backup is too old": ("backups", "backups", Level.FAIL, "should be", set_to(BACKUP_MAX_HOURS=1e-9)),
    "no backup is made": (
        *("backups", "backups", Level.WARN, "None has been made"),
        in_rows(lambda world: BackupRun.objects.all().delete()),
    ),
    "no drill is made": (
        *("backups", "backups", Level.WARN, "has been tried"),
        in_rows(lambda world: BackupRun.objects.filter(kind=BackupRun.Kind.DRILLED).delete()),
    ),
    "the clock is wrong": (
        *("clock", "clock", Level.FAIL, "120 s ahead"),
        lambda world: changed(time, time=lambda real=time.time: real() + 120),
    ),
    "the zone is another": (
        *("clock", "clock", Level.WARN, "Asia/Tokyo"),
        in_rows(lambda world: connection.cursor().execute("SET LOCAL TIME ZONE 'Asia/Tokyo'")),
    ),
    "the clock of a process is wrong": (
        *("workers", "clocks of processes", Level.FAIL, "60 s behind"),
        in_rows(
            lambda world: Pulse.objects.create(kind="clock", subject="money worker a:1", at=Now(), ahead_seconds=-60)
        ),
    ),
    "beat is gone": ("workers", "beat", Level.FAIL, "never ticked", in_rows(stop_beat)),
    "no worker sends": ("workers", "worker money", Level.FAIL, "for 5 min", stop_working("money")),
    "no worker reads": ("workers", "worker chain", Level.FAIL, "for 5 min", stop_working("chain")),
    "the disk is full": ("disk", "disk", Level.FAIL, "are free", lambda world: changed(host, DISK_FAILS_BELOW_GB=1e9)),
    "the host is not allowed": (
        *("settings", "settings", Level.FAIL, "ALLOWED_HOSTS lacks localhost"),
        set_to(ALLOWED_HOSTS=["shop.example.com"]),
    ),
    "redis is away": (
        *("redis", "redis", Level.FAIL, "does not answer"),
        set_to(REDIS_SERVERS=RedisServers.parse(f"redis://127.0.0.1:{free_port()}/0")),
    ),
    "redis is too old": (
        *("redis", "redis", Level.FAIL, "6.0.16 is too old"),
        set_to(REDIS_SERVERS=SimpleNamespace(client=lambda **_: Mock(info=lambda: OLD_REDIS))),
    ),
    "the mail server is away": (
        *("mail server", "mail server", Level.FAIL, "Connection refused"),
        set_to(**SMTP, EMAIL_PORT=free_port()),
    ),
    "mails wait": (
        *("mails", "mails", Level.WARN, "1 wait to be sent, the oldest for 60 min"),
        in_rows(lambda world: Mail.objects.update(created_at=F("created_at") - LATE)),
    ),
    "there are too few operators": (
        *("operators", "operators", Level.WARN, "1 of the 2"),
        set_to(OPERATORS_TO_DECIDE=2),
    ),
    "SECRET_KEY is another": ("second factors", "second factors", Level.FAIL, "1 people", set_to(SECRET_KEY="x" * 50)),
    "WEBHOOK_ENCRYPTION_KEY is another": (
        *("webhook secrets", "webhook secrets", Level.FAIL, "1 of 1"),
        set_to(WEBHOOK_ENCRYPTION_KEY="x" * 50),
    ),
    "mails are sealed under another key": (
        *("sealed mails", "sealed mails", Level.FAIL, "1 mails"),
        set_to(WEBHOOK_ENCRYPTION_KEY="x" * 50),
    ),
    "API_KEY_PEPPER is another": ("API keys", "API keys", Level.FAIL, "1 pairs", set_to(API_KEY_PEPPER="x" * 50)),
    "webhooks do not leave": (
        "webhook egress",
        "webhook egress",
        Level.FAIL,
        "None of the 3",
        in_rows(fail_everywhere),
    ),
    "reconcile found something": ("reconcile", "reconcile", Level.FAIL, "1 errors", in_rows(run_reconcile)),
    "a provider has an alarm": ("alarms", "alarm", Level.WARN, "503", in_rows(put_provider_aside)),
    "there are no prices": ("prices", "prices", Level.FAIL, "USDC, USDT, DAI", without_prices),
    "there are no prices yet": ("prices", "prices", Level.WARN, "USDC", set_to(RATE_SOURCES=["kraken"])),
    "nobody answers": (
        *("public address", "public address", Level.FAIL, "does not answer"),
        set_to(PUBLIC_URL=f"https://{HOST}:{free_port()}"),
    ),
    "the name is unknown": (
        *("public address", "public address", Level.FAIL, "is not found"),
        set_to(PUBLIC_URL="https://pay.invalid"),
    ),
    "the proxy finds no web process": (
        *("public address", "public address", Level.FAIL, "answers 502"),
        front_with(status=502),
    ),
    "the certificate has ended": (
        *("public address", "certificate", Level.FAIL, "expired"),
        lambda world: another_certificate(world, timedelta(days=-1)),
    ),
    "the certificate is of another name": (
        *("public address", "certificate", Level.FAIL, "not valid for"),
        lambda world: another_certificate(world, timedelta(days=60), "other.example.com"),
    ),
    "the certificate ends soon": (
        *("public address", "certificate", Level.WARN, "10 days"),
        lambda world: another_certificate(world, timedelta(days=10, hours=1)),
    ),
    "the proxy does not say https": (
        *("public address", "proxy headers", Level.FAIL, "takes the request for http"),
        front_with(adds={}),
    ),
    "the proxy passes on what callers claim": (
        *("public address", "proxy headers", Level.FAIL, "Anybody can choose"),
        front_with(replaces_caller=False),
    ),
    "the proxy is not trusted": (
        *("public address", "proxy headers", Level.FAIL, "not in TRUSTED_PROXIES"),
        set_to(TRUSTED_PROXIES=["10.0.0.0/8"]),
    ),
}
"""By fault: the check, its line, how bad it is, what the line says, and what plants it."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_until_it_is_mended(world: World, fault: str) -> None:
    check, line, level, said, plant = FAULTS[fault]
    assert {each.level for each in found(check)} == {Level.OK}, found(check)
    with plant(world):
        [named] = [each for each in found(check) if each.level != Level.OK]
        assert (named.name, named.level) == (line, level), named
        assert said in named.text
        assert len(named.advice) > 20
    assert {each.level for each in found(check)} == {Level.OK}, found(check)


def test_the_command_says_all_of_it_and_ends_with_1_where_something_fails(world: World) -> None:
    out = io.StringIO()
    call_command("doctor", seconds=0, stdout=out, stderr=io.StringIO())
    lines = out.getvalue().splitlines()
    assert len(lines) > 20
    assert all(line.startswith("ok    ") for line in lines), out.getvalue()
    with override_settings(WEBHOOK_ENCRYPTION_KEY="x" * 50), pytest.raises(CommandError, match="3 failed"):
        call_command("doctor", json=True, seconds=0, stdout=(out := io.StringIO()))
    document = json.loads(out.getvalue())
    assert document["status"] == "fail"
    assert [each["name"] for each in document["findings"] if each["level"] == "fail"] == [
        "backups",
        "sealed mails",
        "webhook secrets",
    ]
    assert "x" * 50 not in out.getvalue()


def test_a_mail_is_sent_only_where_one_is_asked_for(world: World, mailoutbox: list[Any]) -> None:
    call_command("doctor", only=["mail server"], stdout=io.StringIO(), stderr=io.StringIO())
    assert not mailoutbox
    call_command("doctor", only=["mail server"], mail=["ada@example.com"], stdout=io.StringIO(), stderr=io.StringIO())
    assert [mail.to for mail in mailoutbox] == [["ada@example.com"]]
    with pytest.raises(CommandError, match="OPERATOR_EMAILS"):
        call_command("doctor", mail=[])


class TestOneCheck:
    """However a check ends, it is a line."""

    @pytest.fixture(autouse=True)
    def alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "_checks", [])

    def test_that_raises_is_a_failed_line_and_the_next_is_still_run(self) -> None:
        registry.register("one", reads_database=False)(lambda asked: [1 // 0])  # type: ignore[list-item]
        registry.register("two", reads_database=False)(lambda asked: [ok("two", "Well.")])
        assert [(each.name, each.level) for each in found()] == [("one", Level.FAIL), ("two", Level.OK)]
        assert "ZeroDivisionError" in found("one")[0].text

    def test_that_hangs_ends_in_time_with_what_it_had_found(self) -> None:
        ends = threading.Event()

        def hang(asked: Asked) -> Iterator[Finding]:
            yield ok("one", "Well.")
            ends.wait(60)

        registry.register("slow", reads_database=False)(hang)
        said = list(registry.examine(Asked(seconds=0.2)))
        ends.set()
        assert [(each.name, each.level) for each in said] == [("one", Level.OK), ("slow", Level.FAIL)]
        assert "No answer within 0.2 s" in said[1].text

    def test_that_writes_is_refused_by_the_database(self, world: World) -> None:
        registry.register("writes")(lambda asked: [ok("writes", str(Endpoint.objects.update(description="Mine")))])
        with transaction.atomic():  # a failed update marks the one around it, which is the test's
            [said] = found()
        assert (said.level, "read-only transaction" in said.text) == (Level.FAIL, True)
        assert Endpoint.objects.get().description == ""

    def test_that_waits_for_others_holds_no_transaction(self) -> None:
        def wait(asked: Asked) -> Iterator[Finding]:
            Mail.objects.exists()
            yield ok("waits", f"{connection.connection.info.transaction_status.name}")

        registry.register("waits")(wait)
        [said] = registry.examine(Asked(seconds=20))
        assert said.text == "IDLE"

    def test_that_may_not_read_a_table_says_so(self) -> None:
        def read(asked: Asked) -> Iterator[Finding]:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL ROLE pg_monitor")
            yield ok("reads", str(Mail.objects.count()))

        registry.register("reads")(read)
        [said] = found()
        assert (said.level, "permission denied" in said.text) == (Level.WARN, True)

    def test_that_reads_a_database_that_is_away_is_not_run(self) -> None:
        failed = Finding(registry.DATABASE, Level.FAIL, "It does not answer.", "Start it.")
        registry.register(registry.DATABASE, reads_database=False)(lambda asked: [failed])
        registry.register("reads")(lambda asked: [1 // 0])  # type: ignore[list-item]
        assert [(each.name, each.level) for each in found()] == [("database", Level.FAIL), ("reads", Level.WARN)]

    def test_that_lacks_a_secret_of_its_role_says_so(self) -> None:
        with override_settings(BALLAST_ROLE="money"):
            said = registry.ask_elsewhere("one", registry.without("SECRET_KEY"))
        assert said.level == Level.WARN
        assert "BALLAST_ROLE=money is not given SECRET_KEY" in said.text


def test_a_stranger_is_told_nothing_of_how_a_request_looked() -> None:
    assert Client().get("/health/live", headers={"X-Ballast-Probe": "probe:1x:forged"}).json() == {"status": "ok"}
