"""What every process says when it starts."""

from __future__ import annotations

import structlog
from django.core.exceptions import ImproperlyConfigured

from config.environments import Environment
from payments.chains import registry

logger = structlog.get_logger(__name__)


def warn_of_single_providers() -> None:
    """One line for each network where whatever one provider says is credited and paid."""
    for environment in Environment.values:
        try:
            found = registry.decided_by_one(environment)
        except ImproperlyConfigured:
            continue  # whoever uses the networks says what is wrong
        for network in found:
            logger.warning(
                "one provider decides about money alone", environment=str(environment), network=network, see=SEE
            )


SEE = "EVM_SINGLE_PROVIDER_NETWORKS in docs/networks.md"
