"""What every test of settlements runs on."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments.rates.models import CurrentRate
from payments.rates.quoting import forget_rates


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    """Blocks appear only when a test mines them."""
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture
def rates(settings: Settings) -> None:
    """A DAI is worth 0.999 and a USDT 1.002 dollars, where a USDC is worth 1.001."""
    settings.RATE_SOURCES = ["kraken", "coinbase", "bitstamp"]
    prices = {"DAI": Decimal("0.999"), "USDT": Decimal("1.002"), "USDC": Decimal("1.001")}
    now = timezone.now()
    CurrentRate.objects.bulk_create(
        CurrentRate(base=coin, quote="USD", rate=rate, sources=["kraken", "coinbase"], observed_at=now, agreed_at=now)
        for coin, rate in prices.items()
    )
    forget_rates()
