"""Serves the metrics on a port of its own, from the process of beat. A scrape costs a bounded number of queries."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import accumulate
from threading import Lock
from typing import Final
from wsgiref.simple_server import WSGIServer

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from payments.monitoring.metrics import definitions as metrics
from payments.monitoring.metrics.counting import LATE, Counted, counters
from payments.monitoring.metrics.definitions import Metric
from payments.monitoring.metrics.readings import GAUGES, Sample

logger = structlog.get_logger(__name__)

KEPT_SECONDS: Final = 5.0
"""How long the same numbers are given again, whoever asks."""
READING_TIMEOUT: Final = "2s"
"""Of each statement: a number that takes longer is left out."""


class Installation(Collector):
    """All metrics of this installation. A number that cannot be computed is left out, and that is counted."""

    def __init__(self, *, kept_seconds: float = KEPT_SECONDS, late: timedelta = LATE) -> None:
        self._kept_seconds = kept_seconds
        self._counted = counters(late)
        names = [*(reading.__name__ for reading in GAUGES), *self._counted]
        self._failures: Counter[str] = Counter(dict.fromkeys(names, 0))
        self._one_at_a_time = Lock()
        self._families: list[Family] = []
        self._read_at = float("-inf")

    def collect(self) -> Iterable[Family]:
        with self._one_at_a_time:
            if time.monotonic() - self._read_at >= self._kept_seconds:
                self._families = list(self._read())
                self._read_at = time.monotonic()
            return self._families

    def _read(self) -> Iterator[Family]:
        samples: defaultdict[str, list[Sample]] = defaultdict(list)
        try:
            connection.ensure_connection()
            for reading in GAUGES:
                with self._contained(reading.__name__):
                    for sample in list(reading()):
                        samples[sample.metric.name].append(sample)
            for name, counted in self._counted.items():
                with self._contained(name):
                    counted.look()
        except DatabaseError as error:
            self._failures.update(self._failures.keys())  # there is no database: one attempt to connect is enough
            logger.warning("metrics_not_read", reading="all", error=str(error))
        finally:
            if not connection.in_atomic_block:
                connection.close()  # the next scrape has another thread
        for metric in metrics.METRICS:
            if metric.name in samples:
                yield _simple(metric, ((each.labels, each.value) for each in samples[metric.name]))
        for counted in self._counted.values():
            yield _counted(counted)
        yield _simple(metrics.READING_FAILURES, (((name,), count) for name, count in self._failures.items()))

    @contextmanager
    def _contained(self, name: str) -> Iterator[None]:
        """Count a failure, and go on without these numbers."""
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SELECT set_config('statement_timeout', %s, true)", [READING_TIMEOUT])
                yield
        except Exception as error:
            self._failures[name] += 1
            logger.warning("metrics_not_read", reading=name, error=str(error))


def _simple(metric: Metric, values: Iterable[tuple[tuple[str, ...], float]]) -> Family:
    make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = make(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in values:
        family.add_metric(labels, value)
    return family


def _counted(counted: Counted) -> Family:
    metric = counted.metric
    if not metric.buckets:
        return _simple(metric, counted.totals.items())
    family = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    limits = [*map(str, metric.buckets), "+Inf"]
    for labels, histogram in counted.histograms.items():
        cumulative = accumulate(histogram.counts)
        family.add_metric(labels, list(zip(limits, cumulative, strict=True)), histogram.sum)
    return family


def serve(**_: object) -> WSGIServer | None:
    """Serve /metrics in threads beside beat. A port that is taken is logged: beat goes on without."""
    registry = CollectorRegistry(auto_describe=False)  # with nothing of the process or of Python
    registry.register(Installation())
    try:
        server, _thread = start_http_server(settings.METRICS_PORT, addr=settings.METRICS_ADDRESS, registry=registry)
    except OSError as error:
        logger.error("metrics_not_served", port=settings.METRICS_PORT, error=str(error))
        return None
    logger.info("metrics_served", address=settings.METRICS_ADDRESS, port=settings.METRICS_PORT)
    return server
