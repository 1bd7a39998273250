"""`manage.py export_ledger`: writes the ledger of a period to a file."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.environments import Environment
from payments.monitoring.accounting.files import FORMATS, file_name
from payments.monitoring.accounting.periods import Days
from payments.treasury.wallet_balances import one_view_of_the_ledger


class Command(BaseCommand):
    help = (
        "Writes the ledger of whole days of UTC as a file. It is written in one view of the database and in constant "
        "memory."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--env", choices=Environment.values, required=True)
        parser.add_argument("--from", dest="first", type=_day, required=True, metavar="DATE", help="The first day.")
        parser.add_argument("--to", dest="last", type=_day, required=True, metavar="DATE", help="The last day.")
        parser.add_argument("--format", choices=list(FORMATS), default="journal", help="Default: journal.")
        parser.add_argument("--out", metavar="FILE", help="Where to. Default: a name made of the period; - is stdout.")

    def handle(self, **options: Any) -> None:
        if options["last"] < options["first"]:
            raise CommandError("--to is before --from.")
        environment, form = options["env"], options["format"]
        days = Days(options["first"], options["last"])
        path = options["out"] or file_name(environment, days, form)
        with one_view_of_the_ledger():
            texts = FORMATS[form][0](environment, days)
            if path == "-":
                for text in texts:
                    self.stdout.write(text, ending="")
                return
            try:
                with Path(path).open("x", encoding="utf-8", newline="") as file:
                    file.writelines(texts)
            except OSError as error:
                raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        self.stdout.write(self.style.SUCCESS(path))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text} is no date such as 2027-01-31") from None
