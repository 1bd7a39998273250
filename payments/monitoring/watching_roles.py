"""Watches who holds the roles of the factory that deposits are swept by: now, and each change with who made it."""

from __future__ import annotations

from dataclasses import asdict

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from payments.chains import registry
from payments.chains.errors import ChainError
from payments.monitoring.models import NetworkSnapshot, RoleChange

logger = structlog.get_logger(__name__)


def watch_roles(environment: str, network: str) -> None:
    """Read the roles of one network, and their changes up to its newest block. While it does not answer, what was read
    stays.

    Blocks that are not final yet are read again the next time; a change that a reorganisation undid stays a row.
    """
    snapshot, _ = NetworkSnapshot.objects.get_or_create(environment=environment, network=network)
    try:
        chain = registry.chain(environment, network)
        roles, head = chain.roles.holders() if chain.roles else (), chain.reading.head()
        known = head.finalized_height if snapshot.roles_height is None else snapshot.roles_height
        changes = chain.roles.changes(first_height=known + 1, last_height=head.height) if chain.roles else ()
    except (ChainError, ImproperlyConfigured) as error:
        logger.warning("roles not read", environment=environment, network=network, error=str(error))
        return
    here = {"environment": environment, "network": network}
    with transaction.atomic():
        rows = [RoleChange(**here, **asdict(change)) for change in changes]
        RoleChange.objects.bulk_create(rows, ignore_conflicts=True)
        NetworkSnapshot.objects.filter(pk=snapshot.pk).update(
            roles=[asdict(role) for role in roles], roles_height=head.finalized_height
        )
