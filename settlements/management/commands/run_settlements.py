"""`manage.py run_settlements`: makes the runs that are due, or with --now one for everybody with money to settle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.money import format_crypto
from merchants.models import Merchant
from payments.models import BalanceChange
from settlements import due_runs, services
from settlements.models import DebtOffset, Settlement, SettlementRun

REQUESTED_BY = "manage.py run_settlements"


class Command(BaseCommand):
    help = "Makes the settlements of every period that has ended. What they pay is sent by the workers."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--now", action="store_true", help="Settle up to this moment, whatever the merchants' schedules say."
        )
        parser.add_argument("--merchant", metavar="mer_…", help="Only this merchant.")
        parser.add_argument("--env", choices=Environment.values, help="Only this environment. Default: both.")

    def handle(self, *args: Any, **options: Any) -> None:
        merchant = _merchant(options["merchant"]) if options["merchant"] else None
        self._made: list[SettlementRun] = []
        if options["now"]:
            failed = self._run_now(merchant, options["env"])
        else:
            failed = 0
            due_runs.run_due(timezone.now(), merchant=merchant, environment=options["env"], on_run=self._show_progress)
        if self._shows_progress:
            self.stderr.write("\r\x1b[K", ending="")
        self._show_settlements()
        if failed:
            raise CommandError(f"{failed} runs could not be made; the log says why.")

    def _run_now(self, merchant: Merchant | None, environment: str | None) -> int:
        failed = 0
        for owner, owner_environment in _with_money(merchant, environment):
            try:
                run = services.run_now(merchant=owner, environment=owner_environment, requested_by=REQUESTED_BY)
            except Exception:
                due_runs.logger.exception(
                    "settlement run failed", merchant=str(owner.pk), environment=owner_environment
                )
                failed += 1
            else:
                self._show_progress(run)
        return failed

    @property
    def _shows_progress(self) -> bool:
        return self.stderr.isatty()

    def _show_progress(self, run: SettlementRun) -> None:
        self._made.append(run)
        if self._shows_progress:
            self.stderr.write(f"\r{len(self._made):,} runs, the last of {run.merchant.name[:40]} …\x1b[K", ending="")
            self.stderr.flush()

    def _show_settlements(self) -> None:
        settlements = 0
        for run in self._made:
            for settlement in run.settlements.order_by("network", "destination"):
                settlements += 1
                self.stdout.write(_line(run, settlement))
            for offset in run.offsets.order_by("id"):
                self.stdout.write(_offset_line(run, offset))
            for left in run.carried_over:
                amount = format_crypto(int(left["amount"]), left["decimals"])
                self.stdout.write(
                    f"  {run.environment:<10}  {run.merchant.name[:24]:<24}  {left['network']:<8}  "
                    f"{amount:>20} {left['coin']:<4}  carried over: {left['reason']}"
                )
        self.stdout.write(self.style.SUCCESS(f"{len(self._made):,} runs, {settlements:,} settlements"))


def _line(run: SettlementRun, settlement: Settlement) -> str:
    amount = format_crypto(settlement.amount, settlement.decimals)
    return (
        f"  {run.environment:<10}  {run.merchant.name[:24]:<24}  {settlement.network:<8}  "
        f"{amount:>20} {settlement.currency:<4}  {settlement.public_id} to {settlement.destination}"
    )


def _offset_line(run: SettlementRun, offset: DebtOffset) -> str:
    amount, repaid = format_crypto(offset.amount, offset.decimals), format_crypto(offset.repaid, offset.debt_decimals)
    return (
        f"  {run.environment:<10}  {run.merchant.name[:24]:<24}  {offset.network:<8}  {amount:>20} {offset.asset:<4}  "
        f"repays {repaid} {offset.debt_asset} owed on {offset.debt_network}"
    )


def _merchant(public_id: str) -> Merchant:
    key = ids.MERCHANT.decode(public_id)
    found = key and Merchant.objects.filter(pk=key).first()
    if not found:
        raise CommandError(f"There is no merchant {public_id}.")
    return found


def _with_money(merchant: Merchant | None, environment: str | None) -> Iterator[tuple[Merchant, str]]:
    """Merchants who are not suspended and have something unsettled."""
    unsettled = BalanceChange.objects.filter(settlement__isnull=True, merchant__is_active=True)
    if merchant is not None:
        unsettled = unsettled.filter(merchant=merchant)
    if environment is not None:
        unsettled = unsettled.filter(environment=environment)
    for owner, owner_environment in list(unsettled.order_by().values_list("merchant", "environment").distinct()):
        yield Merchant.objects.get(pk=owner), owner_environment
