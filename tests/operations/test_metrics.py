"""/metrics: what it says of a world with a little of everything, what it costs, and what becomes of a failed number."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from pytest_django.fixtures import Settings

from config.installation.backups.records import note
from config.installation.models import BackupRun
from merchants.request_log.recording import RECORDER
from payments.monitoring.alarm_rules import AlarmCondition
from payments.monitoring.metrics import serving
from payments.monitoring.metrics.definitions import METRICS
from payments.monitoring.metrics.serving import Installation
from payments.monitoring.models import NetworkSnapshot
from payments.monitoring.reconciling import reconcile_due
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import measure_networks
from payments.transfers.models import Payout
from payments.transfers.states import HoldReason, PayoutStatus
from tests.factories import api_client, make_key
from tests.operations.scenes import SANDBOX, there_is
from tests.payments.scenes import make_payment, pay_and_confirm
from tests.ports import free_port
from tests.sending.delivering import deliver, endpoint_at, fan_out_all
from tests.sending.receivers import Shop
from tests.transfers.scenes import COIN, ETHEREUM, POLYGON, ask, stock

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Shop() as running:
        yield running


def scraped(installation: Installation) -> dict[str, float]:
    """Each series as it is written, with its value."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(installation)
    text = generate_latest(registry).decode()
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_world_with_a_little_of_everything(shop: Shop, settings: Settings) -> None:
    settings.WEBHOOK_PORTS = []
    installation = Installation(kept_seconds=0, late=timedelta())
    assert scraped(installation)["ballast_payments_total production completed"] == 0, "increase() needs a beginning"

    payment = make_payment(ETHEREUM)
    endpoint_at(shop.url(), payment.merchant)
    pay_and_confirm(payment)
    pay_and_confirm(make_payment(ETHEREUM), "101")
    fan_out_all()
    deliver()
    stock(POLYGON, 10 * COIN)
    payout = ask(POLYGON, 3 * COIN)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    Payout.objects.filter(pk=payout.pk).update(status=PayoutStatus.HELD, hold_reason=HoldReason.APPROVAL)
    there_is(AlarmCondition(AlarmKind.PROVIDER_DISAGREES, "It said 3.", "one"), environment=SANDBOX)
    measure_networks()
    reconcile_due(timezone.now(), began_at=an_hour_ago)
    note(BackupRun.Kind.MADE, name="a.tar", taken_at=an_hour_ago)
    note(BackupRun.Kind.MADE, name="a.tar", taken_at=an_hour_ago)
    note(BackupRun.Kind.DRILLED, name="a.tar", fault="It is cut.")
    client = api_client(make_key(merchant=payment.merchant))
    client.call("GET", f"/payments/{payment.public_id}")
    client.call("GET", "/payments/pay_unknown")
    client.call("GET", "/nothing/here")
    client.call("BREW", f"/payments/{payment.public_id}")
    RECORDER.flush()

    found = scraped(installation)
    assert {name: found.get(name) for name in EXPECTED} == EXPECTED
    assert not any("BREW" in name for name in found), "a caller can name a method of their own each time"
    assert 0 < found["ballast_payouts_oldest_seconds sandbox approval polygon"] < 60
    assert 3600 <= found["ballast_backup_age_seconds made"] < 3660
    assert 3600 <= found["ballast_backup_age_seconds made"] < 3700
    assert 0 < found["ballast_reconcile_age_seconds quick"] < 60
    assert 0 <= found["ballast_head_age_seconds sandbox ethereum"] < 60
    without = {metric.name for metric in METRICS if not any(name.startswith(metric.name) for name in found)}
    assert without == {"ballast_provider_up"}, "simulated networks have no providers"
    with CaptureQueriesContext(connection) as queries:
        scraped(installation)
    assert len(queries) <= 75
    NetworkSnapshot.objects.filter(environment=SANDBOX, network=POLYGON).update(providers=["one", "two"])
    found = scraped(installation)
    assert [found[f"ballast_provider_up sandbox polygon {each}"] for each in ("one", "two")] == [0, 1]
    contradicted = [found[f"ballast_provider_disagreements_total sandbox polygon {each}"] for each in ("one", "two")]
    assert contradicted == [1, 0], "increase() needs a beginning"
    port = settings.METRICS_PORT = free_port()
    server = serving.serve()
    assert server is not None
    try:
        assert serving.serve() is None, "the port is taken"
        with (
            CaptureQueriesContext(connection) as queries,
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply,
        ):
            text = reply.read().decode()
    finally:
        server.shutdown()
        server.server_close()
    assert 'ballast_hot_wallet_coins{asset="USDC",environment="sandbox",network="polygon"} 10.0' in text
    assert "python_gc" not in text


EXPECTED: dict[str, float] = {
    "ballast_alarm_open sandbox provider_disagrees polygon": 1,
    "ballast_invariant_findings I1 error": 0,
    "ballast_finality_lag_blocks sandbox ethereum": 6,
    "ballast_provider_disagreements_total sandbox polygon one": 1,
    "ballast_hot_wallet_coins USDC sandbox polygon": 10,
    "ballast_payouts_waiting sandbox approval polygon": 1,
    "ballast_backup_drill_ok": 0,
    "ballast_webhook_backlog sandbox": 0,
    "ballast_suspense_coins USDC sandbox overpaid ethereum": 1,
    "ballast_payments_total sandbox created": 2,
    "ballast_payments_total sandbox completed": 2,
    "ballast_payment_credit_seconds_count sandbox ethereum": 2,
    "ballast_payment_credit_seconds_bucket sandbox 60 ethereum": 2,
    "ballast_webhook_delivery_seconds_count sandbox": 1,
    "ballast_http_requests_total sandbox GET /sandbox/v1/payments/<str:payment_id> 200": 1,
    "ballast_http_requests_total sandbox GET /sandbox/v1/payments/<str:payment_id> 404": 1,
    "ballast_http_requests_total sandbox other /sandbox/v1/payments/<str:payment_id> 405": 1,
    **{f"ballast_metrics_failures_total {name}": 0 for name in ("payouts", "findings", "networks", "requests")},
}


@pytest.mark.django_db
def test_a_number_that_cannot_be_computed_is_left_out_and_counted() -> None:
    installation = Installation(kept_seconds=600)
    there_is(AlarmCondition(AlarmKind.HEAD_STALLED, "It stands."))
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE payments_discrepancy RENAME COLUMN amount TO gone")
    found = scraped(installation)
    assert found["ballast_alarm_open production head_stalled polygon"] == 1
    failed = [name for name, value in found.items() if name.startswith("ballast_metrics_failures_total") and value]
    assert failed == ["ballast_metrics_failures_total suspense"]
    with CaptureQueriesContext(connection) as queries:
        assert scraped(installation) == found
    assert len(queries) == 0, "the same numbers are given again for a while"
