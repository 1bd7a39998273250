"""A finding that an operator has explained is listed by every run, and nothing reacts to it until it changes."""

from __future__ import annotations

import getpass
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.four_eyes.models import Proposal
from merchants.four_eyes.services import agree
from merchants.ledger import explained_findings
from merchants.ledger.checking import Finding, Scope, invariant
from merchants.ledger.models import ExplainedFinding, ReconcileRun, Stop
from merchants.models import User
from tests.agreeing import agree_to_what_waits
from tests.factories import PASSWORD, make_user
from tests.ledger.reconciling import forge_balance, run, stopped
from tests.stopping import lift

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("ledger_checks_only")]
SUBJECT = "sandbox ethereum USDC chain:deposit"


@pytest.fixture(autouse=True)
def ada(settings: Settings) -> User:
    settings.OPERATORS_TO_DECIDE = settings.SANDBOX_OPERATORS_TO_DECIDE = 1
    return make_user("ada@example.com", is_staff=True, is_superuser=True)


def explain(finding: str, **changes: str) -> str:
    said = StringIO()
    options = {"note": "A fee of the token.", "until": "2199-01-01", "by": "ada@example.com", **changes}
    call_command("explain_finding", finding, *(f"--{name}={value}" for name, value in options.items()), stdout=said)
    return said.getvalue()


def the_finding() -> str:
    """The id of the only finding of the newest run."""
    [found] = ReconcileRun.objects.order_by("-id")[0].findings
    return str(found["id"])


def test_neither_exit_code_nor_breaker_reacts_until_its_figure_changes(books: None) -> None:
    forge_balance()
    code, out, _ = run()
    assert code == 2
    found = the_finding()
    assert re.search(rf"error: {SUBJECT}\n.*\n *→ .*  \[{found}\]\n", out)
    assert "says ada@example.com. Done." in explain(found)
    lift(environment="sandbox", network="ethereum", by="Ada")

    for _ in range(2):
        code, out, _ = run()
        assert (code, stopped()) == (0, [])
        assert f"explained: {SUBJECT}\n" in out
        assert f"ada@example.com, until 2199-01-01T00:00: A fee of the token.  [{found}]\n" in out
        assert "0 errors, 0 warnings, 1 explained in" in out
        assert "Value explained: 100" not in out, "the coins are missing all the same"

    forge_balance()
    code, out, _ = run()
    assert code == 2
    assert stopped() == [("sandbox", "ethereum")]
    assert the_finding() != found


def test_it_counts_again_when_its_time_is_over_or_it_is_withdrawn(books: None) -> None:
    forge_balance()
    run()
    explain(the_finding())
    assert run()[0] == 0
    ExplainedFinding.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert run()[0] == 2
    explain(the_finding(), note="Still so.")
    assert run()[0] == 0
    call_command("explain_finding", the_finding(), withdraw=True, by="Grace", stdout=StringIO())
    assert run()[0] == 2
    assert ExplainedFinding.objects.order_by("pk")[1].withdrawn_by == "Grace"


def test_a_finding_keeps_its_identity_when_its_subject_names_the_moment(books: None) -> None:
    heights = iter(range(100, 200))

    @invariant("I0", "the wallet is full")
    def names_a_height(scope: Scope) -> Iterator[Finding]:
        yield Finding(f"wallet at block {next(heights)}", 7, 5, "look", delta=-2, identity="wallet")

    assert run("--network", "ethereum")[0] == 2
    explain(the_finding())
    assert run("--network", "ethereum")[0] == 0


