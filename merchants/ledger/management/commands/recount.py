"""`manage.py recount`: corrects stored figures by what they count."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.database.counters import correct
from merchants.ledger.checking import registered


class Command(BaseCommand):
    help = (
        "Corrects stored figures by what they count: totals of lists, turnover, sums of days. Figures stay there "
        "meanwhile; whoever posts waits for I3d."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("codes", nargs="*", help="As reconcile names the check: C1, I3d. Default: all.")

    def handle(self, *, codes: list[str], **options: Any) -> None:
        counters = {each.code: each.counter for each in registered() if each.counter is not None}
        if unknown := set(codes) - counters.keys():
            raise CommandError(f"nothing is counted for {', '.join(sorted(unknown))}: choose of {', '.join(counters)}")
        for code in codes or counters:
            self.stdout.write(f"{code}: {correct(counters[code])} figures were wrong and are corrected.")
