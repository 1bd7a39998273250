"""Books to reconcile."""

from __future__ import annotations

import pytest

from merchants.ledger import checking, invariants
from tests.ledger.books import COINS, available_account, move, payment_account


@pytest.fixture
def ledger_checks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other apps' checks need rows of theirs to agree with; here the registry may also be added to."""
    ours = {known.code: known for known in checking.registered() if known.check.__module__ == invariants.__name__}
    monkeypatch.setattr(checking, "_registry", ours)


@pytest.fixture
def books(db: None) -> None:
    move(100, debit=COINS, credit=available_account())
    move(40, debit=COINS, credit=payment_account())
