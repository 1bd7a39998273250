"""What is read of stellar where a network of its kind has traps: whom money is for, what it moved, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from stellar_sdk import (
    Asset,
    Claimant,
    HashMemo,
    IdMemo,
    Keypair,
    Memo,
    NoneMemo,
    TextMemo,
    TransactionBuilder,
)
from stellar_sdk.operation import (
    AccountMerge,
    ChangeTrust,
    ClaimClaimableBalance,
    CreateAccount,
    CreateClaimableBalance,
    ManageSellOffer,
    PathPaymentStrictReceive,
    PathPaymentStrictSend,
    Payment,
)

from payments.chains.errors import ChainUnavailable
from payments.chains.stellar import addresses
from payments.chains.stellar.adapter import StellarChain
from payments.chains.stellar.horizon.reading import READ_AGAIN, HistoryMissing, Reading
from tests.chains.harness import Reader, Watched
from tests.stellar.front import Front, records
from tests.stellar.harness import LocalHarness, key_of
from tests.stellar.network.keys import HOT_WALLET, HOT_WALLET_KEY

WALLET = Keypair.from_secret(HOT_WALLET_KEY)
SOMEBODY, OTHER = key_of("stranger 1"), key_of("stranger 2")


@pytest.fixture
def harness() -> Iterator[LocalHarness]:
    found = LocalHarness()
    yield found
    found.stop()


@pytest.fixture
def chain(harness: LocalHarness) -> StellarChain:
    return harness.chain_through()


@pytest.fixture
def reader(chain: StellarChain) -> Reader:
    found = Reader(chain, HOT_WALLET)
    found.read()
    return found


def usdc(harness: LocalHarness) -> Asset:
    return harness.local.asset("USDC")


REFERENCES: list[tuple[int | None, Memo, tuple[str | None, str | None]]] = [
    (None, NoneMemo(), (None, None)),
    (None, IdMemo(2**64 - 1), (str(2**64 - 1), None)),
    (None, TextMemo(" 0017 "), ("17", None)),
    (None, TextMemo(b"17\x00"), ("17\ufffd", None)),
    (None, TextMemo(b"\xff17"), ("\ufffd17", None)),
    (None, HashMemo(b"\x01" * 32), ("01" * 32, None)),
    (17, NoneMemo(), ("17", None)),
    (17, IdMemo(17), ("17", None)),
    (17, TextMemo("017"), ("17", None)),
    (17, IdMemo(18), ("17", "18")),
    (17, TextMemo("order 18"), ("17", "order 18")),
]


def test_a_muxed_id_says_whom_it_is_for_before_a_memo_does(harness: LocalHarness, reader: Reader) -> None:
    for muxed_id, memo, _ in REFERENCES:
        to = HOT_WALLET if muxed_id is None else addresses.mux(HOT_WALLET, muxed_id)
        harness.local.pay(harness.local.issuer("USDC"), to, "USDC", 5, memo=memo)
    found = reader.read().transfers
    assert [(each.memo, each.conflicting_memo) for each in found] == [expected for *_, expected in REFERENCES]
    assert {each.recipient for each in found} == {HOT_WALLET}


def test_every_operation_counts_by_what_arrived_of_it(harness: LocalHarness, reader: Reader) -> None:
    local, issuer = harness.local, harness.local.issuer("USDC")
    dai = local.asset("DAI")
    local.mint("DAI", SOMEBODY.public_key, 10**9)
    local.mint("USDC", SOMEBODY.public_key, 10**9)
    offer = ManageSellOffer(selling=usdc(harness), buying=dai, amount="100", price="2")
    local.act(issuer, ChangeTrust(dai), offer)
    muxed = addresses.mux(HOT_WALLET, 9)
    digest = local.act(
        SOMEBODY,
        Payment(HOT_WALLET, usdc(harness), "1"),
        Payment(HOT_WALLET, Asset.native(), "1"),
        Payment(OTHER.public_key, usdc(harness), "1"),
        PathPaymentStrictSend(HOT_WALLET, dai, "3", usdc(harness), "1.5", []),
        PathPaymentStrictReceive(muxed, dai, "9", usdc(harness), "2", []),
        Payment(HOT_WALLET, usdc(harness), "1"),
        memo=7,
    )
    found = reader.read().transfers
    assert [(each.ordinal, each.amount, each.memo, each.conflicting_memo) for each in found] == [
        (0, 10_000_000, "7", None),
        (3, 15_000_000, "7", None),
        (4, 20_000_000, "9", "7"),
        (5, 10_000_000, "7", None),
    ]
    assert {(each.transaction_hash, each.contract) for each in found} == {(digest, f"USDC:{issuer.public_key}")}
    assert reader.chain.reading.find_transfers(digest)[0] == found[0]
    assert len(reader.chain.reading.find_transfers(digest)) == 5
    height = reader.chain.reading.head().height
    left = reader.chain.reading.outgoing(SOMEBODY.public_key, first_height=height, last_height=height)
    assert [(each.ordinal, each.contract[:4], each.amount, each.recipient, each.memo) for each in left] == [
        (0, "USDC", 10_000_000, HOT_WALLET, "7"),
        (2, "USDC", 10_000_000, OTHER.public_key, "7"),
        (3, "DAI:", 30_000_000, HOT_WALLET, "7"),
        (4, "DAI:", 40_000_000, HOT_WALLET, "9"),
        (5, "USDC", 10_000_000, HOT_WALLET, "7"),
    ]


def test_a_payment_from_the_wallet_to_itself_is_no_deposit(harness: LocalHarness, reader: Reader) -> None:
    harness.fund(HOT_WALLET, "USDC", 50)
    reader.read()
    before = dict(reader.known)
    harness.local.pay(WALLET, addresses.mux(HOT_WALLET, 5), "USDC", 50)
    reader.read()
    assert reader.known == before


def test_a_fee_bump_is_found_by_either_hash(harness: LocalHarness, reader: Reader) -> None:
    local = harness.local
    local.mint("USDC", SOMEBODY.public_key, 100)
    inner = local.envelope(SOMEBODY, Payment(HOT_WALLET, usdc(harness), "0.000001"), memo=12)
    bump = TransactionBuilder.build_fee_bump_transaction(OTHER, 1_000, inner, local.network.passphrase)
    bump.sign(OTHER)
    local.network.submit(bump.to_xdr())
    local.close_ledger()
    (found,) = reader.read().transfers
    assert (found.transaction_hash, found.memo, found.amount) == (bump.hash_hex(), "12", 10)
    assert found.inner_hash == inner.hash_hex()
    assert (
        reader.chain.reading.find_transfers(inner.hash_hex())
        == reader.chain.reading.find_transfers(bump.hash_hex())
        == (found,)
    )
    by_inner = reader.chain.reading.find_transaction(inner.hash_hex())
    assert by_inner == reader.chain.reading.find_transaction(bump.hash_hex())
    assert by_inner is not None
    assert by_inner.transaction_hash == bump.hash_hex()


def test_native_coins_and_accounts_that_end_are_no_deposits(harness: LocalHarness, reader: Reader) -> None:
    local, ending = harness.local, key_of("ending")
    local.fund_native(ending.public_key, 50_000_000)
    digests = [
        local.fund_native(HOT_WALLET, 12),
        local.act(ending, AccountMerge(HOT_WALLET)),
        local.act(SOMEBODY, CreateAccount(key_of("new").public_key, "1.5")),
    ]
    assert reader.read().transfers == ()
    idle = [found.idle for each in digests if (found := reader.chain.reading.find_transaction(each)) is not None]
    assert [[(each.contract, each.amount) for each in some] for some in idle] == [
        [("", 12)],
        [("", 50_000_000 - 100)],
        [("", 15_000_000)],
    ]


def test_a_ledger_of_more_than_a_page_is_read_whole_and_the_rest_later(harness: LocalHarness, reader: Reader) -> None:
    one = Payment(HOT_WALLET, usdc(harness), "0.0000001", source=usdc(harness).issuer)
    for count in (100, 100, 50):
        harness._submit(*[one] * count, signers=[harness.local.issuer("USDC")])
    harness.mine()
    harness.pay((harness.profile.assets["USDC"].contract, 2, HOT_WALLET, None))
    harness.mine()
    small = Reader(harness.impatient(120), HOT_WALLET)
    small.cursor = reader.cursor
    scans = [small.read_once(), small.read_once()]
    assert len(scans[0].transfers) == 250
    assert [scan.caught_up for scan in scans] == [False, True]
    assert scans[1].last_height == scans[0].last_height + 1
    assert len(small.known) == len(small.arrivals) == 251


def test_what_a_horizon_behind_the_same_address_overlooked_is_read_again(harness: LocalHarness) -> None:
    front = Front(harness.local)
    reader = Reader(harness.chain_through(front), HOT_WALLET)
    reader.read()
    harness.fund(HOT_WALLET, "USDC", 5)
    front.spoil("/payments", records(lambda found: found[:-1]), times=1)
    assert (reader.read().transfers, reader.known) == ((), {})
    for _ in range(READ_AGAIN - 1):
        harness.mine()
    reader.read()
    assert [each.amount for each in reader.known.values()] == [5]


def test_nothing_is_read_again_and_little_asked_while_no_ledger_closes(harness: LocalHarness) -> None:
    front = Front(harness.local)
    reader = Reader(harness.chain_through(front), HOT_WALLET)
    reader.read()
    front.asked.clear()
    reader.read()
    assert not [path for path in front.asked if "/accounts" in path]


def test_while_horizons_know_nothing_new_no_time_passes(harness: LocalHarness, reader: Reader) -> None:
    before = reader.read()
    for each in harness.servers:
        each.pause_ingestion()
    harness.fund(HOT_WALLET, "USDC", 5)
    harness.let_time_pass(3_600)
    scan = reader.read()
    assert (scan.last_block_time, scan.head) == (before.head.closed_at, before.head)
    for each in harness.servers:
        each.resume_ingestion()
    scan = reader.read()
    assert [each.amount for each in scan.transfers] == [5]
    assert scan.last_block_time == scan.head.closed_at > before.head.closed_at


def test_a_horizon_that_is_behind_is_waited_for(harness: LocalHarness, reader: Reader) -> None:
    harness.servers[1].pause_ingestion()
    harness.fund(HOT_WALLET, "USDC", 5)
    assert reader.read().transfers == ()
    harness.servers[1].resume_ingestion()
    assert [each.amount for each in reader.read().transfers] == [5]
    assert isinstance(reader.chain, StellarChain)
    assert all(not state.problems for state in reader.chain.providers.states())


def more(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last payment was a thousand times as much."""
    return [*found[:-1], {**found[-1], "amount": "5000.0000000"}] if found else found


