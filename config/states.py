"""State machines as data: a table of allowed moves, checked by every service that changes a status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class MoveNotAllowed(Exception):
    """A bug, not a user error: services check their conditions before they use the table."""


class Transitions:
    """An immutable table `state -> states it may move to`. A state with no moves is terminal."""

    def __init__(self, moves: Mapping[str, Iterable[str]]) -> None:
        self._moves = {str(state): frozenset(map(str, targets)) for state, targets in moves.items()}
        unknown = {t for targets in self._moves.values() for t in targets} - self._moves.keys()
        if unknown:
            raise ValueError(f"moves lead to states with no row of their own: {sorted(unknown)}")

    @property
    def states(self) -> frozenset[str]:
        return frozenset(self._moves)

    @property
    def terminal(self) -> frozenset[str]:
        return frozenset(state for state, targets in self._moves.items() if not targets)

    def allows(self, current: str, target: str) -> bool:
        return str(target) in self._moves[str(current)]

    def check(self, current: str, target: str) -> None:
        if not self.allows(current, target):
            raise MoveNotAllowed(f"{current} may not become {target}")
