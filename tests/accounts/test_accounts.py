"""Whatever happens, in whatever order: product and independent model say the same of everybody's money."""

from __future__ import annotations

import random

import pytest
from django.db import transaction
from pytest_django.fixtures import Settings

from tests.accounts.history import History
from tests.accounts.world import NO_CAP, fill_wallets
from tests.long_form import IS_LONG

pytestmark = [pytest.mark.django_db, pytest.mark.long]

MORE = [(seed, 500) for seed in range(4)] if IS_LONG else [(seed, 250) for seed in (0, 2, 3)]


@pytest.mark.parametrize(
    ("seed", "operations"), [(1, 120), *(pytest.param(*more, marks=pytest.mark.slow) for more in MORE)]
)
def test_product_and_model_say_the_same(seed: int, operations: int, settings: Settings) -> None:
    settings.FEE_ON_REFUNDS = "kept"  # changed with refunds
    settings.SIMULATED_BLOCK_SECONDS, settings.BELOW_FINALITY_USD = 0, NO_CAP
    settings.CONVERSION_RATE, settings.SANDBOX_OPERATORS_TO_DECIDE = "when_paid", 1
    settings.OFFSET_DEBTS = seed % 4 > 0  # without, each coin of a merchant is a pot by itself
    with transaction.atomic():
        fill_wallets()
        history = History(random.Random(seed), repays_from_other_coins=settings.OFFSET_DEBTS)
        history.go(operations)
        history.finish()
        history.compare_pages()
