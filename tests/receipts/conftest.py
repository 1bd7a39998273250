"""What every test of receipts runs on."""

from __future__ import annotations

from tests.refunds.conftest import stopped_clock

__all__ = ["stopped_clock"]
