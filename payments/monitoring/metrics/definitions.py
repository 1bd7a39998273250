"""The metrics: what each means, and when to alert on it. Pure data, from which docs and Prometheus rules are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from payments.monitoring.states import AlarmKind

PLACE = ("environment", "network")

Severity = Literal["critical", "warning"]


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert rule: in words, as an expression of PromQL, and for how long it must hold."""

    name: str
    when: str
    expression: str
    lasting: str
    severity: Severity
    advice: str
    runbook: str = ""
    """The kind of alarm whose runbook says more; empty: docs/metrics.md alone."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    meaning: str
    alert: Alert | None = None
    instead: str = ""
    """Where it has no alert: what to use it for."""
    buckets: tuple[int, ...] = ()
    """Of a histogram: upper limits in seconds."""


INFO = Metric(
    "ballast_info",
    "gauge",
    ("version", "url"),
    "Always 1; its labels are the release, and PUBLIC_URL for links to runbooks.",
    Alert(
        "BallastMetricsAbsent",
        "it is absent for 3 minutes: no beat runs, or nothing can be read",
        "absent(ballast_info)",
        "3m",
        "critical",
        "See that beat runs with METRICS_PORT and that Prometheus reaches it, then ask /health/work.",
        AlarmKind.WORK_BEHIND,
    ),
)
READING_FAILURES = Metric(
    "ballast_metrics_failures_total",
    "counter",
    ("reading",),
    "Scrapes in which a group of numbers could not be computed and was left out, since the process began.",
    Alert(
        "BallastMetricsFailing",
        "it has grown in each of the last 10 minutes",
        "increase(ballast_metrics_failures_total[5m]) > 0",
        "10m",
        "warning",
        "Read `metrics_not_read` in the log of beat. Alerts on these numbers cannot fire meanwhile.",
    ),
)
WORK_AGE = Metric(
    "ballast_work_age_seconds",
    "gauge",
    ("work", "of"),
    "Seconds since a piece of periodic work was last done, as in /health/work; +Inf: never.",
    Alert(
        "BallastWorkLate",
        "it is above `ballast_work_limit_seconds` for 2 minutes",
        "ballast_work_age_seconds > ballast_work_limit_seconds",
        "2m",
        "critical",
        "See that beat and a worker of the queue run, and what their logs say.",
        AlarmKind.WORK_BEHIND,
    ),
)
WORK_LIMIT = Metric(
    "ballast_work_limit_seconds",
    "gauge",
    ("work", "of"),
    "How old the work may become.",
    instead="the limit of `ballast_work_age_seconds`",
)
CLOCK_OFF = Metric(
    "ballast_clock_off_seconds",
    "gauge",
    (),
    "How far the worst clock of a process is from the database's.",
    instead="the alarm `clock_off` says which process",
)
ALARMS = Metric(
    "ballast_alarm_open",
    "gauge",
    ("kind", *PLACE),
    "Open alarms. There is no series for a kind without any.",
    instead="a rule for each kind: see [the alarms](alarms.md)",
)
FINDINGS = Metric(
    "ballast_invariant_findings",
    "gauge",
    ("code", "severity"),
    "Findings of each check in the last full run of reconcile, or of the last quick one where it found more.",
    Alert(
        "BallastInvariantBroken",
        "an `error` is above 0",
        'sum by (code) (ballast_invariant_findings{severity="error"}) > 0',
        "0m",
        "critical",
        "Read the run in the admin: each finding says what to do. Payouts of the network are stopped.",
        AlarmKind.RECONCILE_NOT_CLEAN,
    ),
)
RECONCILE_AGE = Metric(
    "ballast_reconcile_age_seconds",
    "gauge",
    ("kind",),
    "Seconds since the last quick and the last full run of reconcile ended.",
    Alert(
        "BallastReconcileOld",
        "the full one is above 30 hours",
        'ballast_reconcile_age_seconds{kind="full"} > 30 * 3600',
        "5m",
        "warning",
        "See that the chain worker runs; run manage.py reconcile --full.",
        AlarmKind.WORK_BEHIND,
    ),
)
BACKUP_AGE = Metric(
    "ballast_backup_age_seconds",
    "gauge",
    ("kind",),
    "Age of the newest backup that `manage.py backup` made, and seconds since the last drill of one.",
    instead="the alarm `backup_unreliable`, which knows how old one may be",
)
DRILL_OK = Metric(
    "ballast_backup_drill_ok",
    "gauge",
    (),
    "1 if the last drill of a backup found no fault, else 0. There is no series before the first.",
    instead="the alarm `backup_unreliable`",
)
HEAD_AGE = Metric(
    "ballast_head_age_seconds",
    "gauge",
    PLACE,
    "Seconds since the newest block that was read last changed.",
    Alert(
        "BallastHeadOld",
        "it is above 10 minutes in production",
        'ballast_head_age_seconds{environment="production"} > 600',
        "2m",
        "critical",
        "See that the chain worker reads the network, and whether the network itself stands still.",
        AlarmKind.HEAD_STALLED,
    ),
)
FINALITY_LAG = Metric(
    "ballast_finality_lag_blocks",
    "gauge",
    PLACE,
    "Blocks between the newest one and the newest final one.",
    Alert(
        "BallastFinalityLag",
        "it is three times its median of the last day for 15 minutes",
        'ballast_finality_lag_blocks{environment="production"} > 10 + 3 * '
        'quantile_over_time(0.5, ballast_finality_lag_blocks{environment="production"}[1d])',
        "15m",
        "warning",
        "Look whether the network has trouble. Payments that need finality wait.",
        AlarmKind.FINALITY_STALLED,
    ),
)
PROVIDER_UP = Metric(
    "ballast_provider_up",
    "gauge",
    (*PLACE, "provider"),
    "0 while an alarm about this provider is open, else 1.",
    Alert(
        "BallastFewProviders",
        "fewer than 2 are up on a network of production for 5 minutes",
        # Two beats, as in deploy/kubernetes, both serve each provider's series: it counts once.
        'sum by (network) (max by (network, provider) (ballast_provider_up{environment="production"})) < 2',
        "5m",
        "warning",
        "Two must agree before money is credited: add a provider, or repair one.",
        AlarmKind.PROVIDER_FAILING,
    ),
)
DISAGREEMENTS = Metric(
    "ballast_provider_disagreements_total",
    "counter",
    (*PLACE, "provider"),
    "Times that an alarm was raised because a provider contradicted the others.",
    Alert(
        "BallastProviderContradicts",
        "it grows by 3 in a day",
        "increase(ballast_provider_disagreements_total[1d]) >= 3",
        "0m",
        "warning",
        "Compare with a block explorer, and put another in the provider's place.",
        AlarmKind.PROVIDER_DISAGREES,
    ),
)
PAYMENTS = Metric(
    "ballast_payments_total",
    "counter",
    ("environment", "status"),
    "Payments that reached a status, by their events since the process began, a minute late.",
    Alert(
        "BallastPaymentsEndUnpaid",
        "of more than 20 payments that ended in an hour, fewer than a tenth completed",
        'max(increase(ballast_payments_total{environment="production",status="completed"}[1h])) < 0.1 * '
        'sum(max by (status) (increase(ballast_payments_total{environment="production",'
        'status=~"completed|expired"}[1h]))) and '
        'sum(max by (status) (increase(ballast_payments_total{environment="production",'
        'status=~"completed|expired"}[1h]))) > 20',
        "15m",
        "warning",
        "Make a payment yourself and follow it: the payer's page, the network, the providers.",
        AlarmKind.NETWORK_UNAVAILABLE,
    ),
)
CREDIT_SECONDS = Metric(
    "ballast_payment_credit_seconds",
    "histogram",
    PLACE,
    "Seconds from a deposit's first sight to its credit, for payments that completed.",
    Alert(
        "BallastCreditSlow",
        "more than one in ten takes longer than 30 minutes",
        'sum by (network) (rate(ballast_payment_credit_seconds_bucket{environment="production",le="1800"}[30m])) < '
        '0.9 * sum by (network) (rate(ballast_payment_credit_seconds_count{environment="production"}[30m]))',
        "10m",
        "warning",
        "Compare with `ballast_finality_lag_blocks`, then see that the chain worker keeps up.",
        AlarmKind.FINALITY_STALLED,
    ),
    buckets=(5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200),
)
PAYOUTS_WAITING = Metric(
    "ballast_payouts_waiting",
    "gauge",
    (*PLACE, "hold_reason"),
    "Payouts that are neither sent nor over, by why they are held; an empty reason: ready.",
    instead="how many; `ballast_payouts_oldest_seconds` has the alert",
)
PAYOUTS_OLDEST = Metric(
    "ballast_payouts_oldest_seconds",
    "gauge",
    (*PLACE, "hold_reason"),
    "Age of the oldest of them.",
    Alert(
        "BallastPayoutsWait",
        "one of production waits for 2 hours; for a decision of people, for a day",
        'ballast_payouts_oldest_seconds{environment="production",hold_reason!~"approval|held_for_review"} > 7200 or '
        'ballast_payouts_oldest_seconds{environment="production"} > 86400',
        "5m",
        "warning",
        "Admin → Payouts says why each is held.",
        AlarmKind.PAYOUTS_STOPPED,
    ),
)
HOT_WALLET = Metric(
    "ballast_hot_wallet_coins",
    "gauge",
    (*PLACE, "asset"),
    "Coins in the hot wallet by the ledger, in whole coins: for a graph, never for books.",
    instead="a lower limit of your own; `refill_needed` is the alarm",
)
GAS = Metric(
    "ballast_gas_tank_sweeps_left",
    "gauge",
    PLACE,
    "Sweeps of 50 new addresses that the gas balance pays for, as last measured.",
    Alert(
        "BallastGasLow",
        "fewer than 1 in production",
        'ballast_gas_tank_sweeps_left{environment="production"} < 1',
        "5m",
        "critical",
        "Send native coins to the hot wallet. Without it nothing is paid and nothing is swept.",
        AlarmKind.GAS_TANK_LOW,
    ),
)
BACKLOG = Metric(
    "ballast_webhook_backlog",
    "gauge",
    ("environment",),
    "Deliveries that are due and not sent yet, to endpoints that do not fail.",
    instead="how many; `ballast_webhook_oldest_seconds` has the alert",
)
BACKLOG_OLDEST = Metric(
    "ballast_webhook_oldest_seconds",
    "gauge",
    ("environment",),
    "For how long the oldest of them has been due; 0 without one.",
    Alert(
        "BallastWebhooksLate",
        "it is above 5 minutes in production",
        'ballast_webhook_oldest_seconds{environment="production"} > 300',
        "5m",
        "critical",
        "See that the webhooks worker runs, and Admin → Endpoints for one that answers slowly.",
        AlarmKind.WORK_BEHIND,
    ),
)
DELIVERY_SECONDS = Metric(
    "ballast_webhook_delivery_seconds",
    "histogram",
    ("environment",),
    "Seconds from an event to its arrival at an endpoint, for those that arrived.",
    Alert(
        "BallastWebhooksSlow",
        "half take longer than a minute",
        'sum(rate(ballast_webhook_delivery_seconds_bucket{environment="production",le="60"}[15m])) < '
        '0.5 * sum(rate(ballast_webhook_delivery_seconds_count{environment="production"}[15m]))',
        "15m",
        "warning",
        "See that the webhooks worker runs and has room; add another one.",
        AlarmKind.WORK_BEHIND,
    ),
    buckets=(1, 2, 5, 10, 30, 60, 300, 1800, 7200, 43200, 86400),
)
SUSPENSE = Metric(
    "ballast_suspense_coins",
    "gauge",
    (*PLACE, "asset", "kind"),
    "Money in suspense that waits for a decision, in whole coins.",
    instead="a limit of your own; people decide in Admin → Discrepancies",
)
HTTP = Metric(
    "ballast_http_requests_total",
    "counter",
    ("environment", "method", "route", "status"),
    "API requests with a known key, from their log, a minute late. Pages, and strangers, are the proxy's to count.",
    Alert(
        "BallastApiFails",
        "more than 1 % of replies are 5xx",
        'sum(rate(ballast_http_requests_total{status=~"5.."}[10m])) > 0.01 * '
        "sum(rate(ballast_http_requests_total[10m]))",
        "5m",
        "critical",
        "Read the log of the web processes, and /health/ready of each.",
    ),
)

METRICS = (
    INFO,
    READING_FAILURES,
    WORK_AGE,
    WORK_LIMIT,
    CLOCK_OFF,
    ALARMS,
    FINDINGS,
    RECONCILE_AGE,
    BACKUP_AGE,
    DRILL_OK,
    HEAD_AGE,
    FINALITY_LAG,
    PROVIDER_UP,
    DISAGREEMENTS,
    PAYMENTS,
    CREDIT_SECONDS,
    PAYOUTS_WAITING,
    PAYOUTS_OLDEST,
    HOT_WALLET,
    GAS,
    BACKLOG,
    BACKLOG_OLDEST,
    DELIVERY_SECONDS,
    SUSPENSE,
    HTTP,
)

WARNINGS = frozenset(
    {
        AlarmKind.PROVIDER_FAILING,
        AlarmKind.PROVIDER_OLD_HEAD,
        AlarmKind.PROVIDER_DISAGREES,
        AlarmKind.PROVIDER_PUT_ASIDE,
        AlarmKind.COIN_PAUSED,
        AlarmKind.TRANSFER_STUCK,
        AlarmKind.SWEEP_STUCK,
        AlarmKind.ADDRESS_PASSED_OVER,
        AlarmKind.REFILL_NEEDED,
        AlarmKind.COINS_SET_ASIDE,
        AlarmKind.SCREENED,
        AlarmKind.RECORD_SET_ASIDE,
        AlarmKind.CLOCK_OFF,
    }
)
"""Kinds of alarms that can wait for the morning; the rest are critical."""
