"""Records that anybody can make on a real network, and pages as long as a real Horizon sends: deposits go on."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from stellar_sdk import (
    Account,
    Asset,
    HashMemo,
    IdMemo,
    Keypair,
    Memo,
    Network,
    NoneMemo,
    StrKey,
    TextMemo,
    TransactionBuilder,
)
from stellar_sdk.operation import Payment

from merchants.ledger.checking import Scope
from payments.chains import registry
from payments.chains.stellar import addresses
from payments.chains.stellar.horizon import envelope_check, operations
from payments.chains.stellar.horizon.pages import concerns
from payments.deposits import watching
from payments.deposits.invariants import records_set_aside
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.models import Deposit
from payments.models import Payment as PaymentRow
from payments.monitoring.alarm_rules import of_rows
from payments.monitoring.states import AlarmKind
from tests.long_form import examples
from tests.networks import STELLAR
from tests.payments.scenes import make_payment
from tests.stellar.front import records
from tests.stellar.network import records as stand_in
from tests.stellar.place import USDC, WALLET, XLM, Place, key_of
from tests.stellar.recordings import payment_of
from tests.transfers.scenes import SANDBOX

HOT = WALLET.public_key
CONTRACT = StrKey.encode_contract(b"\x01" * 32)
ISSUER = Asset("JUNK", StrKey.encode_ed25519_public_key(b"\x00" * 32))
I128 = 2**127 - 1
SECONDS = 30
"""A poisoned record, or pages of 25 MiB, may hold deposits up for so long at most."""

LONG_PAGE_BYTES = 25 * 2**20


@pytest.fixture
def place(settings: Any, monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[Place]:
    found = Place()
    found.chain.reading._poll_seconds = 0
    settings.SANDBOX_CHAIN = "devnet"
    for module in (registry, watching):
        monkeypatch.setattr(module, "chain", lambda environment, network: found.chain)
    read()
    make_payment(STELLAR, merchant_wallet=found.recipient().public_key)  # a network is read for its payments
    yield found
    found.stop()


def read() -> list[int]:
    """Until the network is read to its end; the amounts of all deposits."""
    while watching.watch_network(SANDBOX, STELLAR):
        pass
    return sorted(int(each) for each in Deposit.objects.values_list("amount", flat=True))


def amount_of(units: int) -> str:
    sign = "-" if units < 0 else ""
    return f"{sign}{abs(units) // XLM}.{abs(units) % XLM:07d}"


def leg(asset: Asset, units: int, sender: str, recipient: str, kind: str = "transfer") -> dict[str, Any]:
    named = {"asset_type": asset.type, "asset_code": asset.code, "asset_issuer": asset.issuer}
    if asset.is_native():
        named = {"asset_type": "native"}
    parties = {"from": sender, "to": recipient}
    return named | {name: each for name, each in parties.items() if each} | {"type": kind, "amount": amount_of(units)}


def poisoned(*legs: dict[str, Any]) -> Any:
    """Makes the newest record one of a contract with these movements."""

    def change(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for each in found:
            if each.get("amount") == "0.0000666":
                each |= {"type": "invoke_host_function", "asset_balance_changes": list(legs)}
        return found

    return records(change)


def test_what_a_contract_moves_between_others_stops_no_deposit(place: Place) -> None:
    legs = [leg(ISSUER, 2**100, "", CONTRACT, "mint"), leg(Asset.native(), 1, CONTRACT, HOT)]
    for front in place.fronts:
        front.spoil("/(payments|operations)", poisoned(*legs))
    place.local.mint("USDC", HOT, 666)
    place.local.mint("USDC", HOT, 25)
    started = time.monotonic()
    assert read() == [25]
    assert time.monotonic() - started < SECONDS
    assert not ReadingRequest.objects.exists()
    height = place.chain.reading.head().height
    assert place.chain.reading.outgoing(HOT, first_height=1, last_height=height) == ()


def test_a_record_that_cannot_be_read_is_set_aside_and_read_when_asked(place: Place) -> None:
    for front in place.fronts:
        front.spoil("/(payments|operations)", poisoned({**leg(ISSUER, 1, "", HOT, "mint"), "amount": "a new form"}))
    hidden = place.local.mint("USDC", HOT, 666)
    place.local.mint("USDC", HOT, 25)
    started = time.monotonic()
    assert read() == [25]
    assert time.monotonic() - started < SECONDS
    aside = ReadingRequest.objects.get()
    assert (aside.transaction_hash, aside.problem) == (hidden, "ValueError: no amount")
    assert '"a new form"' in aside.content
    assert "result_meta_xdr" not in aside.content
    [alarm] = [each for each in of_rows(SANDBOX, STELLAR) if each.kind == AlarmKind.RECORD_SET_ASIDE]
    assert hidden in alarm.message
    [finding] = records_set_aside(Scope())
    assert (finding.severity, finding.network) == ("warning", STELLAR)
    assert not ScanCursor.objects.exclude(failing_since=None).exists()

    for _ in range(9):
        place.local.close_ledger()
    assert read() == [25]
    for front in place.fronts:
        front.heal()
    assert read() == [25]  # it rests for a day
    ReadingRequest.objects.update(due_at=timezone.now())  # as an operator asks for it
    place.local.close_ledger()
    assert read() == [25, 666]
    assert not ReadingRequest.objects.exists()
    assert not [each for each in of_rows(SANDBOX, STELLAR) if each.kind == AlarmKind.RECORD_SET_ASIDE]


def test_a_deposit_stays_when_its_record_cannot_be_read_any_more(place: Place) -> None:
    place.local.mint("USDC", HOT, 666)
    assert read() == [666]
    for front in place.fronts:
        front.spoil("/(payments|operations)", poisoned({**leg(ISSUER, 1, "", HOT, "mint"), "amount": "a new form"}))
    place.local.close_ledger()
    assert read() == [666]
    assert Deposit.objects.get().status == "seen"


def pay_in_batches(place: Place, count: int) -> None:
    issuer, asset = place.local.issuer("USDC"), place.local.asset("USDC")
    for _ in range(count):
        place.local.act(issuer, *[Payment(HOT, asset, "0.0000001")] * 100)


@pytest.mark.parametrize("page_bytes", [0, LONG_PAGE_BYTES])
def test_pages_longer_than_a_reply_may_be_are_read_with_each_transaction_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, page_bytes: int
) -> None:
    if page_bytes:
        monkeypatch.setattr(stand_in, "META_CHARACTERS", page_bytes // 200 // 100)
    pay_in_batches(place, 2)
    place.local.mint("USDC", HOT, 25)
    started = time.monotonic()
    assert read() == [1] * 200 + [25]
    assert time.monotonic() - started < SECONDS
    assert {state.name: state.problems for state in place.chain.providers.states()} == {
        "horizon-0": {},
        "horizon-1": {},
    }


def test_transactions_too_long_for_one_reply_are_read_in_shorter_ones(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stand_in, "META_CHARACTERS", 9 * 2**20 // 100)
    for each in place.horizons._providers:
        each.server.joins = False
    pay_in_batches(place, 2)
    assert read() == [1] * 200
    assert {state.name: state.problems for state in place.chain.providers.states()} == {
        "horizon-0": {},
        "horizon-1": {},
    }


def test_a_transaction_of_many_payments_is_sent_once_and_any_other_with_its_payment(place: Place) -> None:
    pay_in_batches(place, 2)
    assert read() == [1] * 200  # the first time nobody knows
    sizes = list[int]()
    for _ in range(2):
        place.local.close_ledger()
        for front in place.fronts:
            front.asked.clear()
            front.received = 0
        assert read() == [1] * 200
        sizes += [front.received for front in place.fronts]
        assert {front.asked[f"/accounts/{HOT}/transactions"] for front in place.fronts} == {1}
    print("bytes of a scan with 200 payments in two transactions", sizes)  # noqa: T201 - the figure
    assert max(sizes) < 2**20
    for _ in range(10):
        place.local.close_ledger()
    place.local.mint("USDC", HOT, 25)
    read()
    place.local.close_ledger()
    read()  # the two are left behind now
    for front in place.fronts:
        front.asked.clear()
    place.local.mint("USDC", HOT, 26)
    assert read()[-2:] == [25, 26]
    assert {front.asked[f"/accounts/{HOT}/transactions"] for front in place.fronts} == {0}


def test_horizons_that_are_asked_in_either_way_say_the_same(place: Place) -> None:
    """Also of a record that cannot be read, and of a transaction that is not listed for the account."""
    for front in place.fronts:
        front.spoil("/payments", poisoned({**leg(ISSUER, 1, "", HOT, "mint"), "amount": "a new form"}))
    place.fronts[0].spoil("/accounts/.*/transactions", records(lambda found: found[:1]))
    place.horizons._providers[0].server.joins = False
    place.local.mint("USDC", HOT, 25)
    place.local.mint("USDC", HOT, 666)
    place.local.mint("USDC", HOT, 26)
    assert read() == [25, 26]
    assert "envelope_xdr" in ReadingRequest.objects.get().content
    assert not ScanCursor.objects.exclude(failing_since=None).exists()
    assert sum(front.asked[f"/accounts/{HOT}/transactions"] for front in place.fronts) == 1


accounts = st.binary(min_size=32, max_size=32).map(StrKey.encode_ed25519_public_key)
contracts = st.binary(min_size=32, max_size=32).map(StrKey.encode_contract)
parties = st.one_of(st.just(HOT), accounts, contracts)
codes = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=12)
assets = st.one_of(
    st.just(Asset.native()),
    st.just(Asset(USDC.code, USDC.contract.partition(":")[2])),
    st.builds(Asset, codes, accounts),
)


OTHER = StrKey.encode_ed25519_public_key(b"\x07" * 32)
LIES: dict[str, dict[str, Any]] = {
    "amount": {"amount": "26.0000000"},
    "recipient's id": {"to_muxed_id": "17", "to_muxed": addresses.mux(HOT, 17)},
    "asset": {"asset_code": "USDT"},
    "issuer": {"asset_issuer": OTHER},
    "memo": {"transaction": {"memo": "18"}},
    "envelope": {"transaction": {"envelope_xdr": "AAAA"}},
    "envelope of another": {"transaction": {"hash": "ab" * 32}, "transaction_hash": "ab" * 32},
}


@pytest.mark.parametrize("is_joined", [True, False])
@pytest.mark.parametrize("kind", LIES)
def test_two_that_lie_alike_are_not_believed_against_the_envelope(place: Place, kind: str, is_joined: bool) -> None:
    about_it = LIES[kind].get("transaction", {})

    def lie(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for each in found:
            joined = {"transaction": {**each["transaction"], **about_it}} if "transaction" in each else {}
            each |= {**LIES[kind], **joined}
        return found

    for front in place.fronts:
        front.spoil("/payments", records(lie))
        front.spoil("/transactions$", records(lambda found: [{**each, **about_it} for each in found]))
    for each in place.horizons._providers:
        each.server.joins = is_joined
    digest = place.local.pay(place.local.issuer("USDC"), HOT, "USDC", 25 * XLM, memo=17)
    assert read() == []
    aside = ReadingRequest.objects.get()
    assert aside.transaction_hash in (digest, "ab" * 32)
    assert aside.problem.startswith(("Contradiction: ", "Error: "))
    for front in place.fronts:
        front.heal()
    place.local.close_ledger()
    assert read() == [25 * XLM]


SIGNED = Keypair.from_raw_ed25519_seed(b"\x01" * 32)


@pytest.mark.long
@settings(max_examples=examples(100), deadline=None)
@given(
    memo=st.one_of(
        st.just(NoneMemo()),
        st.integers(0, 2**64 - 1).map(IdMemo),
        st.binary(max_size=28).map(TextMemo),
        st.binary(min_size=32, max_size=32).map(HashMemo),
    ),
    paid=st.lists(st.tuples(st.integers(0, 2**64 - 1), assets, st.integers(1, 2**63 - 1)), min_size=1, max_size=4),
    signers=st.integers(0, 3),
    is_bumped=st.booleans(),
    is_ruled=st.booleans(),
)
def test_an_envelope_is_read_as_the_library_builds_it(
    memo: Memo, paid: list[tuple[int, Asset, int]], signers: int, is_bumped: bool, is_ruled: bool
) -> None:
    builder = TransactionBuilder(Account(SIGNED.public_key, 7), "a network", 100).add_memo(memo)
    for number, asset, units in paid:
        builder.append_manage_data_op("note", b"abc").append_change_trust_op(Asset("X", OTHER))
        builder.append_payment_op(addresses.mux(HOT, number), asset, amount_of(units), source=OTHER)
        builder.append_path_payment_strict_send_op(HOT, asset, "1", asset, amount_of(units), [Asset("YY", OTHER)])
    builder.add_time_bounds(0, 99)
    if is_ruled:
        builder.set_ledger_bounds(1, 2).set_min_sequence_number(3).set_min_sequence_age(4)
    envelope: Any = builder.build()
    for number in range(signers):
        envelope.sign(key_of(number))
    if is_bumped:
        envelope = TransactionBuilder.build_fee_bump_transaction(SIGNED, 200, envelope, "a network")
        envelope.sign(SIGNED)
    network_id = Network("a network").network_id()
    found = envelope_check.signed(envelope.to_xdr(), envelope.hash_hex(), network_id)
    spelled = ["native" if asset.is_native() else f"{asset.code}:{asset.issuer}" for _, asset, _ in paid]
    assert found.read == 4 * len(paid)
    assert [(each.muxed_id, each.asset, each.amount, each.is_least) for each in found.payments.values()] == [
        entry
        for (number, _, units), name in zip(paid, spelled, strict=True)
        for entry in ((str(number), name, units, False), (None, name, units, True))
    ]
    with pytest.raises(envelope_check.Contradiction, match="hash"):
        envelope_check.signed(envelope.to_xdr(), envelope.hash_hex(), b"\x00" * 32)


def test_a_payment_of_before_the_key_keeps_its_memo(place: Place) -> None:
    before = PaymentRow.objects.get()
    place.chain._memo_key = bytes(range(32))
    after = make_payment(STELLAR, merchant_wallet=place.recipient().public_key)
    assert after.memo == str(addresses.memo_of(after.sequence, bytes(range(32))))
    assert before.memo == str(addresses.memo_of(before.sequence))
    for number, payment in enumerate((before, after), 1):
        place.local.pay(place.local.issuer("USDC"), HOT, "USDC", number, memo=int(payment.memo))
    assert read() == [1, 2]
    assert dict(Deposit.objects.values_list("amount", "payment_id")) == {1: before.pk, 2: after.pk}


# Whole records, as XDR and Horizon's schema let them be

held = st.integers(0, 2**63 - 1)


@st.composite
def legs(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["transfer", "mint", "burn", "clawback"]))
    sender = draw(parties) if kind != "mint" else ""
    recipient = draw(parties) if kind in ("transfer", "mint") else ""
    asset = draw(assets.filter(lambda each: kind != "mint" or not each.is_native()))
    is_held = HOT in (sender, recipient)  # what an account has is a number of 64 bits, what contracts move of 128
    found = leg(asset, draw(held if is_held else st.integers(-I128, I128)), sender, recipient, kind)
    if recipient == HOT and draw(st.booleans()):
        found["destination_muxed_id"] = str(draw(st.integers(0, 2**64 - 1)))
    return found


def in_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


MEMOS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({"memo_type": "none"}),
    st.integers(0, 2**64 - 1).map(lambda number: {"memo_type": "id", "memo": str(number)}),
    st.binary(max_size=28).map(
        lambda raw: {
            "memo_type": "text",
            "memo": raw.decode(errors="replace"),
            "memo_bytes": in_base64(raw),
        }
    ),
    st.tuples(st.sampled_from(["hash", "return"]), st.binary(min_size=32, max_size=32)).map(
        lambda each: {"memo_type": each[0], "memo": in_base64(each[1])}
    ),
)


@pytest.mark.long
@settings(max_examples=examples(200), deadline=None)
@given(moved=st.lists(legs(), max_size=6), memo=MEMOS)
def test_whatever_a_contract_can_move_is_read_for_us_exactly(moved: list[dict[str, Any]], memo: dict[str, Any]) -> None:
    changed = {f"transaction__{name}": value for name, value in memo.items()}
    record = payment_of("payment", type="invoke_host_function", asset_balance_changes=moved, **changed)
    found = operations.neighbours(HOT)(record)
    assert found.unread is None
    ours = [
        each for each in moved if each["type"] in ("transfer", "mint") and HOT in (each.get("from"), each.get("to"))
    ]
    assert [amount_of(each.amount or 0) for each in found.payments] == [each["amount"] for each in ours]
    assert all(concerns(each, HOT) for each in found.payments)
