"""Money of a payment that no scan has come upon: a claim finds it, and the watcher reads its transaction again."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
import structlog
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from payments import tasks
from payments.chains.simulated import control
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.models import Payment
from tests.factories import make_user
from tests.payments.claiming import claim, said, skip_unread_blocks
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    assert_all_is_well,
    make_payment,
    mine,
    mine_and_watch,
    now,
    part_of,
    pay,
    pay_and_confirm,
    watch,
)

pytestmark = pytest.mark.django_db


def test_a_missed_deposit_is_read_again_and_told_to_the_operators() -> None:
    payment = make_payment(ETHEREUM)
    watch()
    transaction_hash = pay(payment)
    mine(ETHEREUM, 10)
    skip_unread_blocks(ETHEREUM)
    watch()
    assert now(payment).status == "created"
    with structlog.testing.capture_logs() as logs:
        assert said(payment, transaction_hash) == ("missed", [("missed", True)])
        assert said(payment, transaction_hash) == ("missed", [("missed", True)])
    assert [(entry["log_level"], entry["event"], entry["payment"]) for entry in logs] == [
        ("error", "deposit missed", payment.public_id)
    ] * 2
    assert ReadingRequest.objects.count() == 1
    mine_and_watch(ETHEREUM)
    assert now(payment).status == "completed"
    assert said(payment, transaction_hash) == ("credited", [("credited", True)])
    assert not ReadingRequest.objects.exists()
    assert_all_is_well()


def test_reading_again_leaves_every_other_deposit_as_it_is() -> None:
    payment, other = make_payment(ETHEREUM), pay_and_confirm(make_payment(ETHEREUM))
    transaction_hash = control.pay_together(ETHEREUM, [part_of(payment, "60"), part_of(payment, "40")])
    mine(ETHEREUM, 10)
    skip_unread_blocks(ETHEREUM)
    claim(payment, transaction_hash)
    mine_and_watch(ETHEREUM)
    assert (now(payment).status, now(other).status) == ("completed", "completed")
    assert now(other).version == other.version
    assert_all_is_well()


def test_for_a_minute_a_block_is_taken_to_be_read_still() -> None:
    payment = make_payment(POLYGON)
    watch()
    transaction_hash = pay(payment)
    mine(POLYGON, 10)
    skip_unread_blocks(POLYGON)
    ScanCursor.objects.filter(network=POLYGON).update(read_until=timezone.now() + timedelta(seconds=30))
    assert said(payment, transaction_hash) == ("not_read_yet", [("not_read_yet", True)])
    assert not ReadingRequest.objects.exists()


def test_a_block_that_scans_still_read_is_left_to_them() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    mine(ETHEREUM)
    ReadingRequest.objects.create(environment=SANDBOX, network=ETHEREUM, transaction_hash=transaction_hash)
    watch()
    assert ReadingRequest.objects.count() == 1
    mine_and_watch(ETHEREUM, 10)
    mine_and_watch(ETHEREUM)
    assert not ReadingRequest.objects.exists()
    assert now(payment).status == "completed"
    assert_all_is_well()


def test_money_that_came_when_nobody_watched_any_more_is_brought_in_without_an_alarm() -> None:
    payment = make_payment(ETHEREUM)
    Payment.objects.filter(pk=payment.pk).update(
        expires_at=timezone.now() - timedelta(days=31), closes_at=timezone.now() - timedelta(days=31)
    )
    watch()
    transaction_hash = pay(payment)
    mine(ETHEREUM, 10)
    skip_unread_blocks(ETHEREUM)
    with structlog.testing.capture_logs() as logs:
        assert said(payment, transaction_hash) == ("no_longer_watched", [("no_longer_watched", True)])
    assert logs == []
    mine_and_watch(ETHEREUM)
    assert said(payment, transaction_hash) == ("late", [("late", True)])
    assert_all_is_well()


def test_missed_money_on_the_other_network_is_read_there() -> None:
    payment = make_payment(ETHEREUM)
    tasks.watch_networks()
    transaction_hash = pay(payment, "100", network=POLYGON)
    mine(POLYGON, 10)
    skip_unread_blocks(POLYGON)
    assert said(payment, transaction_hash) == ("missed", [("missed", False)])
    assert [request.network for request in ReadingRequest.objects.all()] == ["polygon"]
    mine_and_watch(POLYGON)
    assert said(payment, transaction_hash) == ("wrong_network", [("wrong_network", False)])


@pytest.mark.parametrize("by_page", [True, False], ids=["page", "command"])
def test_blocks_that_an_operator_names_are_read_again(by_page: bool, client: Client) -> None:
    payment, other = make_payment(ETHEREUM), pay_and_confirm(make_payment(ETHEREUM))
    first = ScanCursor.objects.get(network=ETHEREUM).head_height + 1
    pay(payment)
    mine(ETHEREUM, 60)
    skip_unread_blocks(ETHEREUM)
    watch()
    last = ScanCursor.objects.get(network=ETHEREUM).finalized_height
    client.force_login(make_user(is_staff=True, is_superuser=True))

    def read(network: str, first: int, last: int) -> str:
        if not by_page:
            out = io.StringIO()
            try:
                call_command("networks", env="sandbox", network=network, rescan=[first, last], stdout=out)
            except CommandError as error:
                return str(error)
            return out.getvalue()
        form = {"environment": "sandbox", "network": network, "first_height": first, "last_height": last}
        return client.post(reverse("admin:payments_readingrequest_add"), form, follow=True).text

    read(ETHEREUM, first, last)
    assert (now(payment).status, ReadingRequest.objects.count()) == ("created", 1)
    for wrong, range_ in {
        "newest final block": (ETHEREUM, 1, last + 100),
        "ends where it begins": (ETHEREUM, 5, 4),
        "wait until that is done": (ETHEREUM, 1, 2),
        "polygon that was read is 0": (POLYGON, 1, 2),
    }.items():
        assert wrong in read(*range_)
    for _ in range(10):
        watch()
    assert not ReadingRequest.objects.exists()
    tasks.assess_due()
    assert (now(payment).status, now(other).status) == ("completed", "completed")
    assert now(other).version == other.version
    assert_all_is_well()
