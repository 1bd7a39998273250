"""Which Horizons are asked and believed, and that whatever one replies the worst of it is that it fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from payments.chains.errors import ChainUnavailable, FinalityViolation, NotSetUp
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.horizon import records
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.providers import LAG_SECONDS, ROOT_SECONDS, Horizons
from tests.chains.harness import Watched
from tests.evm.hostile import changes
from tests.stellar.front import Front
from tests.stellar.harness import LocalHarness
from tests.stellar.network.keys import HOT_WALLET, PASSPHRASE

ROOT = "^/$"


@pytest.fixture(scope="module")
def harness() -> Iterator[LocalHarness]:
    """Nothing here depends on what happened on it before."""
    found = LocalHarness()
    found.fund(HOT_WALLET, "USDC", 5)
    yield found
    found.stop()


def problems(horizons: Horizons) -> dict[str, list[str]]:
    return {state.name: sorted(state.problems) for state in horizons.states()}


def test_a_horizon_of_another_network_is_asked_nothing_more(harness: LocalHarness) -> None:
    fronts = [Front(harness.local), Front(harness.local)]
    horizons = harness.chain_through(*fronts).horizons
    for front in fronts:
        front.spoil(ROOT, lambda root: root | {"network_passphrase": "Another Network"})
    for question in (horizons.head, lambda: horizons.any(lambda horizon: horizon.get("/fee_stats"))):
        with pytest.raises(ChainUnavailable):
            question()
    assert horizons.are_elsewhere
    assert "'Another Network', not for" in horizons.states()[0].problems["failing"]
    assert {path for front in fronts for path in front.asked} == {"/"}
    for front in fronts:
        front.heal()
    assert horizons.head().height
    assert problems(horizons) == {"horizon-1": [], "horizon-2": []}


def test_which_network_it_is_on_is_asked_again_after_a_minute(harness: LocalHarness) -> None:
    front, now = Front(harness.local), [1_000.0]
    horizons = Horizons(
        [Horizon("http://horizon-1", transport=front)],
        network="stellar",
        passphrase=PASSPHRASE,
        one_may_decide=True,
        clock=lambda: now[0],
    )
    horizons.head()
    front.spoil(ROOT, lambda root: root | {"network_passphrase": "Another Network"})
    now[0] += ROOT_SECONDS - 1
    assert horizons.any(lambda horizon: horizon.get("/fee_stats"))
    now[0] += 1
    with pytest.raises(ChainUnavailable):
        horizons.any(lambda horizon: horizon.get("/fee_stats"))


def lagging(root: dict[str, Any]) -> dict[str, Any]:
    closed_at = datetime.now(UTC) - timedelta(seconds=LAG_SECONDS + 1)
    return root | {"history_latest_ledger_closed_at": f"{closed_at:%Y-%m-%dT%H:%M:%SZ}"}


def test_one_that_lags_is_an_alarm_and_does_not_say_where_the_head_is(harness: LocalHarness) -> None:
    fronts = [Front(harness.local), Front(harness.local)]
    horizons = harness.chain_through(*fronts).horizons
    fronts[0].spoil(ROOT, lagging)
    with pytest.raises(ChainUnavailable, match="Only 1 of 2"):
        horizons.head()
    assert problems(horizons) == {"horizon-1": ["old_head"], "horizon-2": []}
    fronts[1].spoil(ROOT, lagging)
    horizons.head()  # the network itself may stand still
    assert problems(horizons) == {"horizon-1": ["old_head"], "horizon-2": ["old_head"]}
    fronts[0].heal()
    fronts[1].heal()
    horizons.head()
    assert problems(horizons) == {"horizon-1": [], "horizon-2": []}


def test_the_time_is_read_before_a_round_and_never_in_a_thread_of_it(harness: LocalHarness) -> None:
    """A thread of a round would open a connection to the database that nobody closes."""
    horizons = harness.chain_through(Front(harness.local), Front(harness.local)).horizons
    readers = list[threading.Thread]()

    def read_time() -> datetime:
        readers.append(threading.current_thread())
        return datetime.now(UTC)

    horizons._read_time = read_time
    assert horizons.agree(lambda horizon: horizon.get("/fee_stats"))
    horizons.head()
    assert readers == [threading.current_thread()]


def test_one_alone_knows_nothing_unless_the_operator_lets_it(harness: LocalHarness) -> None:
    server = Horizon(harness.local.url)
    twice = Horizons([server, Horizon(harness.local.url)], network="stellar", passphrase=PASSPHRASE)
    with pytest.raises(NotSetUp, match=r"STELLAR_HORIZON_URLS.*STELLAR_SINGLE_PROVIDER"):
        twice.require_enough()
    with pytest.raises(ChainUnavailable, match="Only 1 of 2"):
        twice.head()
    alone = Horizons([server], network="stellar", passphrase=PASSPHRASE, one_may_decide=True)
    alone.require_enough()
    assert alone.head().height


def test_a_horizon_that_has_not_read_a_ledger_is_not_asked_about_it(harness: LocalHarness) -> None:
    front = Front(harness.local)
    horizons = harness.chain_through(front).horizons
    height = horizons.head().height
    with pytest.raises(ChainUnavailable):
        horizons.agree(lambda horizon: horizon.query(records.ledger, f"/ledgers/{height}"), up_to=height + 1)
    assert front.asked[f"/ledgers/{height}"] == 1
    assert problems(horizons) == {"horizon-1": []}


def test_an_older_instance_behind_the_address_of_a_newer_one_has_not_answered(harness: LocalHarness) -> None:
    fronts = [Front(harness.local), Front(harness.local)]
    horizons = harness.chain_through(*fronts).horizons
    height = horizons.head().height

    def ask(horizon: Horizon) -> str:
        return str(horizon.get("/fee_stats")["last_ledger"])

    for front in fronts:
        front.headers = {"Latest-Ledger": str(height)}
    assert horizons.agree(ask, up_to=height)
    fronts[0].headers = {"Latest-Ledger": str(height - 1)}
    with pytest.raises(ChainUnavailable, match="Only 1 of 2"):
        horizons.agree(ask, up_to=height)
    assert horizons.agree(ask, up_to=height - 1)
    assert problems(horizons) == {"horizon-1": [], "horizon-2": []}  # nor has it lied


SPOILED = (ROOT, "/ledgers", "/payments", "/accounts/[^/]+$", "/operations", "/effects", "/transactions")


@pytest.fixture(scope="module")
def questions(harness: LocalHarness) -> list[Callable[[StellarChain], object]]:
    """Whatever is read of the network."""
    honest = harness.chain
    digest = honest.reading.scan(honest.reading.cursor_at(0), Watched(HOT_WALLET)).transfers[0].transaction_hash
    height, usdc = honest.reading.head().height, harness.profile.assets["USDC"]
    cursor = honest.reading.cursor_at(height - 3)
    return [
        lambda chain: chain.reading.scan(None, Watched(HOT_WALLET)),
        lambda chain: chain.reading.scan(cursor, Watched(HOT_WALLET)),
        lambda chain: chain.reading.find_transaction(digest),
        lambda chain: chain.reading.outgoing(HOT_WALLET, first_height=1, last_height=height),
        lambda chain: chain.reading.balance(HOT_WALLET, usdc, at_height=height - 1),
        lambda chain: chain.reading.balance(HOT_WALLET, harness.profile.native, at_height=1),
        lambda chain: chain.operations.unusual_changes(HOT_WALLET, first_height=1, last_height=height),
    ]


def outcome(question: Callable[[StellarChain], object], chain: StellarChain) -> str:
    try:
        question(chain)
    except (ChainUnavailable, FinalityViolation) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("path", SPOILED)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(change=changes(), both=st.booleans())
def test_no_reply_ends_in_an_exception_that_nobody_expects(
    harness: LocalHarness,
    questions: list[Callable[[StellarChain], object]],
    path: str,
    change: Callable[[Any], Any],
    both: bool,
) -> None:
    fronts = [Front(harness.local), Front(harness.local)]
    for front in fronts if both else fronts[:1]:
        front.spoil(path, change)
    chain = harness.chain_through(*fronts)
    for question in questions:
        said = outcome(question, chain)
        assert len(said) < 2_000
        assert "\x00" not in said
