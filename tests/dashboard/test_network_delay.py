"""What a payer is told while the network itself is slow."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from payments.chains.networks import NETWORKS
from payments.deposits.models import ScanCursor
from payments.models import Payment
from tests.dashboard.paying import make, page_of, view_of
from tests.networks import put
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    STELLAR,
    mine_and_watch,
    now,
    pay,
)
from tests.stopping import halt

pytestmark = pytest.mark.django_db


def test_a_silent_network_is_admitted() -> None:
    payment = make()
    mine_and_watch(POLYGON)
    cursor = ScanCursor.objects.filter(network=POLYGON)
    cursor.update(failing_since=timezone.now())
    assert view_of(payment).notices == ()
    cursor.update(failing_since=timezone.now() - timedelta(seconds=16))
    assert [notice.title for notice in view_of(payment).notices] == ["Polygon (simulated) is slow to answer"]
    assert "Do not pay twice." in page_of(payment)
    cursor.update(failing_since=None)
    halt(POLYGON)
    assert [notice.title for notice in view_of(payment).notices] == ["Polygon (simulated) is slow to answer"]


def stand_still(*, head: float = 0, finality: float = 0) -> None:
    """Polygon has had no new block, or no further final one, for so many seconds."""
    cursor = ScanCursor.objects.get(network=POLYGON)
    assert cursor.polled_at
    cursor.head_since = cursor.polled_at - timedelta(seconds=head)
    cursor.finalized_since = cursor.polled_at - timedelta(seconds=finality)
    cursor.save()


def test_a_stall_of_finality_is_told_and_no_number_of_blocks_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    payment = make(POLYGON)
    pay(payment)
    mine_and_watch(POLYGON)
    with monkeypatch.context() as stalled:
        put(stalled, POLYGON, simulation=replace(NETWORKS[POLYGON].simulation, finality_depth=10_000))
        mine_and_watch(POLYGON, 50)
        assert view_of(payment).state.detail.endswith("waiting for the network to make it final.")
        stand_still(finality=119)
        assert view_of(payment).state.title == "Payment seen, confirming"
        stand_still(finality=120)
        state = view_of(payment).state
        assert (state.title, state.tone, state.waiting) == ("Payment seen, network delay", "warn", True)
        assert state.detail == (
            "Seen in block 1. Polygon (simulated) is slow to confirm payments right now. Your money is safe: do not "
            "pay again. Harbour Coffee will see the payment as soon as it is final."
        )
        assert "Payment seen, network delay" in page_of(payment)
        mine_and_watch(POLYGON, 50)
        assert now(payment).status == "pending"
        assert view_of(payment).how_to_pay is None
        assert view_of(payment).state.title == "Payment seen, network delay"
    mine_and_watch(POLYGON)
    assert view_of(payment).state.title == "Paid. Thank you!"


def test_who_waits_for_blocks_alone_is_not_told_of_finality() -> None:
    payment = make(POLYGON)
    pay(payment)
    mine_and_watch(POLYGON)
    Payment.objects.filter(pk=payment.pk).update(require_finalized=False)
    stand_still(finality=3600)
    assert view_of(payment).state.title == "Payment seen, confirming"
    stand_still(head=59)
    assert view_of(payment).state.title == "Payment seen, confirming"
    stand_still(head=60)
    assert view_of(payment).state.title == "Payment seen, network delay"


def test_a_network_without_new_blocks_is_told_before_anything_is_seen() -> None:
    payment = make(POLYGON)
    mine_and_watch(POLYGON)
    stand_still(head=60)
    view = view_of(payment)
    assert view.state.title == "Waiting for your payment"
    assert [notice.title for notice in view.notices] == ["Polygon (simulated) is delayed"]
    assert "Do not pay twice." in view.notices[0].words
    stand_still(finality=3600)
    assert view_of(payment).notices == ()


@pytest.mark.parametrize(
    ("network", "head", "finality"), [(ETHEREUM, 240, 1200), (POLYGON, 60, 120), (STELLAR, 110, 120)]
)
def test_each_network_says_what_a_stall_is(network: str, head: float, finality: float) -> None:
    profile = NETWORKS[network].real
    assert (profile.head_stall_seconds, profile.finality_stall_seconds) == (head, finality)
