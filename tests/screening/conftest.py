"""What every test of screening runs on."""

from tests.transfers.conftest import stopped_clock

__all__ = ["stopped_clock"]