@pytest.mark.parametrize(
    ("finding", "changes", "said"),
    [
        ("ffffffffffff", {}, "No run that is kept has a finding with this id."),
        ("", {"by": "Ada"}, "Ada is no operator who may do this."),
        ("", {"note": " "}, "Say what it is."),
        ("", {"until": "2020-01-01"}, "still to come"),
        ("", {"note": ""}, "--note and --until"),
    ],
)
def test_what_is_no_explanation_is_refused(books: None, finding: str, changes: dict[str, str], said: str) -> None:
    forge_balance()
    run()
    with pytest.raises(CommandError, match=re.escape(said)):
        explain(finding or the_finding(), **changes)
    assert not ExplainedFinding.objects.exists()


def test_an_operator_explains_in_the_admin_and_the_log_says_so(books: None) -> None:
    forge_balance()
    run()
    user = make_user(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["add_explainedfinding", "view_explainedfinding"]))
    browser, add = Client(), reverse("admin:ledger_explainedfinding_add")
    browser.force_login(user)
    said = {"finding": the_finding(), "note": "A fee.", "until_0": "2199-01-01", "until_1": "00:00"}
    assert "still to come" in browser.post(add, said | {"until_0": "2020-01-01"}).text
    assert browser.post(add, said).status_code == 302
    explained = ExplainedFinding.objects.get()
    assert (explained.subject, explained.explained_by) == (SUBJECT, user.get_username())
    assert LogEntry.objects.get().user == user
    assert run()[0] == 0
    act = {"action": "withdraw", "_selected_action": [explained.pk], "confirmed": "yes"}
    browser.post(reverse("admin:ledger_explainedfinding_changelist"), act)
    assert explained_findings.in_force(timezone.now()) == {}


def test_explaining_takes_two_who_show_who_they_are(
    books: None, ada: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge_balance()
    run()
    settings.SANDBOX_OPERATORS_TO_DECIDE = 2
    typed = iter(["a guess", PASSWORD, PASSWORD])
    monkeypatch.setattr(getpass, "getpass", lambda prompt: next(typed))
    found = the_finding()
    with pytest.raises(CommandError, match="not the password"):
        explain(found)
    for _ in range(2):
        assert "Waits for another operator" in explain(found)
        assert not ExplainedFinding.objects.exists()
    browser, add = Client(), reverse("admin:ledger_explainedfinding_add")
    browser.force_login(make_user("bob@example.com", is_staff=True, is_superuser=True))
    said = {"finding": found, "note": "Another.", "until_0": "2199-01-01", "until_1": "00:00"}
    assert "another operator must agree" in browser.post(add, said, follow=True).text
    assert not ExplainedFinding.objects.exists()
    browser.post(add, said | {"note": "A fee of the token."})
    [waiting] = Proposal.objects.filter(status="waiting")
    assert agree(waiting, by=ada).status == "done"
    assert ExplainedFinding.objects.get().explained_by == "bob@example.com, ada@example.com"
    assert run()[0] == 0


def test_lifting_a_stop_by_the_command_takes_the_same_two(books: None, ada: User, settings: Settings) -> None:
    forge_balance()
    run()
    settings.SANDBOX_OPERATORS_TO_DECIDE = 2
    bob = make_user("bob@example.com", is_staff=True, is_superuser=True)
    close = ("stops", f"--lift={Stop.objects.get().pk}")
    with pytest.raises(CommandError, match="no operator"):
        call_command(*close, "--by=Ada", stdout=StringIO())
    for _ in range(2):
        call_command(*close, "--by=ada@example.com", stdout=StringIO())
    with pytest.raises(CommandError, match="agree in the admin, under Proposals"):
        call_command(*close, "--by=bob@example.com", stdout=StringIO())
    assert stopped() == [("sandbox", "ethereum")]
    agree_to_what_waits(bob)
    assert stopped() == []


def test_a_run_that_did_not_see_everything_gives_a_bound(books: None) -> None:
    _, out, _ = run("--no-chain", "--json", "-")
    summary = json.loads(out.splitlines()[-1])
    assert (summary["valueExplained"], summary["isComplete"]) == ("100.0000", False)
    assert "Value explained: at most 100.0000 %" in run("--no-chain")[1]
