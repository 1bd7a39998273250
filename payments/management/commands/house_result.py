"""`manage.py house_result`: what the house earned and spent by month, coin and account, as CSV."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from payments.monitoring.accounting.result import months_between, result_csv


class Command(BaseCommand):
    help = "Writes what the house earned and spent in months of UTC, as CSV to standard output. Each coin is by itself."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--from", dest="first", type=_month, required=True, metavar="MONTH", help="2027-01")
        parser.add_argument("--to", dest="last", type=_month, metavar="MONTH", help="Default: the same month.")

    def handle(self, **options: Any) -> None:
        first, last = options["first"], options["last"] or options["first"]
        if last < first:
            raise CommandError("--to is before --from.")
        for line in result_csv(options["env"], months_between(first, last)):
            self.stdout.write(line, ending="")


def _month(text: str) -> date:
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        raise ArgumentTypeError(f"{text} is no month such as 2027-01") from None
