"""Queries a network's sanctions oracle, outside database transactions. What it names is compared as a list's."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

import structlog
from django.db import transaction
from django.utils import timezone

from payments.chains.errors import ChainUnavailable
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.oracles import Verdicts
from payments.screening.lists import ORACLE
from payments.screening.models import ListedAddress, SanctionsList

logger = structlog.get_logger(__name__)

AGAIN_AFTER = timedelta(minutes=1)
GIVEN_UP_AFTER = timedelta(days=1)
"""Time without an answer after which people decide: a day."""


def query_oracle(chain: Chain, addresses: Collection[str]) -> Collection[str]:
    """Query the network's oracle about these addresses, and keep what it names; return those that it answered about.

    Without an oracle that is all of them. No answer does not mean that an address is not named.
    """
    if chain.oracle is None or not addresses:
        return addresses
    try:
        found = chain.oracle.verdicts(sorted(addresses))
    except ChainUnavailable as error:
        logger.warning("the sanctions oracle gives no answer", network=chain.profile.network, error=str(error))
        return ()
    _keep(chain.profile.network, chain.oracle.address, found)
    return found.named.keys()


def no_answer(chain: Chain) -> str:
    """The evidence of an address that the oracle has given no answer about."""
    oracle = chain.oracle.address if chain.oracle else ""
    return f"The sanctions oracle {oracle} on {chain.profile.network} gave no answer within a day."


def _keep(network: str, oracle: str, found: Verdicts) -> None:
    source = SanctionsList.objects.filter(source=f"{ORACLE} {network}", replaced_at__isnull=True)
    ListedAddress.objects.filter(source__in=source.exclude(file_name=oracle)).delete()  # another contract's
    known = dict(ListedAddress.objects.filter(source__in=source, address__in=found.named).values_list("address", "pk"))
    named = [address for address, is_named in found.named.items() if is_named and address not in known]
    gone = [known[address] for address, is_named in found.named.items() if not is_named and address in known]
    if not named and not gone:
        return
    with transaction.atomic():
        if (of := source.select_for_update().first()) is None:
            of = SanctionsList.objects.create(
                source=f"{ORACLE} {network}", entry_count=0, address_count=0, foreign_count=0
            )
        ListedAddress.objects.filter(pk__in=gone).delete()
        rows = [ListedAddress(source=of, address=address, programme=f"block {found.height}") for address in named]
        ListedAddress.objects.bulk_create(rows, ignore_conflicts=True)
        count, now = of.addresses.count(), timezone.now()
        of.file_name, of.entry_count, of.address_count = oracle, count, count
        of.imported_at, of.compare_at = now, now  # what came and left before is compared, as with a new list
        of.save()
    logger.warning("the sanctions oracle's answers changed", network=network, named=named, no_longer=len(gone))
