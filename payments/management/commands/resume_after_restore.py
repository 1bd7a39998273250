"""`manage.py resume_after_restore`: compare a restored database with the chains, and go on."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime

from config.environments import Environment
from config.installation import services as standing
from config.installation.marker import MarkerUnreachable
from config.installation.models import Sign
from merchants.ledger.checking import NetworkKey
from payments.restore.findings import Found, LostDeposit, LostPayout
from payments.restore.services import LOOK_AHEAD, compare_with_chains, go_on


class Command(BaseCommand):
    help = (
        "Compares a restored database with every chain, and lets payments be created and paid again. It reads from "
        "before the backup on, lists money for payments that this database does not have and money that left and the "
        "ledger lacks, and skips every deposit address that may have been given out."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="Only show what would be done.")
        parser.add_argument("--by", default="", help="Your name, which is kept; by default that of your account.")
        parser.add_argument(
            "--since",
            help="Everything before this instant is in the database, as 2026-05-01T12:00Z. By default it is known; say "
            "it for a restore that Ballast could not notice.",
        )
        parser.add_argument(
            "--without",
            action="append",
            default=[],
            metavar="ENVIRONMENT:NETWORK",
            help="Leave out a network that does not answer. Its wallet is frozen until thaw_wallet has looked at it.",
        )
        parser.add_argument(
            "--look-ahead",
            type=int,
            default=LOOK_AHEAD,
            metavar="NUMBERS",
            help=f"For how many address numbers after the last known one money is looked for; default {LOOK_AHEAD}.",
        )
        parser.add_argument(
            "--not-restored", action="store_true", help="It is a false alarm: nothing was restored. Needs --reason."
        )
        parser.add_argument("--reason", default="", help="Why it is a false alarm; it is kept.")

    def handle(self, **options: Any) -> None:
        by = options["by"] or getpass.getuser()
        without = [_network_key(text) for text in options["without"]]
        try:
            if options["not_restored"]:
                self._call_it_a_false_alarm(by, options["reason"].strip())
            else:
                self._resume(by, options["since"], without, options["look_ahead"], is_dry=options["dry_run"])
        except standing.NotStandingStill as error:
            raise CommandError(error.message) from error
        except MarkerUnreachable as error:
            raise CommandError(f"The pulse cannot be noted, so nothing was resumed: {error.__cause__}") from error

    def _call_it_a_false_alarm(self, by: str, reason: str) -> None:
        if not reason:
            raise CommandError("Say by --reason why nothing was restored.")
        standing.keep_pulse()
        standing.resume(ended_by=by, was_restored=False, reason=reason)
        self.stdout.write(self.style.SUCCESS("Payments are created and paid again. No address was skipped."))

    def _resume(
        self, by: str, since_text: str | None, without: list[NetworkKey], look_ahead: int, *, is_dry: bool
    ) -> None:
        since = _instant(since_text) if since_text else None
        standing.keep_pulse()  # a restore that no worker has noticed yet
        standstill = standing.current_standstill()
        if standstill is None:
            if since is None:
                raise CommandError(
                    "This installation does not stand still. If it runs on a restored database all the same, say by "
                    "--since until when that is complete."
                )
            standstill = standing.stand_still(Sign.DECLARED, f"{by} says so.", complete_until=since)
        since = min(since or standstill.complete_until, standstill.complete_until)
        self.stdout.write(f"{standstill.message} Everything until {since:%Y-%m-%d %H:%M:%S} UTC is there.")
        found = compare_with_chains(
            since, without=without, look_ahead=look_ahead, is_dry=is_dry, report=self.stdout.write
        )
        self._show(found)
        if found.problems:
            raise CommandError("Nothing was resumed:\n  " + "\n  ".join(found.problems))
        if is_dry:
            self.stdout.write("Nothing was changed.")
            return
        number = go_on(found, ended_by=by)
        self.stdout.write(self.style.SUCCESS(f"Payments are created and paid again, from address number {number} on."))

    def _show(self, found: Found) -> None:
        self.stdout.write(f"{len(found.deposits)} deposits of payments that this database does not have.")
        for deposit in found.deposits:
            self.stdout.write(_deposit_line(deposit))
        self.stdout.write(f"{len(found.payouts)} transfers out that the ledger lacked; {found.adopted} taken over.")
        self.stdout.write(f"{found.sweeps} sweeps that the ledger lacked were adopted.")
        self.stdout.write(f"{found.without_coins} transactions of ours that moved no coin were adopted.")
        for payout in found.payouts:
            self.stdout.write(_payout_line(payout))
        for wallet in found.frozen:
            self.stdout.write(f"  frozen: {wallet}")


def _deposit_line(found: LostDeposit) -> str:
    to = " ".join(filter(None, [found.address, found.memo]))
    what = f"{found.amount} {found.asset} to {to} (number {found.number})"
    return f"  {found.environment} {found.network} block {found.height}: {what}, {found.transaction}"


def _payout_line(found: LostPayout) -> str:
    to = " ".join(filter(None, [found.recipient, found.memo]))
    verdict = f"has paid {found.paid}" if found.paid else "is unknown"
    what = f"{found.amount} {found.asset} to {to}"
    return f"  {found.environment} {found.network} block {found.height}: {what}, {found.transaction}: {verdict}"


def _network_key(text: str) -> NetworkKey:
    environment, _, network = text.partition(":")
    if environment not in Environment.values or not network:
        raise CommandError(f"--without {text}: say it like production:polygon.")
    return environment, network


def _instant(text: str) -> datetime:
    instant = parse_datetime(text)
    if instant is None:
        raise CommandError(f"--since {text}: say it like 2026-05-01T12:00Z.")
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
