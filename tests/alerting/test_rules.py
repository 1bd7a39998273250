"""Every alert rule fires where its fault is, and nowhere else: one file of cases for one run of promtool."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.docs import library
from payments.monitoring.metrics.definitions import METRICS, WARNINGS
from payments.monitoring.states import AlarmKind
from tests.alerting import dashboard, rules
from tests.alerting.dashboard import DASHBOARD
from tests.alerting.rules import RULES, Rule

URL = "https://pay.example.com"
INFO = {"series": f'ballast_info{{version="0.1.0",url="{URL}"}}', "values": "1+0x120"}
PLACE = 'environment="production",network="polygon"'


def series(name: str, labels: str, values: str) -> dict[str, str]:
    return {"series": f"{name}{{{labels}}}", "values": values}


def histogram(name: str, labels: str, limit: int, every: str, faster: str) -> list[dict[str, str]]:
    """Growth of all, and of what took less than a limit."""
    return [
        series(f"{name}_bucket", f'{labels},le="{limit}"', faster),
        series(f"{name}_count", labels, every),
    ]


WORK = 'work="task",of="payments.sweep"'
WEBHOOKS = 'environment="production"'
OF_PAYMENTS = 'environment="production",status="{}"'
CASES: dict[str, tuple[list[dict[str, str]], list[dict[str, str]], dict[str, str], int]] = {
    # By rule: series with the fault, series without, labels of the alert, and the minute of the look.
    "BallastMetricsAbsent": ([series("ballast_info", f'url="{URL}",version="0.1.0"', "1 stale")], [], {}, 10),
    "BallastMetricsFailing": (
        [series("ballast_metrics_failures_total", 'reading="payouts"', "0+1x120")],
        [series("ballast_metrics_failures_total", 'reading="payouts"', "0 1+0x120")],
        {"reading": "payouts"},
        30,
    ),
    "BallastWorkLate": (
        [
            series("ballast_work_age_seconds", WORK, "200+0x120"),
            series("ballast_work_limit_seconds", WORK, "180+0x120"),
        ],
        [
            series("ballast_work_age_seconds", WORK, "170+0x120"),
            series("ballast_work_limit_seconds", WORK, "180+0x120"),
        ],
        {"work": "task", "of": "payments.sweep"},
        10,
    ),
    "BallastInvariantBroken": (
        [series("ballast_invariant_findings", 'code="I1",severity="error"', "1+0x120")],
        [series("ballast_invariant_findings", 'code="I1",severity="warning"', "1+0x120")],
        {"code": "I1"},
        10,
    ),
    "BallastReconcileOld": (
        [series("ballast_reconcile_age_seconds", 'kind="full"', "110000+60x120")],
        [series("ballast_reconcile_age_seconds", 'kind="quick"', "110000+60x120")],
        {"kind": "full"},
        10,
    ),
    "BallastHeadOld": (
        [series("ballast_head_age_seconds", PLACE, "700+60x120")],
        [series("ballast_head_age_seconds", PLACE, "500+0x120")],
        {"environment": "production", "network": "polygon"},
        10,
    ),
    "BallastFinalityLag": (
        [series("ballast_finality_lag_blocks", PLACE, "64+0x60 500+0x30")],
        [series("ballast_finality_lag_blocks", PLACE, "64+0x60 190+0x30")],
        {"environment": "production", "network": "polygon"},
        90,
    ),
    "BallastFewProviders": (
        [
            series("ballast_provider_up", f'{PLACE},provider="{one}",instance="{beat}"', f"{up}+0x120")
            for one, up in (("a", 1), ("b", 0))
            for beat in (1, 2)
        ],
        [series("ballast_provider_up", f'{PLACE},provider="{one}"', "1+0x120") for one in "ab"],
        {"network": "polygon"},
        10,
    ),
    "BallastProviderContradicts": (
        [series("ballast_provider_disagreements_total", f'{PLACE},provider="a"', "0+0x30 1+1x5 6+0x80")],
        [series("ballast_provider_disagreements_total", f'{PLACE},provider="a"', "0+0x30 1+0x80")],
        {"environment": "production", "network": "polygon", "provider": "a"},
        90,
    ),
    "BallastPaymentsEndUnpaid": (
        [
            series("ballast_payments_total", OF_PAYMENTS.format("completed"), "0+0x120"),
            series("ballast_payments_total", OF_PAYMENTS.format("expired"), "0+1x120"),
        ],
        [
            series("ballast_payments_total", OF_PAYMENTS.format("completed"), "0+1x120"),
            series("ballast_payments_total", OF_PAYMENTS.format("expired"), "0+1x120"),
        ],
        {},
        100,
    ),
    "BallastCreditSlow": (
        histogram("ballast_payment_credit_seconds", PLACE, 1800, "0+10x120", "0+5x120"),
        histogram("ballast_payment_credit_seconds", PLACE, 1800, "0+100x120", "0+95x120"),
        {"network": "polygon"},
        50,
    ),
    "BallastPayoutsWait": (
        [series("ballast_payouts_oldest_seconds", f'{PLACE},hold_reason="not_signed"', "7300+60x120")],
        [series("ballast_payouts_oldest_seconds", f'{PLACE},hold_reason="approval"', "7300+60x120")],
        {"environment": "production", "network": "polygon", "hold_reason": "not_signed"},
        10,
    ),
    "BallastGasLow": (
        [series("ballast_gas_tank_sweeps_left", PLACE, "0+0x120")],
        [series("ballast_gas_tank_sweeps_left", PLACE, "1+0x120")],
        {"environment": "production", "network": "polygon"},
        10,
    ),
    "BallastWebhooksLate": (
        [series("ballast_webhook_oldest_seconds", WEBHOOKS, "400+60x120")],
        [series("ballast_webhook_oldest_seconds", WEBHOOKS, "30+0x120")],
        {"environment": "production"},
        10,
    ),
    "BallastWebhooksSlow": (
        histogram("ballast_webhook_delivery_seconds", WEBHOOKS, 60, "0+10x120", "0+4x120"),
        histogram("ballast_webhook_delivery_seconds", WEBHOOKS, 60, "0+10x120", "0+6x120"),
        {},
        50,
    ),
    "BallastApiFails": (
        [
            series("ballast_http_requests_total", 'route="/v1/payments",status="200"', "0+90x120"),
            series("ballast_http_requests_total", 'route="/v1/payments",status="503"', "0+10x120"),
        ],
        [
            series("ballast_http_requests_total", 'route="/v1/payments",status="200"', "0+990x120"),
            series("ballast_http_requests_total", 'route="/v1/payments",status="503"', "0+1x120"),
        ],
        {},
        50,
    ),
}


TOLD_TWICE = {
    "Open alarms": ("ballast_alarm_open", f'{PLACE},kind="refill_needed"', "60+0x120"),
    "Errors of reconcile": ("ballast_invariant_findings", 'code="I1",severity="error"', "60+0x120"),
    "Payments by status, an hour": ("ballast_payments_total", OF_PAYMENTS.format("expired"), "0+1x120"),
    "Requests by status": (
        *("ballast_http_requests_total", 'environment="production",method="GET",route="/v1",status="expired"'),
        "0+3600x120",
    ),
}
"""Series of which a panel adds up what it shows, by its title: it shows 60 of each."""


def query_of(title: str) -> str:
    [query] = [panel.query for panels in dashboard.ROWS.values() for panel in panels if panel.title == title]
    return query.replace("$environment", "production")


def expected(rule: Rule, labels: dict[str, str], summary: str) -> dict[str, Any]:
    annotations = {"summary": summary, "description": rule.description, "runbook_url": f"{URL}/docs/{rule.page}"}
    return {"exp_labels": {"severity": rule.severity, **labels}, "exp_annotations": annotations}


def case(
    name: str, input_series: Sequence[dict[str, str]], minute: int, alerts: dict[str, list[Any]]
) -> dict[str, Any]:
    looks = [
        {"eval_time": f"{minute}m", "alertname": rule, "exp_alerts": expectation}
        for rule, expectation in alerts.items()
    ]
    return {"name": name, "interval": "1m", "input_series": list(input_series), "alert_rule_test": looks}


def cases() -> Iterator[dict[str, Any]]:
    """Each alarm is open on a network that is called like it: its own rule fires once, and no other's for it."""
    alarms = list(zip(AlarmKind, rules.of_alarms(), strict=True))
    series_of = [
        series("ballast_alarm_open", f'environment="{environment}",network="{kind}{added}",kind="{kind}"', "1+0x120")
        for kind in AlarmKind
        for environment, added in (("production", ""), ("sandbox", "_too"))
    ]
    found = {rule.name: [expected(rule, {"network": f"{kind}"}, f"{kind}: {kind.label}")] for kind, rule in alarms}
    yield case("all alarms", [INFO, *series_of], 5, found)
    for rule in rules.of_metrics():
        fault, _, labels, minute = CASES[rule.name]
        info = [] if rule.name == "BallastMetricsAbsent" else [INFO]
        wanted = {rule.name: [expected(rule, labels, rule.summary)]}
        yield case(f"{rule.name} with its fault", [*info, *fault], minute, wanted)
    few = [
        series("ballast_payments_total", f'{OF_PAYMENTS.format(status)},instance="{beat}"', values)
        for beat in (1, 2)
        for status, values in (("completed", "0+0x120"), ("expired", "0+0.25x120"))
    ]
    yield case("15 payments an hour, said by two beats", [INFO, *few], 100, {"BallastPaymentsEndUnpaid": []})
    yield {
        "name": "the dashboard with two beats",
        "interval": "1m",
        "input_series": [
            series(name, f'{labels},instance="{beat}"', values)
            for name, labels, values in TOLD_TWICE.values()
            for beat in (1, 2)
        ],
        "promql_expr_test": [
            {
                "expr": f"round({query_of(title)})",
                "eval_time": "100m",
                "exp_samples": [{"labels": '{status="expired"}' if "by status" in title else "{}", "value": 60}],
            }
            for title in TOLD_TWICE
        ],
    }
    fine = [each for _, without, _, _ in CASES.values() for each in without]
    yield case("no fault", [INFO, *fine], 85, {rule.name: [] for rule in rules.of_metrics()})


