"""Days of a network that were never played: it begins anew, answers of several channels are lost, fees rise.

Payouts are played by the network's time: a ledger is five seconds for the product's clocks as well. What each weather
costs is printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx
import pytest
from django.db import transaction
from django.db.models import F

from config import ids
from merchants.ledger.posting import Line, post
from payments.chains import registry
from payments.chains.errors import ChainUnavailable, FinalityViolation
from payments.transfers import services
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.postings import hot_account
from payments.transfers.states import PayoutStatus
from tests.chains.harness import Watched
from tests.long_form import IS_LONG
from tests.stellar.network.keys import HOT_WALLET
from tests.stellar.place import STOCK, WALLET, XLM, Place
from tests.transfers.scenes import SANDBOX, STELLAR, ask, drive, hot, treasury, why_frozen

pytestmark = [pytest.mark.slow, pytest.mark.long]

CHANNELS, ROUNDS = 4, 5
LEDGER = timedelta(seconds=5)
PEOPLE, EACH_WAVE = 6, 4
WAVES, LASTS = (8, 16) if IS_LONG else (4, 8)
"""Of payouts; and the ledgers that a weather lasts, from when the second wave is on its way."""
LEDGERS_MAX = 55


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place(channels=CHANNELS)
    yield made
    made.stop()


def test_a_network_that_begins_anew_is_read_no_further(place: Place) -> None:
    """As the public test network does every few months: same passphrase, other ledgers from 1 on."""
    for _ in range(10):
        place.local.close_ledger()
    place.chain.reading._poll_seconds = 0
    watched = Watched(WALLET.public_key)
    cursor = place.chain.reading.scan(None, watched).cursor
    height = place.chain.reading.head().height
    place.local.close_ledger()
    cursor = place.chain.reading.scan(cursor, watched).cursor
    fresh = Place(channels=CHANNELS)
    fresh.local.mint("USDC", WALLET.public_key, 24)  # without that, its ledgers would have the same hashes
    try:
        for front in place.fronts:
            front._url = httpx.URL(fresh.local.url)
        assert fresh.chain.reading.head().height < height
        with pytest.raises(ChainUnavailable, match="behind what has been read"):
            place.chain.reading.scan(cursor, watched)
        while fresh.local.network.state.ledger <= height + 10:
            fresh.local.close_ledger()
        fresh.local.mint("USDC", WALLET.public_key, 25)
        with pytest.raises(FinalityViolation, match="is another one now"):
            place.chain.reading.scan(cursor, watched)
    finally:
        fresh.stop()


def test_channels_whose_answers_are_lost_pay_each_once(place: Place) -> None:
    paid = 0
    for number in range(ROUNDS):
        transfers = [place.sign(*place.pay(7 + number), channel=each) for each in range(CHANNELS)]
        for each in (place.local, place.other):
            each.pause_ingestion()
        for lost, transfer in enumerate(transfers):
            for each in (place.local, place.other):
                each.drop_after_accept(2 if lost % 2 else 0)
            if lost % 2:
                with pytest.raises(ChainUnavailable):
                    place.chain.sending.broadcast(transfer)
            else:
                place.chain.sending.broadcast(transfer)
        place.local.close_ledger()
        assert {place.state(transfer) for transfer in transfers} == {"unknown"}
        for each in (place.local, place.other):
            each.resume_ingestion()
        assert {place.state(transfer) for transfer in transfers} == {"included"}
        paid += CHANNELS * (7 + number)
        assert (place.held(WALLET), place.held(place.recipient())) == (STOCK - paid, paid)


def test_history_that_ends_while_it_is_read_skips_nothing(place: Place) -> None:
    """A Horizon gives what it has left to a cursor of before; which ledgers it has is believed for a minute."""
    place.chain.reading._poll_seconds = 0
    watched = Watched(WALLET.public_key)
    cursor = place.chain.reading.scan(None, watched).cursor
    place.local.mint("USDC", WALLET.public_key, 24)
    for _ in range(20):
        place.local.close_ledger()
    place.local.mint("USDC", WALLET.public_key, 25)
    newest = place.chain.reading.head().height
    for each in (place.local, place.other):
        each.reap_history(newest - 2)
    with pytest.raises(ChainUnavailable):
        place.chain.reading.scan(cursor, watched)
    for each in (place.local, place.other):
        each.reap_history(1)
    assert [each.amount for each in place.chain.reading.scan(cursor, watched).transfers] == [24, 25]


# --- weather ------------------------------------------------------------------------------------------


@pytest.fixture
def stocked(place: Place, settings: object, monkeypatch: pytest.MonkeyPatch, db: None) -> Place:
    """The sandbox's stellar, whose treasury is stocked on the chain and in the ledger."""
    settings.SANDBOX_CHAIN = "devnet"  # type: ignore[attr-defined]
    monkeypatch.setattr(registry, "chain", lambda environment, network: place.chain)
    place.chain.sending._clock = lambda: datetime.fromtimestamp(place.local.network.state.closed_at, UTC)
    with transaction.atomic():
        lines = [Line(hot_account(STELLAR, "USDC"), STOCK), Line(treasury(STELLAR), -STOCK)]
        post(height=1, environment=SANDBOX, kind="treasury_in", reference=str(ids.new_uuid()), lines=lines)
    return place


