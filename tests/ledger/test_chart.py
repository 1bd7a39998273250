"""The chart of accounts: every kind, its side and its owner."""

from __future__ import annotations

import pytest

from merchants.ledger.chart import CHART, AccountKind, Group, Owner, Side, kinds_where, suspense


def test_every_kind_has_rules() -> None:
    assert set(CHART) == set(AccountKind)


@pytest.mark.parametrize(
    ("kind", "group", "side", "may_go_negative", "owner"),
    [
        ("chain:deposit", Group.ASSET, Side.DEBIT, False, Owner.NOBODY),
        ("chain:hot", Group.ASSET, Side.DEBIT, False, Owner.NOBODY),
        ("chain:cold", Group.ASSET, Side.DEBIT, False, Owner.NOBODY),
        ("chain:moving", Group.ASSET, Side.DEBIT, False, Owner.NOBODY),
        ("gas", Group.ASSET, Side.DEBIT, False, Owner.NOBODY),
        ("merchant:receivable", Group.ASSET, Side.DEBIT, False, Owner.MERCHANT),
        ("payment", Group.LIABILITY, Side.CREDIT, False, Owner.PAYMENT),
        ("merchant:available", Group.LIABILITY, Side.CREDIT, False, Owner.MERCHANT),
        ("payout", Group.LIABILITY, Side.CREDIT, False, Owner.PAYOUT),
        ("suspense:late", Group.LIABILITY, Side.CREDIT, False, Owner.PAYMENT_OR_DEPOSIT),
        ("suspense:no_memo", Group.LIABILITY, Side.CREDIT, False, Owner.PAYMENT_OR_DEPOSIT),
        ("treasury", Group.EQUITY, Side.CREDIT, False, Owner.NOBODY),
        ("fee:service", Group.EQUITY, Side.CREDIT, True, Owner.NOBODY),
        ("fee:network", Group.EQUITY, Side.DEBIT, True, Owner.NOBODY),
        ("rounding", Group.EQUITY, Side.CREDIT, True, Owner.NOBODY),
        ("withdrawn", Group.EQUITY, Side.DEBIT, False, Owner.NOBODY),
    ],
)
def test_the_rules_of_a_kind(kind: str, group: Group, side: Side, may_go_negative: bool, owner: Owner) -> None:
    rules = AccountKind(kind).rules
    assert (rules.group, rules.side, rules.may_go_negative, rules.owner) == (group, side, may_go_negative, owner)


def test_only_coins_are_on_a_chain() -> None:
    assert kinds_where(on_chain=True) == ["chain:deposit", "chain:hot", "chain:cold", "chain:moving", "gas"]


def test_a_natural_balance_is_positive_on_the_side_the_kind_grows_on() -> None:
    assert AccountKind.CHAIN_HOT.rules.natural(5) == 5
    assert AccountKind.MERCHANT_AVAILABLE.rules.natural(-5) == 5


def test_an_overdraft_is_seen_on_either_side() -> None:
    assert AccountKind.CHAIN_HOT.rules.allows_balance(0)
    assert not AccountKind.CHAIN_HOT.rules.allows_balance(-1)
    assert not AccountKind.PAYMENT.rules.allows_balance(1)
    assert AccountKind.ROUNDING.rules.allows_balance(1)


def test_suspense_is_named_by_its_reason() -> None:
    assert suspense("wrong_token") is AccountKind.SUSPENSE_WRONG_TOKEN
    with pytest.raises(ValueError, match="suspense:stolen"):
        suspense("stolen")
