"""One event of each kind as it is sent, for the API reference and the test bench."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from config.api.renderers import read_json

SAMPLES = Path(__file__).with_name("samples.json")
"""Written by tests/webhooks/test_samples.py from real records."""


def sample_of(type: str) -> Mapping[str, Any]:
    """The body of an event of this type; addresses and the QR code in it are cut short."""
    return _samples()[type]


@cache
def _samples() -> Mapping[str, Mapping[str, Any]]:
    samples: Mapping[str, Mapping[str, Any]] = read_json(SAMPLES.read_text(encoding="utf-8"))
    return samples
