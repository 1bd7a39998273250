"""What processes do when they start: they log warnings, and beat serves the metrics."""

from __future__ import annotations

import structlog
from celery.signals import beat_init
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environments import Environment
from payments.chains import registry
from payments.chains.settings_parser import single_provider_name

logger = structlog.get_logger(__name__)


def warn_of_single_providers() -> None:
    """Log one line for each network where a single provider decides about credits and payouts, and for each provider of
    which several addresses count as one."""
    for environment in Environment.values:
        try:
            found, several = registry.decided_by_one(environment), registry.counted_as_one(environment)
        except ImproperlyConfigured:
            continue  # the processes that use the networks report what is wrong
        for network in found:
            logger.warning(
                "one provider decides about money alone",
                environment=str(environment),
                network=network,
                see=see(network),
            )
        for network, owner, count in ((name, *each) for name, owners in several.items() for each in owners.items()):
            logger.warning(
                "several addresses count as one provider, and the first is asked",
                environment=str(environment),
                network=network,
                provider=owner,
                addresses=count,
                see="SEPARATE_PROVIDERS in docs/networks.md",
            )


def see(network: str) -> str:
    return f"{single_provider_name(network)} in docs/networks.md"


def serve_metrics_beside_beat() -> None:
    """Have beat serve /metrics where METRICS_PORT is set. Nothing of it is imported where it is not."""
    if settings.METRICS_PORT:
        from payments.monitoring.metrics.serving import serve

        beat_init.connect(serve)
