"""When a provider is put aside: others contradict it again and again, and it is not queried for a while. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

CONTRADICTIONS = 3
"""After so many a provider is put aside."""

APART_SECONDS, WITHIN_SECONDS = 15.0, 3_600.0
"""Contradictions count where they are so far apart at least: a reorganisation, or a node that is just catching up,
gives different answers for some seconds. All of them must fall into one hour."""

ASIDE_SECONDS, LONGEST_ASIDE_SECONDS = 3_600.0, 86_400.0
"""For how long, the first time. Each time after that twice as long as before, a day at most."""


@dataclass(slots=True)
class Quarantine:
    """Contradictions of one provider by others, by the clock of its pool."""

    contradicted_at: list[float] = field(default_factory=list)
    aside_until: float = 0.0
    times_aside: int = 0

    def contradict(self, now: float) -> bool:
        """Note a contradiction; returns whether there have been enough of them."""
        self.contradicted_at = [each for each in self.contradicted_at if now - each < WITHIN_SECONDS]
        if not self.contradicted_at or now - self.contradicted_at[-1] >= APART_SECONDS:
            self.contradicted_at.append(now)
        return len(self.contradicted_at) >= CONTRADICTIONS

    def put_aside(self, now: float) -> float:
        """Put it aside; returns for how many seconds."""
        seconds: float = min(ASIDE_SECONDS * 2**self.times_aside, LONGEST_ASIDE_SECONDS)
        self.contradicted_at, self.aside_until = [], now + seconds
        self.times_aside += 1
        return seconds

    def let_back(self) -> None:
        """Let it be queried again at once. The next quarantine is as long as it would have been."""
        self.contradicted_at, self.aside_until = [], 0.0

    def is_aside(self, now: float) -> bool:
        return now < self.aside_until
