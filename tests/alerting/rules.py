"""The alert rules of deploy/prometheus/rules.yml, made of the kinds of alarms and of the metrics: `make tables`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from payments.monitoring.metrics.definitions import METRICS, WARNINGS
from payments.monitoring.states import ADVICE, PATIENCE, AlarmKind

RULES = Path(__file__).resolve().parents[2] / "deploy" / "prometheus" / "rules.yml"

HEAD = """\
# Alert rules for Prometheus, made by `make tables` of the kinds of alarms and of the metrics: docs/metrics.md.
# Change nothing here: write rules of your own into a file of your own.
"""
URL = '{{ with query "last_over_time(ballast_info[1d])" }}{{ . | first | label "url" }}{{ end }}'
"""PUBLIC_URL, also while nothing is scraped: the runbooks are pages of the installation itself."""


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    expression: str
    lasting: str
    severity: str
    summary: str
    description: str
    page: str
    """Of the runbook, below /docs/."""


def name_of(kind: AlarmKind) -> str:
    return f"BallastAlarm{''.join(map(str.capitalize, kind.value.split('_')))}"


def of_alarms() -> Iterator[Rule]:
    for kind in AlarmKind:
        yield Rule(
            name=name_of(kind),
            expression=f'sum by (network) (ballast_alarm_open{{environment="production",kind="{kind.value}"}}) > 0',
            lasting=f"{PATIENCE.get(kind, timedelta()) // timedelta(minutes=1)}m",
            severity="warning" if kind in WARNINGS else "critical",
            summary=f"{{{{ with $labels.network }}}}{{{{ . }}}}: {{{{ end }}}}{kind.label}",
            description=ADVICE[kind],
            page=f"runbooks/{kind.value}",
        )


def of_metrics() -> Iterator[Rule]:
    for metric in METRICS:
        if alert := metric.alert:
            yield Rule(
                name=alert.name,
                expression=alert.expression,
                lasting=alert.lasting,
                severity=alert.severity,
                summary=f"{metric.name}: {alert.when.replace('`', '')}",
                description=alert.advice,
                page=f"runbooks/{alert.runbook}" if alert.runbook else "metrics",
            )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def written() -> str:
    lines = [HEAD + "groups:"]
    for group, rules in (("ballast-alarms", of_alarms()), ("ballast-metrics", of_metrics())):
        lines += [f"  - name: {group}", "    rules:"]
        for rule in rules:
            lines += [
                f"      - alert: {rule.name}",
                f"        expr: {_quoted(rule.expression)}",
                f"        for: {rule.lasting}",
                f"        labels: {{severity: {rule.severity}}}",
                "        annotations:",
                f"          summary: {_quoted(rule.summary)}",
                f"          description: {_quoted(rule.description)}",
                f"          runbook_url: {_quoted(f'{URL}/docs/{rule.page}')}",
            ]
    return "\n".join(lines) + "\n"