def test_a_deposit_that_one_alone_shows_is_not_believed(harness: LocalHarness) -> None:
    fronts = [Front(harness.local), Front(harness.local)]
    fronts[0].spoil("/payments", records(more))
    chain = harness.chain_through(*fronts)
    reader = Reader(chain, HOT_WALLET)
    reader.read()
    before = reader.cursor
    harness.fund(HOT_WALLET, "USDC", 5)
    with pytest.raises(ChainUnavailable, match="do not agree"):
        reader.read()
    assert reader.cursor == before
    said = {state.name: state.problems["disagrees"] for state in chain.providers.states()}
    assert f"Payments of {HOT_WALLET} from ledger" in said["horizon-1"]
    assert "it reports nothing; horizon-2 reports 5 units of USDC:" in said["horizon-1"]  # its envelope says 5
    assert "it reports 5 units of USDC:" in said["horizon-2"]
    third = Reader(harness.chain_through(*fronts, Front(harness.local)), HOT_WALLET)
    third.cursor = before
    assert [each.amount for each in third.read().transfers] == [5]


HOSTILE: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "records twice": lambda found: [*found, *found],
    "records backwards": lambda found: found[::-1],
    "the same page for ever": lambda found: (found * 100)[:200],
    "no place": lambda found: [{**each, "paging_token": None} for each in found],
    "no page": lambda found: [[]],  # type: ignore[list-item]
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_page_that_no_horizon_sends_is_no_answer(harness: LocalHarness, kind: str) -> None:
    front = Front(harness.local)
    chain = harness.chain_through(front)
    reader = Reader(chain, HOT_WALLET)
    reader.read()
    for _ in range(2):
        harness.fund(HOT_WALLET, "USDC", 5)
    front.spoil("/payments", records(HOSTILE[kind]))
    with pytest.raises(ChainUnavailable):
        reader.read()
    assert "horizon-1" in next(iter(chain.providers.states())).problems["failing"]
    front.heal()
    assert len(reader.read().transfers) == 2


