"""A table of records like any that is listed and counted, without the rules of a real one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from django.db import connection, models

from config import ids
from merchants.counting import Counted


class Probe(models.Model):
    id = models.UUIDField(primary_key=True, default=ids.new_uuid)
    merchant_id = models.UUIDField()
    environment = models.CharField(max_length=10)
    status = models.CharField(max_length=20)

    objects: ClassVar[models.Manager[Probe]] = models.Manager()

    class Meta:
        app_label = "probe"
        indexes: ClassVar = [models.Index(fields=["merchant_id", "environment", "status", "id"], name="probe_list")]

    def __str__(self) -> str:
        return str(self.id)


PROBES = Counted("probe", Probe)


@contextmanager
def probe_table() -> Iterator[None]:
    """The table, for as long as the block lasts."""
    with connection.schema_editor() as editor:
        editor.create_model(Probe)
    try:
        yield
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(Probe)
