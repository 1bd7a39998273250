"""What a run of the command does to payouts, and how a person lets them go on."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.installation.models import Sign, Standstill
from merchants.ledger.checking import Finding, Scope, invariant
from merchants.ledger.models import ReconcileRun, Stop
from tests.factories import make_user
from tests.ledger.books import COINS, available_account, move, receivable_account
from tests.ledger.reconciling import STELLAR_COINS, forge_balance, run, stopped

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ledger_checks_only")]


class TestBreakers:
    def test_an_error_stops_payouts_where_it_was_found(self, books: None) -> None:
        move(9, debit=STELLAR_COINS, credit=available_account(network="stellar"))
        forge_balance()
        code, out, _ = run("--network", "ethereum")
        assert code == 2
        assert stopped() == [("sandbox", "ethereum")]
        assert "Payouts stopped: sandbox ethereum\n" in out
        stop = Stop.objects.get()
        found = "I3 sandbox ethereum USDC chain:deposit: expected 140, found 141"
        assert stop.reason == f"reconcile {ReconcileRun.objects.get().pk}: {found}"
        assert ReconcileRun.objects.get().breakers == [
            {"environment": "sandbox", "network": "ethereum", "reason": found, "isNew": True}
        ]

    def test_an_error_that_names_no_network_stops_all_that_were_looked_at(self, books: None) -> None:
        move(9, debit=STELLAR_COINS, credit=available_account(network="stellar"))
        move(9, debit=COINS, credit=available_account(), environment="production")

        @invariant("I0", "the world is whole")
        def finds_nothing_in_particular(scope: Scope) -> Iterator[Finding]:
            yield Finding("the world", "whole", "broken", "look")

        assert run("--env", "sandbox", "--network", "stellar")[0] == 2
        assert stopped() == [("sandbox", "stellar")]
        assert run("--env", "sandbox")[0] == 2
        assert stopped() == [("sandbox", "ethereum"), ("sandbox", "stellar")]
        assert run()[0] == 2
        assert stopped() == [("production", "ethereum"), ("sandbox", "ethereum"), ("sandbox", "stellar")]

    def test_an_error_of_an_environment_leaves_the_other_alone(self, books: None) -> None:
        move(9, debit=COINS, credit=available_account(), environment="production")

        @invariant("I0", "the world is whole")
        def finds_something_in_production(scope: Scope) -> Iterator[Finding]:
            yield Finding("the world", "whole", "broken", "look", environment="production")

        run()
        assert stopped() == [("production", "ethereum")]

    def test_nothing_is_stopped_nor_done_while_a_restored_database_stands_still(self, books: None) -> None:
        """The movements since the backup are not in the ledger yet."""
        done = []

        @invariant("I0", "nothing is to be done")
        def finds_something_to_do(scope: Scope) -> Iterator[Finding]:
            scope.afterwards(lambda: done.append("held"))
            return iter(())

        forge_balance()
        now = timezone.now()
        standstill = Standstill.objects.create(sign=Sign.DECLARED, message="", complete_until=now, began_at=now)
        assert (run()[0], stopped(), done) == (2, [], [])
        standstill.delete()
        assert (run()[0], stopped(), done) == (2, [("sandbox", "ethereum")], ["held"])

    def test_a_warning_stops_nothing(self, books: None) -> None:
        move(10, debit=receivable_account(), credit=COINS)
        assert run()[0] == 1
        assert stopped() == []

    def test_an_error_beside_a_crash_stops_payouts_as_well(self, books: None) -> None:
        forge_balance()

        @invariant("I0", "nothing is divided by zero")
        def crashes(scope: Scope) -> Iterator[Finding]:
            yield from (Finding("x", 0, 1, "") for _ in scope.rows("SELECT 1 / 0"))

        assert run()[0] == 3
        assert stopped() == [("sandbox", "ethereum")]

    def test_the_first_reason_stays_and_a_clean_run_lets_nothing_go_on(self, books: None) -> None:
        forge_balance(1)
        run()
        first = Stop.objects.get()
        _, out, _ = run()
        assert "Payouts were stopped already: sandbox ethereum\n" in out
        forge_balance(-1)
        code, out, _ = run()
        assert (code, "Payouts" in out) == (0, False)
        assert list(Stop.objects.all()) == [first]
        assert stopped() == [("sandbox", "ethereum")]

    def test_a_person_lets_them_go_on(self, books: None, settings: Settings) -> None:
        settings.SANDBOX_OPERATORS_TO_DECIDE = 1
        forge_balance()
        run()
        shown = io.StringIO()
        call_command("stops", stdout=shown)
        stop = Stop.objects.get()
        assert shown.getvalue().startswith(f"{stop.pk}  ethereum (sandbox) since ")
        assert "lifted by an operator who may change stops" in shown.getvalue()
        ada = make_user(is_staff=True, is_superuser=True)
        call_command("stops", "--lift", str(stop.pk), "--by", ada.email, stdout=io.StringIO())
        assert stopped() == []
        assert Stop.objects.get().lifted_by == ada.email
        with pytest.raises(CommandError, match=f"{stop.pk} does not stand"):
            call_command("stops", "--lift", str(stop.pk), "--by", ada.email)
        shown = io.StringIO()
        call_command("stops", stdout=shown)
        assert shown.getvalue() == "Nothing is stopped.\n"

    def test_a_person_stops_them(self, db: None) -> None:
        place = ("--network", "ethereum", "--env", "sandbox")
        call_command("stops", *place, "--stop", "the key was seen elsewhere", stdout=io.StringIO())
        assert stopped() == [("sandbox", "ethereum")]
        with pytest.raises(CommandError, match="stopped already"):
            call_command("stops", *place, "--stop", "again")
        call_command("stops", "--env", "production", "--stop", "everything", stdout=io.StringIO())
        assert stopped() == [("production", ""), ("sandbox", "ethereum")]
        with pytest.raises(CommandError, match="--env"):
            call_command("stops", "--stop", "why")
        with pytest.raises(CommandError, match="polygn is not in use"):
            call_command("stops", "--env", "sandbox", "--network", "polygn", "--stop", "why")