def pass_a_ledger(place: Place) -> None:
    place.local.close_ledger(LEDGER.seconds)
    Payout.objects.update(next_attempt_at=F("next_attempt_at") - LEDGER, held_since=F("held_since") - LEDGER)
    Transfer.objects.update(next_step_at=F("next_step_at") - LEDGER, sent_at=F("sent_at") - LEDGER)
    Envelope.objects.update(signed_at=F("signed_at") - LEDGER)


def calm(place: Place, is_on: bool) -> None:
    """Nothing happens."""


def surge(place: Place, is_on: bool) -> None:
    """Operations cost a hundred times as much."""
    place.local.surge(*[10_000] * is_on)


def surge_above_the_cap(place: Place, is_on: bool) -> None:
    place.local.surge(*[1_000_000] * is_on)


def turned_away(place: Place, is_on: bool) -> None:
    for each in (place.local, place.other):
        each.try_again_later(1_000 * is_on)


def answered_504(place: Place, is_on: bool) -> None:
    for each in (place.local, place.other):
        each.answer_normally()
        each.answer_next(504, 1_000 * is_on, "/transactions_async")


def answers_lost(place: Place, is_on: bool) -> None:
    """All four channels, and nobody reads ledgers."""
    for each in (place.local, place.other):
        each.drop_after_accept(1_000 * is_on)
        (each.pause_ingestion if is_on else each.resume_ingestion)()


def one_lags(place: Place, is_on: bool) -> None:
    (place.other.pause_ingestion if is_on else place.other.resume_ingestion)()


def play(place: Place, weather: Callable[[Place, bool], None]) -> dict[str, float]:
    """Ask for payouts wave after wave, and for more while it lasts, until all is paid: seconds and stroops."""
    people = [place.recipient(number).public_key for number in range(1, PEOPLE + 1)]
    native = place.local.balance(HOT_WALLET, "XLM")
    asked: dict[UUID, int] = {}
    paid: dict[UUID, int] = {}
    for ledger in range(LEDGERS_MAX):
        if ledger < WAVES:
            wave = [ask(STELLAR, 1 + len(asked) + number, to=people[number]) for number in range(EACH_WAVE)]
            asked |= {each.pk: ledger for each in wave}
        for _ in range(3):
            drive(STELLAR)
        if ledger in (1, 1 + LASTS):
            weather(place, ledger == 1)
        pass_a_ledger(place)
        done = Payout.objects.filter(status=PayoutStatus.PAID).exclude(pk__in=paid)
        paid |= dict.fromkeys(done.values_list("pk", flat=True), ledger)
        if len(paid) == WAVES * EACH_WAVE:
            break
    waits = [(paid[key] - asked[key]) * LEDGER.seconds for key in paid]
    spent = native - place.local.balance(HOT_WALLET, "XLM")
    found = {"paid": len(paid), "mean": sum(waits) / max(1, len(waits)), "longest": max(waits, default=0)}
    found |= {"stroops each": spent / (WAVES * EACH_WAVE), "bumps": Envelope.objects.count() - Transfer.objects.count()}
    print(weather.__name__, {name: round(value, 1) for name, value in found.items()})  # noqa: T201 - the figures
    return found


def left(place: Place) -> Counter[tuple[str, str]]:
    """What ever left the hot wallet: to whom and how much, as the network tells it."""
    page = place.local.another().questions.answer(f"/accounts/{HOT_WALLET}/payments", {"limit": "200", "order": "asc"})
    return Counter(
        (each["to"], each["amount"])
        for each in page["_embedded"]["records"]
        if each.get("from") == HOT_WALLET and each["type"] == "payment"
    )


def asked_for() -> Counter[tuple[str, str]]:
    return Counter((each.recipient, f"{each.amount / XLM:.7f}") for each in Payout.objects.all())


@pytest.mark.parametrize(
    ("weather", "longest", "stroops"),
    [
        (calm, 10, 125),
        (surge, 100, 12_500),
        (surge_above_the_cap, 100, 12_500),
        (turned_away, 100, 150),
        (answered_504, 100, 150),
        (answers_lost, 100, 150),
        (one_lags, 100, 150),
    ],
)
def test_each_payout_is_paid_once_through_it(
    stocked: Place, weather: Callable[[Place, bool], None], longest: int, stroops: int
) -> None:
    found = play(stocked, weather)
    assert left(stocked) == asked_for()
    assert found["paid"] == WAVES * EACH_WAVE
    assert hot(STELLAR) == stocked.held(WALLET)
    assert not why_frozen(STELLAR)
    assert found["longest"] <= longest
    assert found["stroops each"] <= stroops


def test_whoever_takes_a_lost_answer_for_failure_pays_twice_by_channels(
    stocked: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: what nobody answered for is signed anew, by the next channel."""
    record_sent = services.record_sent

    def give_up(transfer: Transfer, *, next_step_at: datetime, error: str = "") -> None:
        record_sent(transfer, next_step_at=next_step_at, error=error)
        if error:
            services.record_dead(transfer)

    monkeypatch.setattr(services, "record_sent", give_up)
    play(stocked, answers_lost)
    twice = (left(stocked) - asked_for()).total()
    print("control", twice, "paid too often")  # noqa: T201 - the figure
    assert twice > 0