def test_pages_of_one_ledger_that_do_not_end_are_given_up(harness: LocalHarness) -> None:
    front = Front(harness.local)
    reader = Reader(harness.chain_through(front, records_per_scan=1), HOT_WALLET)
    reader.read()
    harness.fund(HOT_WALLET, "USDC", 5)
    served = [0]

    def endless(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        served[0] += 200
        first = (reader.chain.reading.head().height << 32) + served[0]
        return [{"paging_token": str(first + number), "type": "teleport"} for number in range(200)]

    front.spoil("/payments", records(endless))
    with pytest.raises(ChainUnavailable):
        reader.read()
    assert front.asked[f"/accounts/{HOT_WALLET}/payments"] < 100


def test_a_gap_in_the_history_of_all_stops_the_reading_and_is_told(harness: LocalHarness, reader: Reader) -> None:
    reader.read()
    before = reader.cursor
    harness.fund(HOT_WALLET, "USDC", 5)
    harness.mine(20)
    for each in harness.servers:
        each.reap_history(reader.chain.reading.head().height - 2)
    for _ in range(2):
        with pytest.raises(HistoryMissing, match=r"Add a Horizon .* STELLAR_HORIZON_URLS") as stopped:
            reader.read()
    assert "127.0.0.1" in str(stopped.value)
    assert (reader.cursor, reader.known) == (before, {})
    harness.servers[0].reap_history(1)
    with pytest.raises(HistoryMissing):  # one alone is not believed
        reader.read()
    harness.servers[1].reap_history(1)
    assert [each.amount for each in reader.read().transfers] == [5]


def test_the_history_that_one_has_thrown_away_is_read_from_others(harness: LocalHarness) -> None:
    servers = [harness.local, harness.local.another(), harness.local.another()]
    for each in servers[1:]:
        each.start()
    try:
        reader = Reader(harness.chain_through(*map(Front, servers)), HOT_WALLET)
        reader.read()
        harness.fund(HOT_WALLET, "USDC", 5)
        harness.mine(20)
        servers[0].reap_history(reader.chain.reading.head().height)
        assert [(each.amount, each.said_by) for each in reader.read().transfers] == [(5, ("horizon-2", "horizon-3"))]
    finally:
        for each in servers[1:]:
            each.stop()


def test_a_transaction_that_one_has_forgotten_is_not_denied_by_it(harness: LocalHarness, reader: Reader) -> None:
    digest = harness.local.mint("USDC", HOT_WALLET, 5)
    harness.mine(3)
    harness.servers[0].reap_history(reader.chain.reading.head().height)
    with pytest.raises(ChainUnavailable, match="have less"):
        reader.chain.reading.find_transaction(digest)
    # A refund must not wait for ever for a history that is gone: the payer is asked.
    assert reader.chain.hot_wallet.pay_back_address((digest, 0), SOMEBODY.public_key) is None
    harness.servers[0].reap_history(1)
    assert len(reader.chain.reading.find_transfers(digest)) == 1


def test_balances_of_the_past_are_exact_to_the_stroop(harness: LocalHarness) -> None:
    """After every ledger of a life that had everything in it, failures and fees of others as well."""
    local, chain = harness.local, harness.chain_through()
    dai, issuer = local.asset("DAI"), local.issuer("USDC")
    local.act(local.issuer("DAI"), ChangeTrust(usdc(harness)))
    local.act(issuer, ChangeTrust(dai), ManageSellOffer(usdc(harness), dai, "100", "2"))
    held: dict[int, tuple[int, int, int]] = {}

    def note(*_: object) -> None:
        held[local.network.state.ledger] = (
            local.balance(HOT_WALLET, "USDC"),
            local.balance(HOT_WALLET, "DAI"),
            local.balance(HOT_WALLET, "XLM"),
        )

    note(local.mint("USDC", HOT_WALLET, 10**9))
    note(local.mint("DAI", HOT_WALLET, 10**9))
    note(local.pay(WALLET, SOMEBODY.public_key, "USDC", 12_345_678, memo=3))
    note(local.act(WALLET, PathPaymentStrictSend(SOMEBODY.public_key, dai, "3", usdc(harness), "1", [])))
    note(local.act(WALLET, PathPaymentStrictSend(HOT_WALLET, dai, "3", usdc(harness), "1", [])))
    note(local.clawback(HOT_WALLET, "USDC", 4_321))
    note(local.fund_native(HOT_WALLET, 77))
    ending = key_of("ending")
    local.fund_native(ending.public_key, 50_000_000)
    note(local.act(ending, AccountMerge(HOT_WALLET)))
    for_us = CreateClaimableBalance(usdc(harness), "2", [Claimant(HOT_WALLET)])
    envelope = local.envelope(issuer, for_us)
    note(local.network.close_with(envelope))
    claim = ClaimClaimableBalance(envelope.transaction.get_claimable_balance_id(0))
    note(local.act(WALLET, claim))
    note(local.act(WALLET, CreateClaimableBalance(dai, "1", [Claimant(SOMEBODY.public_key)])))
    failing = local.envelope(WALLET, Payment(key_of("nobody").public_key, Asset.native(), "1"))
    local.network.submit(failing.to_xdr())
    note(local.close_ledger())
    bumped = local.envelope(SOMEBODY, Payment(OTHER.public_key, Asset.native(), "1"))
    bump = TransactionBuilder.build_fee_bump_transaction(WALLET, 1_000, bumped, local.network.passphrase)
    bump.sign(WALLET)
    local.network.submit(bump.to_xdr())
    note(local.close_ledger())
    note(local.act(WALLET, ManageSellOffer(dai, usdc(harness), "2", "0.4")))
    taken = PathPaymentStrictReceive(OTHER.public_key, usdc(harness), "1", dai, "1", [])
    note(local.act(issuer, taken))

    coins = (harness.profile.assets["USDC"], harness.profile.assets["DAI"], harness.profile.native)
    read = {
        height: tuple(chain.reading.balance(HOT_WALLET, coin, at_height=height) for coin in coins) for height in held
    }
    assert read == held
    assert len({*held.values()}) >= 14
    now = list(held.values())[-1]
    assert tuple(chain.reading.balance(HOT_WALLET, coin) for coin in coins) == now


def test_what_the_wallet_set_aside_for_somebody_has_left_it(harness: LocalHarness, reader: Reader) -> None:
    harness.fund(HOT_WALLET, "USDC", 10**8)
    channel = key_of("payer 0")
    aside = CreateClaimableBalance(usdc(harness), "1", [Claimant(HOT_WALLET), Claimant(OTHER.public_key)])
    own = harness.local.act(WALLET, aside, memo="x")
    through = harness._submit(Payment(OTHER.public_key, usdc(harness), "2", source=HOT_WALLET), signers=[WALLET])
    harness.mine()
    harness.local.clawback(HOT_WALLET, "USDC", 5)
    height = reader.chain.reading.head().height
    horizons = harness.chain_through().horizons
    reading = Reading(harness.profile, horizons, wallet=HOT_WALLET, channels=lambda: [channel.public_key])
    left = reading.outgoing(HOT_WALLET, first_height=1, last_height=height)
    sequences = {each: harness.local.network.state.accounts[each].sequence for each in (HOT_WALLET, channel.public_key)}
    assert [(each.transaction_hash, each.amount, each.recipient, each.sequence, each.channel) for each in left] == [
        (own, 10_000_000, OTHER.public_key, sequences[HOT_WALLET], ""),
        (through, 20_000_000, OTHER.public_key, sequences[channel.public_key], channel.public_key),
    ]
    stranger = reader.chain.reading.outgoing(HOT_WALLET, first_height=1, last_height=height)[1]
    assert (stranger.sequence, stranger.channel) == (None, "")


def test_payments_to_no_watched_account_are_left_aside(harness: LocalHarness, chain: StellarChain) -> None:
    cursor = chain.reading.cursor_at(chain.reading.head().height)
    harness.fund(HOT_WALLET, "USDC", 5)
    assert chain.reading.scan(cursor, Watched(OTHER.public_key)).transfers == ()
