"""One provider that hangs holds up nobody; and who is believed does not depend on who is quick."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from payments.chains.errors import ChainUnavailable
from payments.chains.evm.nodes.questions import broadcast, header, logs, nonce, usual_tip
from payments.chains.providers import rounds
from payments.chains.providers.pool import DOWN_AFTER_SECONDS, PROBE_SECONDS
from tests.evm.fakes import FakeProvider
from tests.evm.test_providers import Scene
from tests.patience import until

pytestmark = pytest.mark.slow

LONG_SECONDS = 20.0
ACCOUNT = "0x" + "11" * 20


class Held:
    """Replies that do not come before they are released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.waiting = 0

    def hold(self, fake: FakeProvider) -> None:
        def reply(request: httpx.Request) -> httpx.Response:
            self.waiting += 1
            is_released = self.released.wait(LONG_SECONDS)
            self.waiting -= 1
            if not is_released:
                raise httpx.ReadTimeout("hung", request=request)
            fake.reply = None
            return fake.handle_request(request)

        fake.reply = reply


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    monkeypatch.setattr(rounds, "SLOW_SECONDS", 0.2)
    monkeypatch.setattr(rounds, "FIRST_SECONDS", 0.2)
    found = Held()
    yield found
    found.released.set()
    until(lambda: not found.waiting)


def answering(scene: Scene) -> None:
    for fake in scene.fakes:
        fake.answers |= {
            "eth_getTransactionCount": lambda *_: "0x5",
            "eth_getLogs": lambda _: [],
            "eth_maxPriorityFeePerGas": lambda: "0x7",
            "eth_sendRawTransaction": lambda _: "0x" + "22" * 32,
        }


def questions(scene: Scene) -> list[Callable[[], object]]:
    providers = scene.providers
    return [
        providers.head,
        lambda: providers.agree_on(nonce(ACCOUNT, 100)),
        lambda: providers.gather(logs(1, 60, [])),
        lambda: providers.middle(usual_tip()),
        lambda: providers.query(header(1)),
        lambda: providers.anyone(header(1)),
        lambda: providers.submit(broadcast(b"")),
    ]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_nothing_waits_for_one_of_three_and_it_is_hardly_asked(held: Held, place: int) -> None:
    scene = Scene("one", "two", "three")
    answering(scene)
    scene.providers.head()
    before = scene.fakes[place].requests
    held.hold(scene.fakes[place])
    started = time.monotonic()
    for _ in range(10):
        for question in questions(scene):
            question()
        scene.now += 1
    assert time.monotonic() - started < LONG_SECONDS / 4
    assert scene.fakes[place].requests - before <= 2
    assert held.waiting <= 2


def test_it_is_asked_apart_whether_it_is_prompt_again(held: Held) -> None:
    scene = Scene("one", "two", "three")
    [first, *_] = scene.providers._providers
    held.hold(scene.fakes[0])
    scene.providers.head()
    assert first.is_slow
    before = scene.fakes[0].requests
    scene.now += PROBE_SECONDS - 1
    scene.providers.head()
    assert scene.fakes[0].requests == before
    scene.now += 1
    started = time.monotonic()
    scene.providers.head()
    assert time.monotonic() - started < LONG_SECONDS / 4
    held.released.set()
    until(lambda: not first.is_slow)
    assert scene.fakes[0].requests > before


def test_one_that_is_down_and_back_counts_again_without_holding_up_a_head(held: Held) -> None:
    scene = Scene("one", "two", "three")
    scene.fakes[0].fail()
    scene.providers.head()
    scene.now += DOWN_AFTER_SECONDS
    scene.fakes[0].recover()
    scene.providers.head()
    until(lambda: not scene.problems())


def test_of_two_the_slow_one_is_waited_for(held: Held) -> None:
    scene = Scene("one", "two")
    answering(scene)
    held.hold(scene.fakes[0])
    threading.Timer(0.8, held.released.set).start()
    assert scene.providers.agree_on(nonce(ACCOUNT, 100)) == 5


@pytest.mark.parametrize("liars", [(0, 1), (0, 2), (1, 3), (2, 3)])
def test_two_that_lie_alike_win_nothing_by_being_quicker_than_one_of_two_honest_ones(
    held: Held, liars: tuple[int, int]
) -> None:
    scene = Scene("one", "two", "three", "four")
    answering(scene)
    for place in liars:
        scene.fakes[place].answers["eth_getTransactionCount"] = lambda *_: "0x9"
        scene.fakes[place].unfinal = 0
    [slow, _] = (place for place in range(4) if place not in liars)
    held.hold(scene.fakes[slow])
    assert scene.providers.head().finalized_height == 90
    threading.Timer(0.8, held.released.set).start()
    with pytest.raises(ChainUnavailable, match="do not agree"):
        scene.providers.agree_on(nonce(ACCOUNT, 100))


def test_a_slow_one_says_nothing_about_prices_that_would_have_driven_them_up(held: Held) -> None:
    scene = Scene("one", "two", "three", "four")
    for fake, tip in zip(scene.fakes, ("0x63", "0x63", "0x5", "0x5"), strict=True):
        fake.answers["eth_maxPriorityFeePerGas"] = lambda tip=tip: tip
    assert scene.providers.middle(usual_tip()) == 5
    held.hold(scene.fakes[3])
    assert scene.providers.middle(usual_tip()) == 5
    assert scene.providers.upper_middle(usual_tip()) == 99
