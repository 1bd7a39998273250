"""Two providers must say the same before money moves, however long the others have been down."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import httpx
import pytest

from payments.chains.errors import ChainUnavailable, NotSetUp
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import Question, header, logs, nonce, receipt, usual_tip
from payments.chains.evm.nodes.rpc import LARGEST_REPLY_BYTES, Rpc, RpcError
from payments.chains.providers.pool import DISAGREES_SECONDS, DOWN_AFTER_SECONDS, INVENTS_SECONDS, PROBE_SECONDS
from tests.evm.fakes import CHAIN_ID, FakeProvider, Refusal, block_hash


class Scene:
    def __init__(self, *names: str, one_may_decide: bool = False, agreeing: int = 2) -> None:
        self.now = 1_000.0
        head_at = time.time()
        self.fakes = [FakeProvider(name, head_at=head_at) for name in names]
        self.providers = Providers(
            [fake.rpc for fake in self.fakes],
            network="polygon",
            block_seconds=2,
            one_may_decide=one_may_decide,
            agreeing=agreeing,
            clock=lambda: self.now,
        )

    def messages(self) -> dict[str, str]:
        return {alarm.provider: alarm.message for alarm in self.providers.alarms()}

    def problems(self) -> list[tuple[str, str]]:
        return [(alarm.provider, alarm.kind) for alarm in self.providers.alarms()]

    def let_it_be_down(self, fake: FakeProvider) -> None:
        fake.fail()
        with pytest.raises(ChainUnavailable):
            self.providers.head()
        self.now += DOWN_AFTER_SECONDS


@pytest.fixture
def two() -> Scene:
    return Scene("one", "two")


@pytest.fixture
def three() -> Scene:
    return Scene("one", "two", "three")


class TestHead:
    def test_the_head_is_what_two_have_seen(self, two: Scene) -> None:
        two.fakes[0].height = 103
        head = two.providers.head()
        assert (head.height, head.block_hash, head.finalized_height) == (100, block_hash(100), 90)

    def test_final_is_what_two_call_final(self, two: Scene) -> None:
        two.fakes[1].unfinal = 0
        assert two.providers.head().finalized_height == 90

    def test_one_that_stays_behind_does_not_hold_two_others_back(self, three: Scene) -> None:
        three.fakes[0].height = 7
        assert three.providers.head().height == 100

    def test_one_alone_cannot_say_where_the_head_is(self, two: Scene) -> None:
        two.fakes[0].fail()
        with pytest.raises(ChainUnavailable):
            two.providers.head()

    def test_a_fork_at_the_head_is_not_known_yet(self, two: Scene) -> None:
        two.fakes[1].fork = "f"
        with pytest.raises(ChainUnavailable, match="do not agree"):
            two.providers.head()
        assert two.problems() == [("one", "disagrees"), ("two", "disagrees")]
        two.fakes[1].fork = "0"
        two.providers.head()
        two.now += DISAGREES_SECONDS
        assert two.problems() == []

    def test_an_old_head_is_an_alarm(self, three: Scene) -> None:
        three.fakes[2].head_age_seconds = 600
        three.providers.head()
        assert three.problems() == [("three", "old_head")]

    def test_where_all_are_old_the_network_stands_still(self, two: Scene) -> None:
        for fake in two.fakes:
            fake.head_age_seconds = 600
        assert two.providers.head().height == 100
        assert two.problems() == [("one", "old_head"), ("two", "old_head")]


class TestAgreeing:
    def test_what_one_invents_is_not_believed(self, two: Scene) -> None:
        two.fakes[0].answers["eth_getLogs"] = lambda _: [log(50)]
        two.fakes[1].answers["eth_getLogs"] = lambda _: []
        with pytest.raises(ChainUnavailable, match="do not agree"):
            two.providers.agree_on(logs(1, 60, []))

    def test_two_of_three_are_believed_and_the_third_is_named(self, three: Scene) -> None:
        three.fakes[0].answers["eth_getLogs"] = lambda _: [log(50)]
        for fake in three.fakes[1:]:
            fake.answers["eth_getLogs"] = lambda _: []
        assert three.providers.agree_on(logs(1, 60, [])) == ()
        assert three.problems() == [("one", "disagrees")]

    def test_a_false_receipt_is_told_with_what_each_said_and_kept_in_mind(self, three: Scene) -> None:
        three.fakes[1].answers["eth_getTransactionReceipt"] = lambda _: receipt_of(status="0x0")
        for fake in (three.fakes[0], three.fakes[2]):
            fake.answers["eth_getTransactionReceipt"] = lambda _: receipt_of()
        believed = three.providers.agree_on(receipt(SENT, up_to=60))
        assert believed is not None
        assert believed.succeeded
        told = (
            f"eth_getTransactionReceipt {SENT}: it reports it failed in block 50; "
            "one, three reports it succeeded in block 50"
        )
        assert three.messages() == {"two": told}
        three.fakes[1].fork = "f"
        three.providers.agree_on(header(5))  # something else, and no money
        three.providers.agree_on(nonce_of_five(three))
        assert three.messages() == {"two": told}
        three.now += INVENTS_SECONDS
        assert three.messages() == {}

    def test_the_same_money_in_another_block_is_no_invention(self, three: Scene) -> None:
        three.fakes[0].answers["eth_getTransactionReceipt"] = lambda _: receipt_of(fork="f")
        for fake in three.fakes[1:]:
            fake.answers["eth_getTransactionReceipt"] = lambda _: receipt_of()
        three.providers.agree_on(receipt(SENT, up_to=60))
        assert three.problems() == [("one", "disagrees")]
        three.now += DISAGREES_SECONDS
        assert three.problems() == []

    def test_no_single_provider_drives_the_tip_up_or_down(self, three: Scene) -> None:
        for fake, tip in zip(three.fakes, ("0x2e90edd000", "0x5", "0x7"), strict=True):
            fake.answers["eth_maxPriorityFeePerGas"] = partial(str, tip)
        assert three.providers.middle(usual_tip()) == 7
        three.fakes[2].fail()
        assert three.providers.middle(usual_tip()) == 5

    def test_the_third_is_not_asked_where_two_agree(self, three: Scene) -> None:
        three.providers.agree_on(header(5))
        assert [fake.requests for fake in three.fakes] == [1, 1, 0]

    def test_what_providers_add_and_how_they_spell_makes_no_difference(self, two: Scene) -> None:
        two.fakes[0].answers["eth_getLogs"] = lambda _: [log(50), log(51)]
        shouted = {"topics": [], "address": "0x" + "AA" * 20, "data": "0xAB", "blockTimestamp": "0x5"}
        two.fakes[1].answers["eth_getLogs"] = lambda _: [log(51), log(50) | shouted]
        found = two.providers.agree_on(logs(1, 60, []))
        assert [each.height for each in found] == [50, 51]

    @pytest.mark.parametrize(
        "odd",
        [
            None,
            {},
            ["0x"],
            [{"address": "0x"}],
            pytest.param("removed", id="of an undone block"),
            pytest.param("elsewhere", id="of a block not asked for"),
        ],
    )
    def test_what_cannot_be_read_is_no_answer(self, two: Scene, odd: Any) -> None:
        special = {"removed": [log(50) | {"removed": True}], "elsewhere": [log(61)]}
        answer = special[odd] if isinstance(odd, str) else odd
        for fake in two.fakes:
            fake.answers["eth_getLogs"] = lambda _: answer
        with pytest.raises(ChainUnavailable):
            two.providers.agree_on(logs(1, 60, []))
        assert two.problems() == [("one", "failing"), ("two", "failing")]

    def test_a_refusal_of_both_is_told_however_it_is_worded(self, two: Scene) -> None:
        for fake, words in zip(two.fakes, ("too many results", "query exceeds limits"), strict=True):
            fake.answers["eth_getLogs"] = refusing(words)
        with pytest.raises(RpcError) as refusal:
            two.providers.agree_on(logs(1, 60, []))
        assert refusal.value.is_too_large

    def test_an_answer_nobody_should_have_to_read_is_asked_for_in_parts(self, two: Scene) -> None:
        def reply(_: httpx.Request) -> httpx.Response:
            return httpx.Response(200, content=b" " * (LARGEST_REPLY_BYTES + 1))

        two.fakes[0].reply = reply
        with pytest.raises(RpcError) as refusal:
            two.providers.gather(logs(1, 60, []))
        assert refusal.value.is_too_large
        with pytest.raises(ChainUnavailable):
            two.providers.agree_on(header(1))

    def test_a_node_that_lacks_the_block_says_nothing(self, three: Scene) -> None:
        three.fakes[0].answers["eth_getTransactionCount"] = refusing("header not found")
        for fake in three.fakes[1:]:
            fake.answers["eth_getTransactionCount"] = lambda *_: "0x5"
        assert three.providers.agree_on(nonce("0x" + "11" * 20, 100)) == 5


class TestFailingOver:
    def test_what_only_helps_comes_from_whoever_answers(self, two: Scene) -> None:
        two.fakes[0].fail()
        two.fakes[1].answers["eth_getTransactionCount"] = lambda *_: "0x5"
        assert two.providers.query(nonce("0x" + "11" * 20, 100)) == 5
        assert two.problems() == [("one", "failing")]

    @pytest.mark.parametrize("seconds", [0, DOWN_AFTER_SECONDS - 1, DOWN_AFTER_SECONDS, DOWN_AFTER_SECONDS + 1, 86_400])
    def test_one_alone_is_believed_about_nothing_however_long_the_other_is_down(
        self, two: Scene, seconds: float
    ) -> None:
        two.let_it_be_down(two.fakes[0])
        two.now += seconds - DOWN_AFTER_SECONDS
        two.fakes[1].answers |= {
            "eth_getTransactionCount": lambda *_: "0x5",
            "eth_getLogs": lambda _: [log(50)],
            "eth_maxPriorityFeePerGas": lambda: "0x1",
        }
        for question in (
            two.providers.head,
            lambda: two.providers.agree_on(nonce("0x" + "11" * 20, 100)),
            lambda: two.providers.gather(logs(1, 60, [])),
            lambda: two.providers.middle(usual_tip()),
        ):
            with pytest.raises(ChainUnavailable, match=r"Only 1 of 2 .* Deposits and payouts wait; nothing is lost\."):
                question()

    def test_a_provider_that_is_down_is_asked_rarely(self, three: Scene) -> None:
        three.fakes[0].fail()
        three.providers.head()
        three.now += DOWN_AFTER_SECONDS
        three.providers.head()
        before = three.fakes[0].requests
        for _ in range(int(PROBE_SECONDS) - 1):
            three.now += 1
            three.providers.head()
        assert three.fakes[0].requests == before
        three.now += 1
        three.providers.head()
        assert three.fakes[0].requests > before

    def test_one_that_is_back_counts_again(self, two: Scene) -> None:
        two.let_it_be_down(two.fakes[0])
        two.fakes[0].recover()
        two.now += PROBE_SECONDS
        two.providers.head()
        assert two.problems() == []
        two.fakes[1].fail()
        with pytest.raises(ChainUnavailable):
            two.providers.head()

    def test_where_nobody_answers_nothing_is_known(self, two: Scene) -> None:
        for fake in two.fakes:
            fake.fail()
        for _ in range(3):
            questions: list[Callable[[], object]] = [
                two.providers.head,
                lambda: two.providers.query(header(1)),
                lambda: anyone(two),
            ]
            for question in questions:
                with pytest.raises(ChainUnavailable):
                    question()
            two.now += DOWN_AFTER_SECONDS
        for fake in two.fakes:
            fake.recover()
        assert two.providers.head().height == 100

    def test_one_provider_is_enough_where_the_operator_says_so(self) -> None:
        assert Scene("only", one_may_decide=True).providers.head().height == 100
        alone = Scene("only").providers
        with pytest.raises(ChainUnavailable, match="Only 1 of 2"):
            alone.head()
        with pytest.raises(NotSetUp, match=r"polygon has one provider, only.* POLYGON_RPC_URLS.*SINGLE_PROVIDER"):
            alone.require_enough()

    def test_with_three_of_five_two_that_lie_alike_are_outvoted_and_told_of(self) -> None:
        scene = Scene("one", "two", "three", "four", "five", agreeing=3)
        for fake, number in zip(scene.fakes, (9, 9, 5, 5, 5), strict=True):
            fake.answers["eth_getTransactionCount"] = partial(lambda number, *_: hex(number), number)
        assert scene.providers.agree_on(nonce("0x" + "11" * 20, 100)) == 5
        assert scene.problems() == [("one", "disagrees"), ("two", "disagrees")]

    def test_two_of_four_that_lie_alike_are_not_believed_where_three_must_agree(self) -> None:
        scene = Scene("one", "two", "three", "four", agreeing=3)
        for fake, number in zip(scene.fakes, (9, 9, 5, 5), strict=True):
            fake.answers["eth_getTransactionCount"] = partial(lambda number, *_: hex(number), number)
        with pytest.raises(ChainUnavailable, match="do not agree"):
            scene.providers.agree_on(nonce("0x" + "11" * 20, 100))
        assert {kind for _, kind in scene.problems()} == {"disagrees"}

    def test_the_head_and_the_middle_need_as_many(self) -> None:
        scene = Scene("one", "two", "three", agreeing=3)
        scene.fakes[0].height = 103
        scene.fakes[1].height = 102
        assert scene.providers.head().height == 100
        for fake in scene.fakes:
            fake.answers["eth_maxPriorityFeePerGas"] = lambda: "0x5"
        scene.fakes[2].fail()
        with pytest.raises(ChainUnavailable, match="Only 2 of 3"):
            scene.providers.head()
        with pytest.raises(ChainUnavailable, match="Only 2 of 3"):
            scene.providers.middle(usual_tip())

    def test_fewer_than_must_agree_are_not_enough_and_one_alone_may_decide_all_the_same(self) -> None:
        with pytest.raises(NotSetUp, match=r"has 2 providers.* when 3 .*POLYGON_RPC_URLS.*PROVIDERS_THAT_AGREE"):
            Scene("one", "two", agreeing=3).providers.require_enough()
        Scene("only", one_may_decide=True, agreeing=3).providers.require_enough()

    def test_where_two_are_listed_two_must_agree_whatever_the_operator_says(self) -> None:
        scene = Scene("one", "two", one_may_decide=True)
        scene.let_it_be_down(scene.fakes[0])
        with pytest.raises(ChainUnavailable, match="Only 1 of 2"):
            scene.providers.head()

    @pytest.mark.parametrize(
        "again",
        [
            "https://one.example/key",
            "HTTPS://ONE.example/key",
            "https://one.example:443/key/",
            "https://user:secret@one.example./key",
            "http://one.example:80/key",
            "https://one.example/key?token=other#part",
        ],
    )
    def test_an_endpoint_that_is_listed_twice_counts_once(self, again: str) -> None:
        one = FakeProvider("one.example")
        twin = Rpc(again, chain_id=CHAIN_ID, transport=one)
        providers = Providers([one.rpc, twin], network="polygon", block_seconds=2)
        assert [state.name for state in providers.states()] == ["one.example"]
        with pytest.raises(NotSetUp):
            providers.require_enough()
        with pytest.raises(ChainUnavailable, match="Only 1 of 2"):
            providers.head()

    @pytest.mark.parametrize(
        "other", ["https://two.example/key", "https://one.example:8443/key", "https://one.example/b"]
    )
    def test_another_host_port_or_path_is_another_endpoint(self, other: str) -> None:
        one = FakeProvider("one.example")
        providers = Providers(
            [one.rpc, Rpc(other, chain_id=CHAIN_ID, transport=one)], network="polygon", block_seconds=2
        )
        providers.require_enough()
        assert providers.head().height == 100
        names = [state.name for state in providers.states()]
        assert len(set(names)) == 2
        assert "key" not in names[1]

    def test_none_is_not_enough(self) -> None:
        with pytest.raises(ValueError, match="no provider"):
            Scene()

    def test_what_waits_is_known_if_anyone_knows_it(self, two: Scene) -> None:
        two.fakes[0].answers["eth_getBlockByNumber"] = lambda *_: None
        assert anyone(two) is not None


SENT = "0x" + "cd" * 32


def receipt_of(*, status: str = "0x1", fork: str = "0") -> dict[str, Any]:
    return {
        "transactionHash": SENT,
        "blockNumber": hex(50),
        "blockHash": block_hash(50, fork),
        "status": status,
        "gasUsed": "0x1",
        "effectiveGasPrice": "0x1",
        "logs": [],
    }


def nonce_of_five(scene: Scene) -> Question[int]:
    for fake in scene.fakes:
        fake.answers["eth_getTransactionCount"] = lambda *_: "0x5"
    return nonce("0x" + "11" * 20, 100)


def anyone(scene: Scene) -> object:
    return scene.providers.anyone(header(1))


def refusing(words: str) -> Any:
    def refuse(*_: object) -> None:
        raise Refusal(words)

    return refuse


def log(height: int) -> dict[str, Any]:
    return {
        "address": "0x" + "aa" * 20,
        "topics": [],
        "data": "0xab",
        "blockNumber": hex(height),
        "blockHash": block_hash(height),
        "transactionHash": "0x" + "cd" * 32,
        "logIndex": "0x0",
    }


@pytest.mark.parametrize("minutes", [-10, 0, 10])
def test_whether_a_head_is_old_goes_by_the_databases_clock(minutes: int) -> None:
    """These minutes the process is ahead of the database, and of the blocks."""
    scene = Scene("one", "two", "three")
    ahead = timedelta(minutes=minutes)
    scene.providers._read_time = lambda: datetime.now(UTC) - ahead
    for fake in scene.fakes:
        fake.head_age_seconds = 60 * minutes
    scene.providers.head()
    assert scene.problems() == []
    scene.fakes[0].head_age_seconds += 600
    scene.providers.head()
    assert scene.problems() == [("one", "old_head")]