def promtool(*arguments: str) -> str:
    if shutil.which("promtool") is None:
        if os.environ.get("CI"):
            pytest.fail("promtool is missing: .ci/run installs it")
        pytest.skip("promtool is missing: apt-get install --no-install-recommends prometheus")
    ended = subprocess.run(["promtool", *arguments], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_rules_are_those_of_the_code() -> None:
    assert RULES.read_text() == rules.written(), "run `make tables`"
    assert {rule.name for rule in rules.of_metrics()} == set(CASES)
    assert set(AlarmKind) > WARNINGS
    assert {rule.page for rule in (*rules.of_alarms(), *rules.of_metrics())} <= set(library.slugs())


def test_each_rule_fires_where_its_fault_is_and_nowhere_else(tmp_path: Path) -> None:
    every = [*rules.of_alarms(), *rules.of_metrics()]
    assert f"{len(every)} rules found" in promtool("check", "rules", str(RULES))
    tests = tmp_path / "tests.yml"
    tests.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": list(cases())}))
    promtool("test", "rules", str(tests))


def test_each_query_of_the_dashboard_is_one_about_metrics_that_exist(tmp_path: Path) -> None:
    """A query is a recording rule for promtool, once the variable of the dashboard has its value."""
    assert DASHBOARD.read_text() == dashboard.written(), "run `make tables`"
    rows = json.loads(DASHBOARD.read_text())["panels"]
    queries = [target["expr"] for panel in rows for target in panel.get("targets", ())]
    suffixes = {"histogram": ("_bucket", "_count", "_sum")}
    known = {metric.name + suffix for metric in METRICS for suffix in suffixes.get(metric.kind, ("",))}
    named = {name for query in queries for name in re.findall(r"ballast_\w+", query)}
    named |= {name for rule in rules.of_metrics() for name in re.findall(r"ballast_\w+", rule.expression)}
    assert named <= known
    recorded = [
        {"record": f"panel:{number}", "expr": query.replace("$environment", "production")}
        for number, query in enumerate(queries)
    ]
    rule_file = tmp_path / "dashboard.yml"
    rule_file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": recorded}]}))
    assert f"{len(queries)} rules found" in promtool("check", "rules", str(rule_file))
