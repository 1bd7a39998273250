"""The providers of one network: who is asked, who is believed, and what a person must hear about.

What decides about money is asked of two and believed when both say the same. What only helps (fees, estimates) is
asked of one after the other. A provider that has been failing for a minute no longer counts: with the others alone
Ballast goes on, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import structlog

from payments.chains.base import Head, ProviderState
from payments.chains.errors import ChainUnavailable
from payments.chains.evm.questions import Answer, Header, Question, header
from payments.chains.evm.rpc import ProviderFailed, ReplyTooLong, Rpc, RpcError, WrongChain

logger = structlog.get_logger(__name__)

BELIEVED = 2
"""Providers that must say the same, where there are as many."""

DOWN_AFTER_SECONDS = 60.0
PROBE_SECONDS = 30.0
"""How often a provider that is down is asked whether it is back."""

OLD_HEAD_BLOCKS = 20
"""A newest block older than so many blocks take is old; who has only an old one does not say where the head is."""

Result = TypeVar("Result")


@dataclass(slots=True)
class Provider:
    """One of them, and how it has been doing."""

    rpc: Rpc
    failing_since: float | None = None
    is_elsewhere: bool = False
    """It spoke for another chain when it was last asked."""
    asked_at: float = 0.0
    problems: dict[str, str] = field(default_factory=dict)
    """What is wrong with it now, by kind: failing, old_head, disagrees."""

    @property
    def name(self) -> str:
        return self.rpc.name


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something about a provider that a person should know."""

    provider: str
    kind: str
    message: str


