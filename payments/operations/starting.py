"""Warnings that every process logs when it starts."""

from __future__ import annotations

import structlog
from django.core.exceptions import ImproperlyConfigured

from config.environments import Environment
from payments.chains import registry
from payments.chains.operator_settings import single_provider_name

logger = structlog.get_logger(__name__)


def warn_of_single_providers() -> None:
    """One line for each network where whatever one provider says is credited and paid."""
    for environment in Environment.values:
        try:
            found = registry.decided_by_one(environment)
        except ImproperlyConfigured:
            continue  # the processes that use the networks report what is wrong
        for network in found:
            logger.warning(
                "one provider decides about money alone",
                environment=str(environment),
                network=network,
                see=see(network),
            )


def see(network: str) -> str:
    return f"{single_provider_name(network)} in docs/networks.md"
