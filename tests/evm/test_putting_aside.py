"""Whom others contradict again and again is asked nothing more for a while, and an alarm says which question it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from payments.chains.errors import ChainUnavailable
from payments.chains.evm.nodes.questions import Log, header, nonce, receipt
from payments.chains.providers.pool import PROBE_SECONDS, ProviderPool
from payments.chains.providers.quarantine import APART_SECONDS, ASIDE_SECONDS, WITHIN_SECONDS
from tests.evm.fakes import FakeProvider
from tests.evm.test_providers import SENT, Scene, receipt_of

SOMEBODY = "0x" + "11" * 20


def honest(scene: Scene) -> None:
    for fake in scene.fakes:
        fake.answers["eth_getTransactionReceipt"] = lambda _: receipt_of()
        fake.answers["eth_getTransactionCount"] = lambda *_: "0x5"


def denies(fake: FakeProvider) -> None:
    fake.answers["eth_getTransactionReceipt"] = lambda _: None


def calls_failed(fake: FakeProvider) -> None:
    fake.answers["eth_getTransactionReceipt"] = lambda _: receipt_of(status="0x0")


def counts_otherwise(fake: FakeProvider) -> None:
    fake.answers["eth_getTransactionCount"] = lambda *_: "0x9"


def is_on_a_fork(fake: FakeProvider) -> None:
    fake.fork = "f"


def is_elsewhere(fake: FakeProvider) -> None:
    fake.chain_id = 1


def look(scene: Scene) -> None:
    """What a round of work asks: where the head is, a block, a receipt, a nonce."""
    scene.providers.head()
    scene.providers.agree_on(header(60))
    scene.providers.agree_on(receipt(SENT, up_to=60))
    scene.providers.agree_on(nonce(SOMEBODY, 60))


def problems_of(scene: Scene, name: str) -> set[str]:
    return {kind for each, kind in scene.problems() if each == name}


def aside(scene: Scene) -> dict[str, str]:
    return {each.provider: each.message for each in scene.providers.alarms() if each.kind == "put_aside"}


LIES: list[tuple[Callable[[FakeProvider], None], str]] = [
    (denies, f"eth_getTransactionReceipt {SENT}: it reports nothing; two, three reports it succeeded in block 50"),
    (
        calls_failed,
        f"eth_getTransactionReceipt {SENT}: it reports it failed in block 50; two, three reports it succeeded",
    ),
    (counts_otherwise, f"eth_getTransactionCount {SOMEBODY}: it reports 9; two, three reports 5"),
    (is_on_a_fork, "eth_getBlockByNumber 0x3c: it reports block 60 is 0xff"),
    (is_elsewhere, "one speaks for chain '0x1', not for 0x89"),
]


@pytest.mark.parametrize(("lie", "told"), LIES, ids=[lie.__name__ for lie, _ in LIES])
def test_one_that_others_contradict_three_times_is_put_aside_and_told_of(
    lie: Callable[[FakeProvider], None], told: str
) -> None:
    scene = Scene("one", "two", "three")
    honest(scene)
    scene.providers.head()
    lie(scene.fakes[0])
    for _ in range(2):
        look(scene)
        look(scene)  # at once again: it counts once
        assert aside(scene) == {}
        scene.now += APART_SECONDS
    look(scene)
    assert set(aside(scene)) == {"one"}
    assert aside(scene)["one"].startswith("Not queried for 1 h: others have contradicted it 3 times. The last time: ")
    assert told in aside(scene)["one"]

    before = scene.fakes[0].requests
    scene.now += ASIDE_SECONDS - 1
    look(scene)
    assert scene.fakes[0].requests == before
    scene.now += 1
    look(scene)
    assert scene.fakes[0].requests > before
    assert aside(scene) == {}
    for _ in range(3):
        scene.now += PROBE_SECONDS
        look(scene)
    assert "Not queried for 2 h" in aside(scene)["one"]


def test_contradictions_that_are_far_between_do_not_add_up() -> None:
    scene = Scene("one", "two", "three")
    honest(scene)
    scene.providers.head()
    denies(scene.fakes[0])
    for _ in range(6):
        look(scene)
        scene.now += WITHIN_SECONDS / 2
    assert aside(scene) == {}


def test_one_that_is_only_behind_is_not_put_aside() -> None:
    scene = Scene("one", "two", "three")
    honest(scene)
    scene.fakes[0].height = 50
    denies(scene.fakes[0])
    for _ in range(5):
        look(scene)
        scene.now += APART_SECONDS
    assert aside(scene) == {}


def test_one_whose_newest_blocks_are_others_is_not_put_aside() -> None:
    """So looks each reorganisation, and on some networks there are several an hour."""
    scene = Scene("one", "two", "three")
    scene.fakes[0].fork = "f"
    for _ in range(5):
        scene.providers.head()
        scene.now += APART_SECONDS
    assert aside(scene) == {}
    assert problems_of(scene, "one") == {"disagrees"}


def test_one_is_not_put_aside_where_too_few_would_be_left() -> None:
    """Two of three leave out an event that the receipt proves: the network is still read, and an alarm stays."""
    scene = Scene("one", "two", "three")
    scene.providers.head()
    event = Log("0x" + "aa" * 20, (), b"", 50, "0x" + "00" * 32, SENT, 0)
    for _ in range(4):
        scene.providers.note_omission(scene.providers._providers[1:], event)
        scene.now += APART_SECONDS
    assert set(aside(scene)) == {"two"}
    assert problems_of(scene, "three") == {"disagrees"}
    assert scene.providers.head().height == 100


def test_those_with_an_old_head_are_asked_for_it_alone_while_enough_others_are_up() -> None:
    scene = Scene("one", "two", "three", "four")
    honest(scene)
    for fake in scene.fakes[:2]:
        fake.head_age_seconds = 600
        denies(fake)
    scene.providers.head()
    before = scene.fakes[0].requests
    found = scene.providers.agree_on(receipt(SENT, up_to=60))
    assert found is not None
    assert scene.fakes[0].requests == before
    for fake in scene.fakes[:2]:
        fake.head_age_seconds = 0
    scene.providers.head()
    assert problems_of(scene, "one") == set()


class TestTwoLiarsOfFour:
    """They come first in the list and say the same, and two must agree."""

    @pytest.fixture
    def four(self) -> Scene:
        scene = Scene("one", "two", "three", "four")
        honest(scene)
        for fake in scene.fakes[2:]:
            fake.answers["eth_getTransactionReceipt"] = lambda _: None
        return scene

    def test_nothing_is_believed_that_two_others_deny(self, four: Scene) -> None:
        with pytest.raises(ChainUnavailable, match="do not agree"):
            four.providers.agree_on(receipt(SENT, up_to=60))
        assert {kind for _, kind in four.problems()} == {"disagrees"}
        assert f"eth_getTransactionReceipt {SENT}: it reports it succeeded" in four.messages()["one"]
        assert f"eth_getTransactionReceipt {SENT}: it reports nothing" in four.messages()["three"]

    def test_where_enough_are_believed_without_asking_the_others_they_cheat(
        self, four: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The control: as it was when the first two that agree were believed."""
        real: Any = ProviderPool._winner
        monkeypatch.setattr(
            ProviderPool, "_winner", lambda self, groups, *, still_silent=0: real(self, groups, still_silent=0)
        )
        assert four.providers.agree_on(receipt(SENT, up_to=60)) is not None

    def test_neither_head_nor_finality_is_theirs_to_say(self, four: Scene) -> None:
        for fake in four.fakes[:2]:
            fake.height, fake.unfinal = 103, 0
        head = four.providers.head()
        assert (head.height, head.finalized_height) == (100, 90)

    def test_a_fifth_outvotes_them_and_both_are_put_aside(self) -> None:
        scene = Scene("one", "two", "three", "four", "five")
        honest(scene)
        scene.providers.head()
        for fake, number in zip(scene.fakes, (9, 9, 5, 5, 5), strict=True):
            fake.answers["eth_getTransactionCount"] = partial(lambda number, *_: hex(number), number)
        for _ in range(3):
            assert scene.providers.agree_on(nonce(SOMEBODY, 60)) == 5
            scene.now += APART_SECONDS
        assert set(aside(scene)) == {"one", "two"}
