"""The dashboard of deploy/grafana/ballast.json: `make tables`. Its queries are read by promtool in a test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DASHBOARD = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "ballast.json"

HERE = 'environment="$environment"'
WIDE = 24


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    query: str
    legend: str = ""
    unit: str = "short"
    width: int = 8
    kind: str = "timeseries"
    red_from: float | None = None
    """Of a single number: from where on it is red."""


# Two beats, as in deploy/kubernetes, both say each number: `max` before `sum`, as docs/metrics.md says.
ROWS: dict[str, tuple[Panel, ...]] = {
    "Is anything wrong?": (
        Panel(
            "Open alarms",
            f"sum(max by (kind, network) (ballast_alarm_open{{{HERE}}})) or vector(0)",
            kind="stat",
            width=4,
            red_from=1,
        ),
        Panel(
            "Errors of reconcile",
            'sum(max by (code) (ballast_invariant_findings{severity="error"})) or vector(0)',
            kind="stat",
            width=4,
            red_from=1,
        ),
        Panel(
            "Work that is late",
            "count(max by (work, of) (ballast_work_age_seconds > ballast_work_limit_seconds)) or vector(0)",
            kind="stat",
            width=4,
            red_from=1,
        ),
        Panel("Open alarms by kind", f"ballast_alarm_open{{{HERE}}}", "{{kind}} {{network}}", width=12),
    ),
    "Money in": (
        Panel(
            "Payments by status, an hour",
            f"max by (status) (increase(ballast_payments_total{{{HERE}}}[1h]))",
            "{{status}}",
        ),
        Panel(
            "Time to credit, nine in ten",
            "histogram_quantile(0.9, sum by (network, le) "
            f"(rate(ballast_payment_credit_seconds_bucket{{{HERE}}}[30m])))",
            "{{network}}",
            "s",
        ),
        Panel("In suspense", f"ballast_suspense_coins{{{HERE}}}", "{{kind}} {{asset}} {{network}}"),
    ),
    "Money out": (
        Panel("Payouts that wait", f"ballast_payouts_waiting{{{HERE}}}", "{{hold_reason}} {{network}}"),
        Panel("The oldest", f"ballast_payouts_oldest_seconds{{{HERE}}}", "{{hold_reason}} {{network}}", "s"),
        Panel("Hot wallets", f"ballast_hot_wallet_coins{{{HERE}}}", "{{asset}} {{network}}"),
    ),
    "Networks": (
        Panel("Age of the newest block", f"ballast_head_age_seconds{{{HERE}}}", "{{network}}", "s", width=6),
        Panel("Blocks to finality", f"ballast_finality_lag_blocks{{{HERE}}}", "{{network}}", width=6),
        Panel("Providers", f"ballast_provider_up{{{HERE}}}", "{{provider}} {{network}}", width=6),
        Panel("Sweeps the gas pays for", f"ballast_gas_tank_sweeps_left{{{HERE}}}", "{{network}}", width=6),
    ),
    "Webhooks and API": (
        Panel("Deliveries due", f"ballast_webhook_backlog{{{HERE}}}", "due", width=6),
        Panel("The oldest", f"ballast_webhook_oldest_seconds{{{HERE}}}", "oldest", "s", width=6),
        Panel(
            "From event to arrival, half",
            f"histogram_quantile(0.5, sum by (le) (rate(ballast_webhook_delivery_seconds_bucket{{{HERE}}}[15m])))",
            "half",
            "s",
            width=6,
        ),
        Panel(
            "Requests by status",
            f"sum by (status) (max by (method, route, status) (rate(ballast_http_requests_total{{{HERE}}}[5m])))",
            "{{status}}",
            "reqps",
            width=6,
        ),
    ),
    "Ballast itself": (
        Panel(
            "Work by how much of its limit is used",
            "topk(10, ballast_work_age_seconds / ballast_work_limit_seconds)",
            "{{work}} {{of}}",
            "percentunit",
        ),
        Panel("Age of reconcile", "ballast_reconcile_age_seconds", "{{kind}}", "s"),
        Panel("Numbers left out", "increase(ballast_metrics_failures_total[1h]) > 0", "{{reading}}"),
    ),
}


def _panel(number: int, panel: Panel, left: int, top: int) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.red_from is not None:
        steps.append({"color": "red", "value": panel.red_from})
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": left, "y": top, "w": panel.width, "h": 8},
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
        "targets": [{"refId": "A", "expr": panel.query, "legendFormat": panel.legend or "__auto"}],
    }


def _variables() -> list[dict[str, Any]]:
    environments = [
        {"text": name, "value": name, "selected": name == "production"} for name in ("production", "sandbox")
    ]
    return [
        {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
        {
            "name": "environment",
            "label": "Environment",
            "type": "custom",
            "query": "production,sandbox",
            "current": environments[0],
            "options": environments,
        },
    ]


def written() -> str:
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in ROWS.items():
        place = {"x": 0, "y": top, "w": WIDE, "h": 1}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "gridPos": place, "panels": []})
        top, left = top + 1, 0
        for panel in row:
            panels.append(_panel(len(panels) + 1, panel, left, top))
            left += panel.width
        top += 8
    dashboard = {
        "uid": "ballast",
        "title": "Ballast",
        "tags": ["ballast"],
        "schemaVersion": 38,
        "time": {"from": "now-24h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": _variables()},
        "panels": panels,
    }
    return json.dumps(dashboard, indent=2) + "\n"
