"""Imports of sanctions lists: one takes the place of the list of the same source, all at once."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from merchants.ledger import stops
from payments.screening.formats import Entry, ParsedList, parse
from payments.screening.models import ListedAddress, SanctionsList

logger = structlog.get_logger(__name__)

ORACLE = "oracle of"
"""The beginning of the source of addresses that a contract on a network has named; no file."""


class ListIsOlder(DomainError):
    code = "sanctions_list_is_older"
    message = "A newer list of this source is in force."


class NamesNoAddress(DomainError):
    code = "sanctions_list_names_no_address"
    message = (
        "This file names no address, and the list of its source that is in force does: it may be another list. A CSV "
        "of address alone takes a list out of force."
    )


class ListInForce(DomainError):
    code = "sanctions_list_in_force"
    message = "This very file is in force already."


def import_list(file: BufferedReader[Any], *, name: str, source: str = "") -> SanctionsList:
    """Import a list in place of the one of its source. `source` is needed where the file does not name its own.

    ListUnreadable, ListInForce, ListIsOlder, NamesNoAddress or InvalidParameter, and nothing has changed. What is just
    being signed is waited for: nothing is signed after it that was not compared with it.
    """
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    parsed = parse(file)
    source = (source or parsed.source).strip().lower()
    if not source or source.startswith(ORACLE) or len(source) > _LONGEST_SOURCE:
        raise InvalidParameter("Say whose list it is, in at most 40 letters.", param="source")
    with transaction.atomic():
        for environment in sorted(Environment.values):
            stops.lock_signing(environment)
        before = SanctionsList.objects.select_for_update().filter(source=source, replaced_at__isnull=True).first()
        if before is not None:
            _require_newer(before, parsed, digest)
            before.addresses.all().delete()
            SanctionsList.objects.filter(pk=before.pk).update(replaced_at=timezone.now(), compare_at=None)
        now = SanctionsList.objects.create(
            source=source,
            file_name=Path(name).name[:200],
            sha256=digest,
            published_on=parsed.published_on,
            entry_count=parsed.entries,
            address_count=len(parsed.addresses),
            foreign_count=len(parsed.foreign),
        )
        ListedAddress.objects.bulk_create(_rows(now, parsed), batch_size=1000)
    logger.warning("sanctions list imported", list=str(now), addresses=now.address_count)
    return now


def in_force() -> Collection[SanctionsList]:
    """The lists in force, by source."""
    return list(SanctionsList.objects.filter(replaced_at__isnull=True).order_by("source"))


_LONGEST_SOURCE = 40


def _require_newer(before: SanctionsList, parsed: ParsedList, digest: str) -> None:
    if before.sha256 == digest:
        raise ListInForce
    if before.published_on and parsed.published_on and parsed.published_on < before.published_on:
        raise ListIsOlder(f"The list in force is of {before.published_on}, this file of {parsed.published_on}.")
    if parsed.entries and before.address_count and not parsed.addresses:
        raise NamesNoAddress


def _rows(source: SanctionsList, parsed: ParsedList) -> Iterator[ListedAddress]:
    for address, entry in sorted(parsed.addresses.items(), key=lambda each: each[0]):
        yield _row(source, address, entry)


def _row(source: SanctionsList, address: str, entry: Entry) -> ListedAddress:
    return ListedAddress(
        source=source,
        address=address,
        entry=entry.number[:40],
        name=entry.name[:300],
        programme=entry.programme[:200],
    )