class Providers:
    """All providers of one network, in order of preference. One object per process and network."""

    def __init__(
        self,
        rpcs: Sequence[Rpc],
        *,
        network: str,
        block_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not rpcs:
            raise ValueError(f"{network} has no provider")
        self.network = network
        self._old_after_seconds = OLD_HEAD_BLOCKS * block_seconds
        self._clock = clock
        self._providers = [Provider(rpc) for rpc in rpcs]

    # Asking

    def ask(self, question: Question[Answer]) -> Answer:
        """The first usable answer. RpcError when it is an error."""
        for provider in self._in_use():
            try:
                (answer,) = self._answers(provider, (question,))
            except ProviderFailed:
                continue
            if isinstance(answer, RpcError):
                raise answer
            found: Answer = answer
            return found
        raise ChainUnavailable(f"No provider of {self.network} answers.")

    def agree_on(self, question: Question[Answer]) -> Answer:
        (answer,) = self.agree(question)
        found: Answer = answer
        return found

    def agree(self, *questions: Question[Any]) -> list[Any]:
        """Answers that two providers give alike; RpcError when both refuse one of the questions.

        ChainUnavailable when too few answer, or no two say the same: nothing is known then.
        """
        answers = self._believed(lambda provider: self._answers(provider, questions), _alike)
        if error := next((answer for answer in answers if isinstance(answer, RpcError)), None):
            raise error
        return answers

    def gather(self, *questions: Question[Any]) -> list[list[Any]]:
        """What each provider answers, of enough of them: for what one may have overlooked and another not.

        RpcError when one would answer a smaller question. ChainUnavailable when too few answer.
        """
        needed, said = self._needed(), list[list[Any]]()
        too_long: ReplyTooLong | None = None
        for provider in self._in_use():
            try:
                answers = self._answers(provider, questions)
            except ReplyTooLong as error:
                too_long = error
                continue
            except ProviderFailed:
                continue
            errors = [answer for answer in answers if isinstance(answer, RpcError)]
            if not errors:
                said.append(answers)
            elif any(error.asks_for_less for error in errors):
                raise errors[0]
        if len(said) < needed and too_long is not None:
            raise RpcError(0, str(too_long))
        if len(said) < needed:
            raise ChainUnavailable(f"Only {len(said)} of {needed} providers of {self.network} answer.")
        return said

    def head(self) -> Head:
        """The newest block that enough providers have, and the newest of them that enough call final."""
        tips = self._tips()
        fresh = [tip for tip in tips if not self._is_old(tip[1])] or tips
        needed = self._needed()
        if len(fresh) < needed:
            raise ChainUnavailable(f"Only {len(fresh)} of {needed} providers of {self.network} say where it is.")
        height = sorted((latest.height for _, latest, _ in fresh), reverse=True)[needed - 1]
        finalized = sorted((final.height for _, _, final in fresh), reverse=True)[needed - 1]
        newest = self.agree_on(header(height))
        if newest is None:
            raise ChainUnavailable(f"The block {height} of {self.network} is not there any more.")
        return Head(height, newest.block_hash, newest.closed_at, min(finalized, height))

    def anyone(self, question: Question[Answer | None]) -> Answer | None:
        """Something that any provider knows of: nodes do not share what waits. None when nobody knows of it."""
        answered = False
        for provider in self._in_use():
            try:
                (answer,) = self._answers(provider, (question,))
            except ProviderFailed:
                continue
            answered = True
            if answer is not None and not isinstance(answer, RpcError):
                found: Answer = answer
                return found
        if not answered:
            raise ChainUnavailable(f"No provider of {self.network} answers.")
        return None

    def tell(self, question: Question[str]) -> list[str | RpcError]:
        """Hand something to every provider; what those said that answered. ChainUnavailable when none did."""
        said: list[str | RpcError] = []
        for provider in self._in_use():
            try:
                said += self._answers(provider, (question,))
            except ProviderFailed:
                continue
        if not said:
            raise ChainUnavailable(f"No provider of {self.network} answers.")
        return said

    def alarms(self) -> tuple[Alarm, ...]:
        """What is wrong at present."""
        return tuple(
            Alarm(provider.name, kind, message)
            for provider in self._providers
            for kind, message in provider.problems.items()
        )

    @property
    def are_elsewhere(self) -> bool:
        """Whether every one of them spoke for another chain when it was last asked."""
        return all(provider.is_elsewhere for provider in self._providers)

    def states(self) -> tuple[ProviderState, ...]:
        """Who is asked, and what is wrong with each at present."""
        return tuple(ProviderState(provider.name, dict(provider.problems)) for provider in self._providers)

    # Believing

    def _believed(self, asked: Callable[[Provider], Result], same: Callable[[Result, Result], bool]) -> Result:
        """What enough providers say alike. Asks no more of them than it takes."""
        needed, groups = self._needed(), list[tuple[Result, list[Provider]]]()
        answered = 0
        for provider in self._in_use():
            try:
                result = asked(provider)
            except ProviderFailed:
                continue
            answered += 1
            group = next((group for known, group in groups if same(known, result)), None)
            if group is None:
                groups.append((result, group := []))
            group.append(provider)
            if len(group) >= needed:
                self._note_disagreement(groups, believed=group)
                return result
        if len(groups) > 1:
            self._note_disagreement(groups, believed=[])
            raise ChainUnavailable(f"The providers of {self.network} do not agree.")
        raise ChainUnavailable(f"Only {answered} of {needed} providers of {self.network} answer.")

    def _needed(self) -> int:
        return min(BELIEVED, sum(not self._is_down(provider) for provider in self._providers)) or 1

    def _note_disagreement(self, groups: Sequence[tuple[Any, list[Provider]]], *, believed: list[Provider]) -> None:
        for _, group in groups:
            for provider in group:
                others = [other.name for _, others in groups if others is not group for other in others]
                alone = bool(others) and group is not believed
                self._note(provider, "disagrees", f"says something else than {', '.join(others)}" if alone else None)

    # How each is doing

    def _in_use(self) -> Iterator[Provider]:
        """Who is asked: all that are up, and now and then one that is down; everyone when nobody is up."""
        now = self._clock()
        up = [provider for provider in self._providers if not self._is_down(provider)]
        due = [provider for provider in self._providers if now - provider.asked_at >= PROBE_SECONDS]
        yield from up
        yield from (provider for provider in (due if up else self._providers) if provider not in up)

    def _is_down(self, provider: Provider) -> bool:
        return provider.failing_since is not None and self._clock() - provider.failing_since >= DOWN_AFTER_SECONDS

    def _answers(self, provider: Provider, questions: Sequence[Question[Any]]) -> list[Any]:
        """Answers of one provider, each in our types or an RpcError that answers the question."""
        provider.asked_at = self._clock()
        try:
            said = provider.rpc.batch(*(question.call for question in questions))
            answers = [
                answer if isinstance(answer, RpcError) else _read(provider.rpc, question, answer)
                for question, answer in zip(questions, said, strict=True)
            ]
            if missing := next((each for each in answers if isinstance(each, RpcError) and each.misses_block), None):
                raise ProviderFailed(f"{provider.name} lacks a block: {missing}")
        except ProviderFailed as error:
            provider.failing_since = provider.failing_since or self._clock()
            provider.is_elsewhere = isinstance(error, WrongChain)
            self._note(provider, "failing", str(error))
            raise
        provider.failing_since, provider.is_elsewhere = None, False
        self._note(provider, "failing", None)
        return answers

    def _tips(self) -> list[tuple[Provider, Header, Header]]:
        """The newest and the newest final block of each provider that answers."""
        found = []
        for provider in self._in_use():
            try:
                latest, final = self._answers(provider, (header("latest"), header("finalized")))
            except ProviderFailed:
                continue
            if isinstance(latest, Header) and isinstance(final, Header):
                old = self._is_old(latest)
                self._note(provider, "old_head", f"newest block is of {latest.closed_at:%H:%M:%S}" if old else None)
                found.append((provider, latest, final))
        return found

    def _is_old(self, latest: Header) -> bool:
        return (datetime.now(UTC) - latest.closed_at).total_seconds() > self._old_after_seconds

    def _note(self, provider: Provider, kind: str, message: str | None) -> None:
        """Say once that something is wrong, and once that it is right again."""
        before = provider.problems.pop(kind, None)
        if message is not None:
            provider.problems[kind] = message
        if (before is None) != (message is None):
            say = logger.info if message is None else logger.error
            event = "provider is well again" if message is None else "provider has a problem"
            say(event, network=self.network, provider=provider.name, problem=kind, message=message or before)


def _read(rpc: Rpc, question: Question[Answer], answer: Any) -> Answer:
    try:
        return question.read(answer)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ProviderFailed(f"{rpc.name} answered {question.call.method} with something else: {error}") from error


def _alike(one: list[Any], other: list[Any]) -> bool:
    """Equal answers. Errors are worded differently by each client: two of them to one question count as equal."""
    return all(
        mine == theirs or (isinstance(mine, RpcError) and isinstance(theirs, RpcError))
        for mine, theirs in zip(one, other, strict=True)
    )
