"""What parts of a request cost inside the process, one core, no network in between."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from statistics import median

import qrcode
from django.test import RequestFactory

from config.environments import Environment
from config.pages import qr
from merchants.access import throttling
from merchants.access.authentication import authenticate
from tests.bench.report import Line, ceiling_line

QR_GOAL_MILLISECONDS = 2.0
QR_GOAL_RATIO = 5.0
KEY_GOAL_MILLISECONDS = 0.4

SEP_7_LINK = (
    "web+stellar:pay?destination=GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ&amount=149.99"
    "&asset_code=USDC&asset_issuer=GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
)


def milliseconds_of(work: Callable[[], object], times: int) -> float:
    """The median duration, after a warm-up."""
    durations = []
    for turn in range(times + times // 10 + 1):
        started = time.perf_counter()
        work()
        if turn > times // 10:
            durations.append((time.perf_counter() - started) * 1000)
    return median(durations)


def qr_lines() -> list[Line]:
    """A QR code with its data URI, beside the package's defaults. Both goals must hold."""

    def with_defaults() -> None:
        qrcode.make(SEP_7_LINK).save(io.BytesIO())

    ours = milliseconds_of(lambda: qr.data_uri(qr.render_png(SEP_7_LINK)), 300)
    defaults = milliseconds_of(with_defaults, 30)
    ratio = defaults / ours
    limit = f"{defaults:.1f} ms at qrcode's defaults"
    return [
        ceiling_line(f"QR code of {len(SEP_7_LINK)} characters", ours, QR_GOAL_MILLISECONDS, limit=limit, ratio=ratio),
        Line(
            "QR code against the defaults",
            f"{ratio:.1f} times faster",
            limit,
            f"{ratio:.1f}x",
            f">= {QR_GOAL_RATIO:g}x",
            ratio >= QR_GOAL_RATIO,
        ),
    ]


def key_line(public_key: str, secret: str) -> Line:
    """The check of a key and of its request budget, as every request pays for it."""
    request = RequestFactory().get(
        "/sandbox/v1/payments", headers={"Authorization": f"Bearer {public_key}", "X-Api-Secret": secret}
    )

    def check() -> None:
        key = authenticate(request, Environment.SANDBOX)
        throttling.take(key.merchant, Environment.SANDBOX)

    return ceiling_line("key check and request budget", milliseconds_of(check, 1000), KEY_GOAL_MILLISECONDS)
