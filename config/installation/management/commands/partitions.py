"""`manage.py partitions`: the months of the tables that have one partition for each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from config.database.months import detach_month, make_months, months_of


class Command(BaseCommand):
    help = (
        "Shows the months of the tables that are partitioned by month, with about how many rows they have and their "
        "size. The hourly tasks make and drop them by themselves; --make and --detach are for hands."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--make", action="store_true", help="Make the months up to the next one.")
        parser.add_argument(
            "--detach",
            metavar="PARTITION",
            help="Make a month a table of its own, to keep it elsewhere and drop it. As the owner of the tables.",
        )

    def handle(self, *, make: bool, detach: str | None, **options: Any) -> None:
        months = months_of()
        try:
            if make:
                for table in sorted({month.table for month in months}):
                    make_months(table)
            if detach:
                month = next((month for month in months if month.name == detach and month.until), None)
                if month is None:
                    raise CommandError(f"{detach} is no month of a table.")
                detach_month(month)
        except DatabaseError as error:
            raise CommandError(f"{error}Try again later, or as the owner of the tables.") from error
        row = "{:<36}{:<12}{:<12}{:>14}{:>12}"
        self.stdout.write(row.format("partition", "from", "until", "rows, about", "MiB"))
        for month in months_of():
            span = ("…", "…") if month.until is None else (_day(month.since), _day(month.until))
            self.stdout.write(row.format(month.name, *span, f"{month.rows:,}", f"{month.size / 2**20:,.1f}"))


def _day(instant: datetime | None) -> str:
    return "…" if instant is None else f"{instant:%Y-%m-%d}"
