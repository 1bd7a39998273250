"""A settlement that waits is told by mail: once, after a quarter of an hour, with what it waits for."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.members import prefer
from merchants.models import Member, Merchant
from merchants.people.models import Mail
from merchants.preferences import Notice
from merchants.roles import Role
from payments.transfers.models import Payout
from settlements.models import Settlement
from settlements.pages.waiting import MAIL_AFTER
from settlements.states import SettlementStatus
from settlements.wording import WHAT_NEXT
from tests.factories import make_member, make_merchant
from tests.settlements.scenes import ETHEREUM, advance, earn, finish, fresh, pay_out, settle_one, stock_treasury
from webhooks.events.notices import GATHERED_FOR, SETTLES_AFTER, write_notices
from webhooks.models import NoticeRound

pytestmark = pytest.mark.django_db

START = timezone.now()


@pytest.fixture
def owner() -> Member:
    write_notices(now=START)  # the first round notes since when
    return make_member(make_merchant("Harbour Coffee"))


def waiting(merchant: Merchant, *, has_payout: bool) -> Settlement:
    """For coins of the treasury, before or after it was handed over."""
    earn(merchant, "100", "USDC" if has_payout else "DAI")
    settlement = advance(settle_one(merchant))
    if has_payout:
        finish(ETHEREUM)
        settlement = advance(settlement)
    assert (settlement.failure_code, settlement.payout is not None) == ("insufficient_liquidity", has_payout)
    return settlement


def rounds(settlement: Settlement) -> list[int]:
    """How many mails each round writes: when it has waited a moment too short to be told, and from then on."""
    assert settlement.waits_since is not None
    end = settlement.waits_since + MAIL_AFTER + SETTLES_AFTER
    NoticeRound.objects.update(told_until=end - SETTLES_AFTER - GATHERED_FOR)
    later = [end + GATHERED_FOR * number for number in (1, 2, 3)]
    return [write_notices(now=instant) for instant in (end, *later)]


@pytest.mark.parametrize("has_payout", [False, True])
def test_one_that_goes_on_waiting_is_told_once(owner: Member, has_payout: bool) -> None:
    viewer = make_member(owner.merchant, role=Role.VIEWER)
    prefer(member=viewer, language="en", timezone="UTC", number_style="comma", notices=[Notice.SETTLED])
    settlement = waiting(owner.merchant, has_payout=has_payout)
    since = settlement.waits_since
    settlement = advance(settlement)
    assert settlement.waits_since == since, "looking again begins nothing anew"
    assert rounds(settlement) == [0, 1, 0, 0]
    mail = Mail.objects.get()
    assert (mail.to, mail.subject.endswith(": A settlement waits for more than a quarter of an hour (1)")) == (
        owner.user.email,
        True,
    )
    said = WHAT_NEXT["insufficient_liquidity"]
    link = f"http://127.0.0.1:8000/dashboard/settlements/{settlement.public_id}"
    assert f"- 100.000000 USDC, {settlement.public_id}\n  {link}\n  {said}\n" in mail.text


def test_one_that_is_paid_before_is_not_told(owner: Member) -> None:
    settlement = waiting(owner.merchant, has_payout=False)
    stock_treasury("100")
    paid = pay_out(settlement)
    assert (paid.status, paid.waits_since) == (SettlementStatus.COMPLETED, None)
    assert rounds(settlement) == [0, 0, 0, 0]


def test_what_goes_on_and_waits_again_waits_anew(owner: Member) -> None:
    settlement = waiting(owner.merchant, has_payout=True)
    early = timezone.now() - timedelta(hours=3)
    Settlement.objects.update(waits_since=early)
    Payout.objects.update(status="ready", hold_reason="", next_attempt_at=timezone.now())
    assert advance(settlement).waits_since is None
    finish(ETHEREUM)
    again = fresh(advance(settlement))
    assert again.waits_since is not None
    assert again.waits_since > early
