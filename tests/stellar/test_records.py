"""What a Horizon replies is read as a real one spells it, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from payments.chains.stellar.horizon import operations, records
from payments.chains.stellar.horizon.records import Memo
from tests.evm.hostile import changes as any_changes
from tests.stellar.recordings import payment_of, recorded

RECEIVER = "GC3BVCFKYBG7HV6QK4VLK7ZADGS6XYFTHKX3KHC4K34LTHDVSYTSBHA4"
ALICE = "GDTSP55YNH3ZFEZYILLDC25KQOHTQLJRZSKN72OEFGQQI6GXLK5KHC2F"
ALICE_9 = "MDTSP55YNH3ZFEZYILLDC25KQOHTQLJRZSKN72OEFGQQI6GXLK5KGAAAAAAAAAAABFLA2"
ISSUER = "GAFHHVLGLQY3SFT7PH6SXB5KDJT2GELZB3D6OGOZF6TSVKGTB42PAP2K"


def payments() -> list[operations.Payment]:
    page = records.page(operations.operation)(recorded("payments"))
    return [payment for each in page for payment in each.payments]


def test_everything_that_moved_money_is_read_and_what_failed_moved_nothing() -> None:
    usdc, eurc = f"USDC:{ISSUER}", f"EURC:{ISSUER}"
    assert [(each.kind, each.asset, each.amount, each.spent_asset, each.spent) for each in payments()] == [
        ("create_account", "native", 500_000_000, "native", 500_000_000),
        ("path_payment", usdc, 100_000_000, eurc, 90_000_000),
        ("path_payment", usdc, 100_000_000, eurc, 90_000_000),
        ("path_payment", usdc, 100_000_000, eurc, 90_000_000),
        ("payment", usdc, 10_000_000, usdc, 10_000_000),
        ("account_merge", "native", None, "native", None),
        *[("payment", usdc, 5_000_000, usdc, 5_000_000)] * 3,
        ("payment", usdc, 7_000_000, usdc, 7_000_000),
        ("payment", usdc, 9_000_000, usdc, 9_000_000),
    ]
    assert {each.recipient for each in payments()} == {RECEIVER}


def test_a_muxed_sender_and_a_muxed_recipient_are_told() -> None:
    assert [each.muxed_id for each in payments()[1:5]] == [None, None, "5", None]
    assert [each.sender for each in payments()[3:6]] == [ALICE, ALICE_9, payments()[5].sender]


def test_a_bumped_payment_has_the_outer_hash_and_the_memo_of_the_inner_transaction() -> None:
    bumped = payments()[-1]
    outer = records.transaction(recorded("fee_bump"))
    assert (bumped.transaction_hash, bumped.memo, bumped.source_account) == (outer.hash, Memo("text", "FB"), ALICE)
    assert outer == records.transaction(recorded("fee_bump_by_its_inner_hash"))
    assert outer.inner_hash not in (None, outer.hash)
    assert all(outer.goes_by(each) for each in (outer.hash, outer.inner_hash) if each)
    assert outer.fee_account != outer.source_account


def test_an_account_a_ledger_and_the_root_are_read() -> None:
    account = records.account(recorded("account"))
    [line] = account.trustlines.values()
    assert (account.sequence, account.native_balance, line.balance) == (73014444053, 999_988_000, 9_494_999_999)
    assert (line.limit, line.is_authorized, account.changed_at) == (2**63 - 1, True, 47)
    assert line.room == 2**63 - 1 - 9_494_999_999
    ledger, root = records.ledger(recorded("ledger")), records.root(recorded("root"))
    assert (ledger.sequence, ledger.base_fee, ledger.base_reserve) == (16, 100, 5_000_000)
    assert ledger.closed_at == root.latest_closed_at == datetime(2026, 11, 21, 4, 3, 27, tzinfo=UTC)
    assert (root.latest_ledger, root.elder_ledger, root.passphrase) == (16, 8, "Standalone Network ; February 2017")
    assert records.fee_stats(recorded("fee_stats")).max_fee["p99"] == 100


@pytest.mark.parametrize(
    ("name", "memo"),
    [
        ("binary_memo", Memo("text", "\ufffd\ufffd\ufffda")),
        ("hash_memo", Memo("hash", "01" * 32)),
    ],
)
def test_a_memo_of_text_is_its_bytes(name: str, memo: Memo) -> None:
    assert records.transaction(recorded(name)).memo == memo


CONTRACT = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75"


def by_contract(*moved: dict[str, Any]) -> dict[str, Any]:
    asset = {"asset_type": "credit_alphanum4", "asset_code": "USDC", "asset_issuer": ISSUER, "amount": "2.0000000"}
    return payment_of(
        "payment",
        type="invoke_host_function",
        asset_balance_changes=[{**asset, "to": RECEIVER, **each} for each in moved],
    )


def test_what_a_contract_moved_counts_each_with_an_ordinal_of_its_own() -> None:
    found = operations.operation(
        by_contract(
            {"type": "transfer", "from": CONTRACT, "destination_muxed_id": "77"},
            {"type": "burn", "from": CONTRACT},
            {"type": "mint"},
        )
    )
    assert [(each.ordinal, each.sender, each.muxed_id, each.amount) for each in found.payments] == [
        (0, CONTRACT, "77", 20_000_000),
        (2, ISSUER, None, 20_000_000),
    ]


def test_an_operation_of_a_kind_to_come_moves_nothing_that_is_known() -> None:
    assert operations.operation(payment_of("payment", type="teleport")).payments == ()


SPOILED: dict[str, dict[str, Any]] = {
    "a negative amount": {"amount": "-1.0000000"},
    "an amount as a number": {"amount": 1.0},
    "an exponent": {"amount": "1e3"},
    "too few digits": {"amount": "1.0"},
    "more than there can be": {"amount": "922337203685.4775808"},
    "true for a token": {"paging_token": True},
    "no transaction": {"transaction": None},
    "another transaction": {"transaction__hash": "ab" * 32},
    "a failed transaction": {"transaction__successful": False},
    "another ledger": {"transaction__ledger": 64},
    "another place": {"transaction__paging_token": str((63 << 32) + (2 << 12))},
    "more operations than there are": {"transaction__operation_count": 0},
    "no issuer": {"asset_issuer": None},
    "a mistyped issuer": {"asset_issuer": ISSUER[:-1] + "A"},
    "a muxed account of somebody else": {"from_muxed": recorded("payments")["_embedded"]["records"][3]["to_muxed"]},
    "an id of 65 bits": {"to_muxed_id": str(2**64)},
    "an id that is none": {"to_muxed_id": "５"},
    "a memo of another type": {"transaction__memo_type": "id", "transaction__memo": "x"},
    "a time of no calendar": {"transaction__created_at": "2026-13-40T00:00:00Z"},
}
ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@pytest.mark.parametrize("kind", SPOILED)
def test_a_record_that_says_something_odd_is_none(kind: str) -> None:
    found = payment_of("payment", **SPOILED[kind])
    with pytest.raises(ERRORS):
        operations.operation(found)


READERS: dict[str, Callable[[Any], object]] = {
    "payments": records.page(operations.operation),
    "account": records.account,
    "root": records.root,
    "ledger": records.ledger,
    "fee_stats": records.fee_stats,
    "fee_bump": records.transaction,
}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, deadline=None)
@given(change=any_changes(), times=st.integers(1, 2))
def test_no_record_ends_in_an_exception_that_nobody_expects(
    name: str, change: Callable[[Any], Any], times: int
) -> None:
    found = recorded(name)
    for _ in range(times):
        found = change(found)
    try:
        READERS[name](found)
    except ERRORS:
        return


def test_a_page_holds_no_more_than_was_asked_for() -> None:
    with pytest.raises(ValueError, match="more records"):
        records.page(operations.operation)({"_embedded": {"records": [payment_of("payment")] * 201}})
