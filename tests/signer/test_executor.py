"""Payouts on a local stellar whose key is with a signer of its own: rows that were changed, a signer that dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from merchants.ledger.posting import Line, post
from payments.chains import registry
from payments.chains.signer.messages import Reply, SigningRequest
from payments.chains.signer.service import Service
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.channels import Channels
from payments.chains.stellar.fees import FeeRules
from payments.chains.stellar.keys.remote_signing import RemoteKeys
from payments.monitoring.alarm_rules import of_rows
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.postings import hot_account
from payments.transfers.states import HoldReason, PayoutStatus
from tests.signer.signer import INTENT_KEY, OwnSigner
from tests.signer.signer import STELLAR as PLACE
from tests.stellar.place import WALLET, Place, key_of
from tests.stellar.test_payouts import STOCK, step
from tests.transfers.scenes import SANDBOX, STELLAR, ask, drive, fresh, reserved, treasury, wait_no_longer

pytestmark = pytest.mark.django_db

COIN = 10**7


@pytest.fixture
def channels() -> int:
    """How many accounts lend their sequences: the wallet itself, unless a test says so."""
    return 1


@pytest.fixture
def signer(channels: int) -> Iterator[OwnSigner]:
    made = OwnSigner(channels=channels)
    yield made
    made.end()


@pytest.fixture
def place(signer: OwnSigner, channels: int, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The sandbox on a local stellar; this process has no key."""
    made = Place(channels=channels)
    every = Channels(made.horizons, wallet=WALLET.public_key, count=channels, keys=lambda: made.keys)
    settings.SANDBOX_CHAIN, settings.PAYOUT_INTENT_KEY = "devnet", INTENT_KEY
    remote = RemoteKeys(WALLET.public_key, signer.client(PLACE))
    made.chain = StellarChain(
        made.profile,
        horizons=made.horizons,
        wallet=WALLET.public_key,
        keys=lambda: remote,
        rules=FeeRules(100_000),
        channels=every,
    )
    monkeypatch.setattr(registry, "chain", lambda environment, network: made.chain)
    with transaction.atomic():
        lines = [Line(hot_account(STELLAR, "USDC"), STOCK), Line(treasury(STELLAR), -STOCK)]
        post(height=1, environment=SANDBOX, kind="treasury_in", reference=str(ids.new_uuid()), lines=lines)
    yield made
    made.stop()


def payouts(place: Place, count: int = 3) -> list[Payout]:
    return [ask(STELLAR, COIN, to=place.recipient(number).public_key) for number in range(1, count + 1)]


