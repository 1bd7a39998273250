"""What providers say alike of a transaction, and nobody can read, is set aside; everything beside it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from merchants.ledger.checking import Scope
from payments.chains import registry
from payments.chains.errors import ChainUnavailable
from payments.chains.evm import abi
from payments.chains.evm.nodes.questions import TRANSFER
from payments.deposits import watching
from payments.deposits.invariants import records_set_aside
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.models import Deposit
from payments.monitoring.alarm_rules import of_rows
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from tests.chains.harness import Watched
from tests.evm.fakes import block_hash
from tests.evm.hostile import PAID_IN, SENT, WALLET, World, scalars
from tests.evm.network import devnet
from tests.long_form import examples
from tests.networks import POLYGON
from tests.payments.scenes import make_payment
from tests.transfers.scenes import SANDBOX

POISON, POISONED_IN, POISON_AMOUNT = "0x" + "66" * 32, 96, 7

Change = Callable[[dict[str, Any]], dict[str, Any]]


class TwoTransactions(World):
    """Three providers, a deposit in block 95, and another transaction in block 96 of which a test chooses the form."""

    def __init__(self) -> None:
        super().__init__("one.example", "two.example", "three.example")
        self.log_change: Change = lambda log: log
        self.receipt_change: Change = lambda receipt: receipt
        self.liars = 3
        for place, fake in enumerate(self.fakes):
            logs, receipt = (
                (lambda wanted, place=place: self.logs(place, wanted)),
                (lambda named, place=place: self.receipt(place, named)),
            )
            fake.answers |= {"eth_getLogs": logs, "eth_getTransactionReceipt": receipt}

    def logs(self, place: int, wanted: dict[str, Any]) -> list[Any]:
        is_inside = int(wanted["fromBlock"], 16) <= POISONED_IN <= int(wanted["toBlock"], 16)
        return [*self._logs(wanted), *([self._poison(place)] if is_inside else [])]

    def receipt(self, place: int, named: str) -> Any:
        if named != POISON:
            return self._receipt(named)
        of_it = {"transactionHash": POISON, "blockNumber": hex(POISONED_IN), "blockHash": block_hash(POISONED_IN)}
        receipt = self._receipt(SENT) | of_it | {"logs": [self._poison(place)]}
        return self.receipt_change(receipt) if place < self.liars else receipt

    def _poison(self, place: int) -> dict[str, Any]:
        log = self._log() | {
            "blockNumber": hex(POISONED_IN),
            "blockHash": block_hash(POISONED_IN),
            "transactionHash": POISON,
            "data": "0x" + abi.encode(POISON_AMOUNT).hex(),
        }
        return self.log_change(log) if place < self.liars else log


def without(*names: str) -> Change:
    return lambda record: {name: value for name, value in record.items() if name not in names}


def odd(**fields: Any) -> Change:
    return lambda record: record | fields


UNREADABLE_LOGS = {
    "no contract": without("address"),
    "half a byte of data": odd(data="0x123"),
    "a short topic": odd(topics=[TRANSFER, "0x12", "0x34"]),
    "a long topic": odd(topics=[TRANSFER, abi.address_topic(WALLET), "0x" + "00" * 40]),
    "topics of another kind": odd(topics=[TRANSFER, None, 7]),
    "no place among events": without("logIndex"),
}
UNREADABLE_RECEIPTS = {
    "no status": without("status"),
    "no price": without("effectiveGasPrice"),
    "no events": without("logs"),
    "events of another kind": odd(logs={"0": 1}),
    "a status of another kind": odd(status="0x2"),
}


UNREADABLE_BLOCKS = {
    "no time": without("timestamp"),
    "a time of no calendar": odd(timestamp=hex(2**56)),
    "a base fee of another kind": odd(baseFeePerGas="seven"),
    "no parent": without("parentHash"),
}


@pytest.fixture
def world(settings: Any, monkeypatch: pytest.MonkeyPatch, db: None) -> TwoTransactions:
    found = TwoTransactions()
    chain = found.chain()
    settings.SANDBOX_CHAIN = "devnet"
    for module in (registry, watching):
        monkeypatch.setattr(module, "chain", lambda environment, network: chain)
    found.deposit = devnet.PAYER  # nothing is there for us before a network that has been read can be paid on
    watching.watch_network(SANDBOX, POLYGON)
    payment = make_payment(POLYGON, merchant_wallet=devnet.OWNER)
    found.deposit = payment.deposit_address
    ScanCursor.objects.update_or_create(
        environment=SANDBOX, network=POLYGON, defaults={"cursor": chain.reading.cursor_at(PAID_IN - 1)}
    )
    return found


def read() -> list[int]:
    for _ in range(5):
        watching.watch_network(SANDBOX, POLYGON)
    return sorted(int(each) for each in Deposit.objects.values_list("amount", flat=True))


def alarms() -> list[str]:
    return [each.message for each in of_rows(SANDBOX, POLYGON) if each.kind == AlarmKind.RECORD_SET_ASIDE]


@pytest.mark.parametrize("kind", [*UNREADABLE_LOGS, *UNREADABLE_RECEIPTS])
def test_what_all_send_alike_and_nobody_can_read_is_set_aside_and_reading_goes_on(
    world: TwoTransactions, kind: str
) -> None:
    world.log_change = UNREADABLE_LOGS.get(kind, world.log_change)
    world.receipt_change = UNREADABLE_RECEIPTS.get(kind, world.receipt_change)
    assert read() == [40_000_000]
    aside = ReadingRequest.objects.get()
    assert aside.transaction_hash == POISON
    assert aside.problem
    assert POISON in aside.content
    raise_alarms()
    [alarm] = alarms()
    assert POISON in alarm
    [finding] = records_set_aside(Scope())
    assert (finding.severity, finding.network) == ("warning", POLYGON)
    assert not ScanCursor.objects.exclude(failing_since=None).exists()

    for fake in world.fakes:
        fake.height += 40  # nothing reads these blocks again by itself
    assert read() == [40_000_000]
    world.log_change = world.receipt_change = lambda record: record
    ReadingRequest.objects.update(due_at=timezone.now())  # as an operator asks for it
    assert read() == [POISON_AMOUNT, 40_000_000]
    assert not ReadingRequest.objects.exists()
    assert alarms() == []


def change_block(world: TwoTransactions, change: Change, height: int, providers: int) -> None:
    world.spoil(
        "eth_getBlockByNumber",
        lambda block: change(block) if block and block["number"] == hex(height) else block,
        providers=providers,
    )


@pytest.mark.parametrize("kind", UNREADABLE_BLOCKS)
def test_what_is_in_a_block_that_nobody_can_read_is_set_aside_and_reading_goes_on(
    world: TwoTransactions, kind: str
) -> None:
    change_block(world, UNREADABLE_BLOCKS[kind], POISONED_IN, 3)
    is_read = kind == "no parent"  # which nobody asks
    assert read() == ([POISON_AMOUNT] if is_read else []) + [40_000_000]
    assert not ScanCursor.objects.exclude(failing_since=None).exists()
    assert [each.transaction_hash for each in ReadingRequest.objects.all()] == ([] if is_read else [POISON])
    assert len(alarms()) == (not is_read)


@pytest.mark.parametrize("kind", UNREADABLE_BLOCKS)
def test_a_block_that_one_of_three_sends_otherwise_is_read_by_the_others(world: TwoTransactions, kind: str) -> None:
    change_block(world, UNREADABLE_BLOCKS[kind], POISONED_IN, 1)
    assert read() == [POISON_AMOUNT, 40_000_000]
    assert not ReadingRequest.objects.exists()


def test_a_block_that_nobody_can_read_ends_no_reading_where_a_scan_ends(world: TwoTransactions) -> None:
    chain = world.chain()
    chain.reading._blocks_per_scan = 5
    change_block(world, UNREADABLE_BLOCKS["no time"], PAID_IN + 4, 3)
    scan = chain.reading.scan(chain.reading.cursor_at(PAID_IN - 1), Watched(world.deposit))
    assert scan.last_height == PAID_IN + 3
    scan = chain.reading.scan(scan.cursor, Watched(world.deposit))
    assert scan.last_height == scan.head.height


@pytest.mark.parametrize("kind", [*UNREADABLE_LOGS, *UNREADABLE_RECEIPTS])
def test_what_one_of_three_sends_alone_is_that_providers_failure(world: TwoTransactions, kind: str) -> None:
    world.log_change = UNREADABLE_LOGS.get(kind, world.log_change)
    world.receipt_change = UNREADABLE_RECEIPTS.get(kind, world.receipt_change)
    world.liars = 1
    assert read() == [POISON_AMOUNT, 40_000_000]
    assert not ReadingRequest.objects.exists()
    assert not ScanCursor.objects.exclude(failing_since=None).exists()


def test_a_deposit_stays_when_its_receipt_cannot_be_read_any_more(world: TwoTransactions) -> None:
    assert read() == [POISON_AMOUNT, 40_000_000]
    world.receipt_change = without("status")
    assert read() == [POISON_AMOUNT, 40_000_000]
    assert {each.status for each in Deposit.objects.all()} <= {"seen", "credited"}


def test_the_largest_amounts_of_a_coin_are_recorded_to_the_unit(world: TwoTransactions) -> None:
    world.log_change = odd(data="0x" + "ff" * 32)
    assert read() == [40_000_000, 2**256 - 1]


_words = st.binary(max_size=33).map(lambda raw: "0x" + raw.hex())
_odd = st.one_of(scalars, _words, st.lists(st.one_of(scalars, _words, st.just(TRANSFER)), max_size=5))
_log_changes = st.dictionaries(st.sampled_from(["address", "topics", "data", "logIndex"]), _odd, max_size=3)
_receipt_changes = st.dictionaries(
    st.sampled_from(["status", "gasUsed", "effectiveGasPrice", "contractAddress", "l1Fee", "logs", "type"]),
    _odd,
    max_size=3,
)


@pytest.mark.long
@settings(max_examples=examples(300), deadline=None)
@given(log=_log_changes, receipt=_receipt_changes, left_out=st.sets(st.sampled_from(["address", "topics", "logs"])))
def test_no_form_of_a_log_or_receipt_that_all_send_alike_stops_what_is_beside_it(
    log: dict[str, Any], receipt: dict[str, Any], left_out: set[str]
) -> None:
    world = TwoTransactions()
    world.log_change = lambda each: without(*left_out)(each | log)
    world.receipt_change = lambda each: without(*left_out)(each | receipt)
    chain = world.chain()
    scan = chain.reading.scan(chain.reading.cursor_at(PAID_IN - 1), Watched(world.deposit))
    assert scan.last_height == scan.head.height
    assert (SENT, 0) in {each.identity for each in scan.transfers}
    assert {each.transaction_hash for each in scan.unread} <= {POISON}


def test_a_stranger_s_kind_of_transaction_hides_nobody_who_used_a_sequence() -> None:
    world = World()
    status = world.operations()["status of one that was replaced"]
    world.spoil(
        "eth_getBlockByNumber",
        lambda block: (
            block | {"transactions": [{"type": "0x7f", "hash": "0x1"}, None, *block["transactions"]]}
            if "transactions" in block
            else block
        ),
        providers=2,
    )
    assert status(world.chain()).state == "replaced"  # type: ignore[attr-defined]


def test_a_receipt_of_no_place_is_no_receipt() -> None:
    world = TwoTransactions()
    world.receipt_change = without("blockHash", "status")
    chain = world.chain()
    with pytest.raises(ChainUnavailable):
        chain.reading.scan(chain.reading.cursor_at(PAID_IN - 1), Watched(world.deposit))
