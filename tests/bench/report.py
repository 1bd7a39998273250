"""Figures and the lines that show them beside their limit, ratio and goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tests.bench.load import Load


@dataclass(frozen=True)
class Line:
    """One result. `met` is None for a figure that has no goal of its own."""

    name: str
    figure: str
    limit: str = ""
    ratio: str = ""
    goal: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        verdict = {True: "ok", False: "missed", None: ""}[self.met]
        return (
            f"{self.name:<34} {self.figure:<46} {self.limit:<30} {self.ratio:>12} {self.goal:>18}  {verdict}".rstrip()
        )


HEADING = Line("what", "figure", "limit", "ratio", "goal")


def loads_figure(loads: Sequence[Load]) -> str:
    """Medians over the rounds, the processor's time of one request last."""
    rate = median(load.per_second for load in loads)
    p50, p99 = (median(load.percentile(percent) for load in loads) for percent in (50, 99))
    cost = median(load.processor_milliseconds for load in loads)
    return f"{rate:5.0f}/s, p50 {p50:4.1f} ms, p99 {p99:4.1f} ms, cpu {cost:4.2f} ms"


def ratio_line(name: str, loads: Sequence[Load], limit_name: str, limits: Sequence[Load], goal: float) -> Line:
    """The median of the rounds' own ratios: what shared the machine in one round slowed both sides of it.

    In brackets is the ratio of the processor's time, which a busy machine changes little.
    """
    ratio = median(load.per_second / limit.per_second for load, limit in zip(loads, limits, strict=True))
    limit_rate = median(limit.per_second for limit in limits)
    return Line(
        name,
        loads_figure(loads),
        f"{limit_rate:.0f}/s {limit_name}",
        f"{ratio:.2f}x ({_costs_ratio(loads, limits):.2f})",
        f">= {goal:.2f}x",
        ratio >= goal,
    )


def _costs_ratio(loads: Sequence[Load], limits: Sequence[Load]) -> float:
    pairs = zip(loads, limits, strict=True)
    return median(limit.processor_milliseconds / load.processor_milliseconds for load, limit in pairs)


def ceiling_line(name: str, milliseconds: float, goal: float, *, limit: str = "", ratio: float | None = None) -> Line:
    """A duration that must stay under its goal."""
    shown = "" if ratio is None else f"{ratio:.1f}x"
    return Line(name, f"{milliseconds:.2f} ms", limit, shown, f"<= {goal:g} ms", milliseconds <= goal)