def held(place: Place, count: int = 3) -> list[int]:
    return [place.held(place.recipient(number)) // COIN for number in range(1, count + 1)]


def alarms() -> Counter[str]:
    raise_alarms()
    return Counter(str(each.kind) for each in of_rows(SANDBOX, STELLAR) if "signer" in each.kind)


@pytest.mark.parametrize("channels", [1, 3])
def test_payouts_are_signed_in_the_other_process_and_paid_once(place: Place, signer: OwnSigner) -> None:
    asked = payouts(place)
    step(place, 2)
    assert [fresh(each).status for each in asked] == [PayoutStatus.PAID] * 3
    assert held(place) == [1, 1, 1]
    assert len(signer.lines()) == Transfer.objects.count() == 1
    assert signer.record.paid_in_a_day(*PLACE, "USDC") == 3 * COIN
    assert not alarms()


@pytest.mark.parametrize("change", ["recipient", "amount", "memo", "a row of its own"])
def test_a_row_that_was_changed_is_not_paid_and_holds_up_nobody(place: Place, signer: OwnSigner, change: str) -> None:
    thief = key_of(66)
    place.local.fund_native(thief.public_key, 10 * COIN)
    place.local.trust(thief, "USDC")
    first, second, third = payouts(place)
    there = Payout.objects.filter(pk=second.pk)
    match change:
        case "recipient":
            there.update(recipient=thief.public_key)
        case "amount":
            there.update(amount=50 * COIN)
        case "memo":
            there.update(memo="77")
        case "a row of its own":
            there.update(recipient=thief.public_key, intent_mac=first.intent_mac)
    step(place, 3)
    assert [fresh(each).status for each in (first, third)] == [PayoutStatus.PAID] * 2
    assert (fresh(second).status, fresh(second).hold_reason) == (PayoutStatus.HELD, HoldReason.SIGNER)
    assert held(place) == [1, 0, 1]
    assert place.held(thief) == 0
    assert reserved(second) == COIN
    assert alarms() == {AlarmKind.SIGNER_REFUSES: 1}
    assert '"refused":"not_asked_for"' in "".join(signer.lines())


def test_a_payout_of_a_year_ago_is_not_paid_whatever_the_database_says_of_its_date(
    place: Place, signer: OwnSigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as a_year_ago:
        then = timezone.now() - timedelta(days=365)
        a_year_ago.setattr(timezone, "now", lambda: then)
        a_year_ago.setattr("config.ids.time.time_ns", lambda: int(then.timestamp() * 10**9))
        (old,) = payouts(place, 1)
    wait_no_longer()
    beside = ask(STELLAR, COIN, to=place.recipient(2).public_key)
    step(place, 3)
    assert held(place, 2) == [0, 1]
    assert (fresh(old).status, fresh(old).hold_reason) == (PayoutStatus.HELD, HoldReason.SIGNER)
    assert (fresh(beside).status, reserved(old)) == (PayoutStatus.PAID, COIN)
    assert '"refused":"too_old"' in "".join(signer.lines())


def test_while_the_signer_is_dead_payouts_wait_and_what_is_signed_still_leaves(place: Place, signer: OwnSigner) -> None:
    (early,) = payouts(place, 1)
    place.local.freeze_submissions()
    wait_no_longer()
    drive(STELLAR)
    assert fresh(early).status == PayoutStatus.SENDING
    signer.stop()
    late = [ask(STELLAR, COIN, to=place.recipient(number).public_key, memo=str(number)) for number in (2, 3, 4, 5)]
    place.local.thaw_submissions()
    step(place, 2)
    assert fresh(early).status == PayoutStatus.PAID
    assert {(fresh(each).status, fresh(each).hold_reason) for each in late} == {(PayoutStatus.HELD, HoldReason.SIGNER)}
    assert alarms() == {AlarmKind.SIGNER_UNAVAILABLE: 1}
    signer.start()
    step(place, 5)
    assert held(place, 5) == [1] * 5
    assert Transfer.objects.count() == 5


def test_a_signer_that_dies_before_its_reply_is_asked_again_and_nothing_counts_twice(
    place: Place, signer: OwnSigner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = payouts(place)
    sign = Service.reply_to

    def die(service: Service, request: SigningRequest) -> Reply:
        sign(service, request)
        raise OSError("the machine was switched off")

    with monkeypatch.context() as patched:
        patched.setattr(Service, "reply_to", die)
        wait_no_longer()
        drive(STELLAR)
    assert len(signer.lines()) == 1
    assert not Envelope.objects.exists()
    assert {fresh(each).status for each in asked} == {PayoutStatus.HELD}
    signer.stop()
    signer.start()
    step(place, 2)
    assert held(place) == [1, 1, 1]
    assert signer.record.paid_in_a_day(*PLACE, "USDC") == 3 * COIN
    assert Transfer.objects.count() == 1


def test_bytes_that_are_stored_are_sent_again_without_the_signer(place: Place, signer: OwnSigner) -> None:
    payouts(place)
    place.local.freeze_submissions()
    step(place)
    raw = {bytes(each.raw) for each in Envelope.objects.all()}
    assert len(raw) == 1
    signer.stop()
    place.local.thaw_submissions()
    step(place, 2)
    assert held(place) == [1, 1, 1]
    assert {bytes(each.raw) for each in Envelope.objects.all()} == raw
    signer.start()
