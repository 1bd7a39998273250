"""One list of all that is stopped: why, since when, who lifts it and how."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.installation.models import Sign
from config.installation.services import look, stand_still
from merchants.ledger import stops
from merchants.ledger.models import Stop
from payments.deposits.models import ScanCursor
from payments.transfers.models import Payout, Wallet
from payments.transfers.services import freeze_wallet, note_not_signed
from tests.factories import make_merchant, make_user
from tests.networks import ETHEREUM, POLYGON, STELLAR
from tests.stopping import halt, lift, lift_as_agreed, stop_payouts
from tests.transfers.scenes import COIN, SANDBOX, ask, drive, fresh, stock, the_wallet

pytestmark = pytest.mark.django_db

REFUSAL = "The signer refuses (stopped): The signer was stopped. Looked odd."


def shown() -> str:
    out = StringIO()
    call_command("stops", stdout=out)
    return out.getvalue()


def test_everything_that_is_stopped_is_listed_with_who_lifts_it_and_how() -> None:
    assert shown() == "Nothing is stopped.\n"
    stock(ETHEREUM, 10 * COIN)
    ask(ETHEREUM)
    drive(ETHEREUM)
    wallet = the_wallet(ETHEREUM)
    stop_payouts(environment=SANDBOX, reason="all of it")
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="does not add up")
    stop_payouts(environment=SANDBOX, network=ETHEREUM, asset="USDC", reason="counts otherwise")
    freeze_wallet(wallet, reason="it looks odd")
    note_not_signed(wallet, reason=REFUSAL, is_refused=True)
    look()
    stand_still(Sign.DECLARED, "Ada says so.")
    wanted = {
        "all payouts (sandbox)": ("all of it", "2 operators who may change payout policies", "stops --lift"),
        "ethereum (sandbox)": ("does not add up", "2 operators who may change stops", "stops --lift"),
        "USDC on ethereum (sandbox)": ("counts otherwise", "2 operators who may change stops", "stops --lift"),
        f"wallet {wallet}": ("it looks odd", "2 operators who may change wallets", "stops --lift"),
        f"signer of {wallet}": ("Looked odd", "whoever has the machine of the signer", "signer --go-on"),
        "everything: the database was restored": ("Ada says so.", "whoever has the machine", "resume_after_restore"),
    }
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    lines, page = shown().splitlines(), client.get(reverse("admin:ledger_stop_changelist")).text
    listed = dict(zip(lines[::2], lines[1::2], strict=True))
    assert len(listed) == len(wanted)
    for what, (reason, who, how) in wanted.items():
        [(line, told)] = [each for each in listed.items() if re.match(rf"(\d+  )?{re.escape(what)} since ", each[0])]
        assert reason in line
        for text in (who, how):
            assert text in told, what
        for text in (what, reason, who, how):
            assert text in page, what
    Wallet.objects.update(not_signed_at=timezone.now() - timedelta(minutes=16))
    assert "signer of" not in shown(), "it has been asked again since, and signed"


def test_what_is_lifted_is_listed_no_more_and_stays_in_the_admin() -> None:
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="odd")
    assert lift(environment=SANDBOX, network=ETHEREUM, by="two people")
    assert shown() == "Nothing is stopped.\n"
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))
    assert "two people" in client.get(reverse("admin:ledger_stop_changelist")).text


@pytest.mark.parametrize("by_page", [True, False], ids=["page", "command"])
def test_one_merchant_one_wallet_or_the_reading_of_a_network_is_stopped(by_page: bool) -> None:
    shop, other = make_merchant(name="Shop"), make_merchant()
    stock(ETHEREUM, 10 * COIN)
    held, sent = ask(ETHEREUM, merchant=shop), ask(ETHEREUM, merchant=other)
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True))

    def stop(reason: str, **place: Any) -> str:
        if not by_page:
            out = StringIO()
            place["merchant"] = place["merchant"].public_id if "merchant" in place else None
            try:
                call_command("stops", env="sandbox", stop=reason, **place, stdout=out)
            except CommandError as error:
                return str(error)
            return out.getvalue()
        form = {"environment": "sandbox", "reason": reason, **place}
        form["merchant"] = place["merchant"].pk if "merchant" in place else ""
        form["is_halt"] = "on" if form.pop("halt", False) else ""
        return client.post(reverse("admin:ledger_stop_add"), form, follow=True).text

    assert "payouts of Shop (sandbox)" in stop("owes us", merchant=shop)
    drive(ETHEREUM)
    assert [fresh(each).status for each in (held, sent)] == ["held", "sending"]
    assert fresh(held).hold_reason == "payouts_stopped"
    assert "wallet ethereum" in stop("looks odd", network=ETHEREUM, address=the_wallet(ETHEREUM).address)
    assert Stop.objects.freezing().get().address == the_wallet(ETHEREUM).address
    assert "reading of polygon" in stop("a fork", network=POLYGON, halt=True)
    assert Stop.objects.halting().get().network == POLYGON
    kinds = sorted(Stop.objects.standing().values_list("kind", flat=True))
    assert kinds == ["halt", "merchant", "wallet"]
    wrong_places: dict[str, dict[str, Any]] = {
        "on all networks": {"merchant": shop, "network": ETHEREUM},
        "is no wallet of ethereum": {"network": ETHEREUM, "address": "0xnobody"},
        "Name the network": {"halt": True},
    }
    for wrong, place in wrong_places.items():
        assert wrong in stop("wrong", **place)
    assert Stop.objects.count() == 3
    lift_as_agreed(Stop.objects.get(kind="merchant"))
    lift_as_agreed(Stop.objects.get(kind="wallet"))
    lift_as_agreed(Stop.objects.get(kind="halt"))  # of a network that was never read
    assert not Stop.objects.standing().exists()
    Payout.objects.filter(pk=held.pk).update(next_attempt_at=timezone.now())
    drive(ETHEREUM)
    assert fresh(held).status == "sending"


HALTS = import_module("payments.migrations.0005_halts_are_stops")


def run(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone() if cursor.description else None


WALLETS = import_module("payments.transfers.migrations.0002_frozen_wallets_are_stops")


def test_what_the_version_before_had_frozen_is_a_stop() -> None:
    for network in (ETHEREUM, POLYGON):
        Wallet.objects.create(environment=SANDBOX, network=network, address="0xhot")
    run("ALTER TABLE transfers_wallet DISABLE TRIGGER stop_of_wallet")
    run("UPDATE transfers_wallet SET frozen_at = '2026-01-01', frozen_reason = 'odd' WHERE network = 'polygon'")
    run(WALLETS.CARRY_OVER)
    [frozen] = Stop.objects.all()
    assert (frozen.kind, frozen.network, frozen.address, frozen.reason) == ("wallet", POLYGON, "0xhot", "odd")
    assert frozen.since.year == 2026


def test_processes_of_the_version_before_see_frozen_wallets_and_theirs_are_seen() -> None:
    wallet = Wallet.objects.create(environment=SANDBOX, network=ETHEREUM, address="0xhot")
    Wallet.objects.create(environment=SANDBOX, network=ETHEREUM, address="0xold")
    for _ in range(2):
        run("UPDATE transfers_wallet SET frozen_at = now(), frozen_reason = 'odd' WHERE address = '0xhot'")
        assert Stop.objects.freezing().get().address == "0xhot"
        run("UPDATE transfers_wallet SET frozen_at = NULL, frozen_reason = ''")
        assert not Stop.objects.freezing().exists()
        freeze_wallet(wallet, reason="odd again")
        assert run("SELECT address, frozen_reason FROM transfers_wallet WHERE frozen_at IS NOT NULL") == (
            "0xhot",
            "odd again",
        )
        stops.lift_stop(Stop.objects.freezing().get(), by="two")
        assert run("SELECT count(frozen_at) FROM transfers_wallet") == (0,)
    assert Stop.objects.count() == 4


def test_what_the_version_before_had_halted_is_a_stop() -> None:
    for network in (ETHEREUM, POLYGON, STELLAR):
        ScanCursor.objects.create(environment=SANDBOX, network=network, last_error="a block changed")
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="The network is halted: a block changed")
    stop_payouts(environment=SANDBOX, network=POLYGON, reason="does not add up")
    run("ALTER TABLE payments_scancursor DISABLE TRIGGER stop_of_cursor")
    run("UPDATE payments_scancursor SET halted_at = '2026-01-01' WHERE network <> 'stellar'")
    run(HALTS.CARRY_OVER)
    assert set(Stop.objects.values_list("network", "kind", "reason")) == {
        (ETHEREUM, "halt", "a block changed"),
        (POLYGON, "halt", "a block changed"),
        (POLYGON, "breaker", "does not add up"),
    }
    assert {each.since.year for each in Stop.objects.halting()} == {2026}


def test_processes_of_the_version_before_see_halts_and_theirs_are_seen() -> None:
    ScanCursor.objects.create(environment=SANDBOX, network=ETHEREUM)
    for _ in range(2):
        run("UPDATE payments_scancursor SET halted_at = now(), last_error = 'a block changed'")
        assert Stop.objects.halting().get().reason == "a block changed"
        run("UPDATE payments_scancursor SET halted_at = NULL")
        assert not Stop.objects.halting().exists()
        halt(ETHEREUM, reason="another block changed")
        assert run("SELECT halted_at IS NOT NULL, last_error FROM payments_scancursor") == (
            True,
            "another block changed",
        )
        stops.lift_stop(Stop.objects.halting().get(), by="two")
        assert run("SELECT halted_at FROM payments_scancursor") == (None,)
    assert Stop.objects.count() == 4
