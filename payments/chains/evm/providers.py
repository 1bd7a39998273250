"""The providers of one network: who is asked, who is believed, and what a person must hear about.

What decides about money is asked of two and believed when both say the same, always: while fewer than two answer,
nothing is known. One alone decides only where the operator lists one and has said that it may. What only helps
(estimates) is asked of one after the other.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog

from payments.chains.base import Head, ProviderState
from payments.chains.errors import ChainUnavailable, NotSetUp
from payments.chains.evm.disagreement import alike, answer_told, differing, is_about_money, log_told, told
from payments.chains.evm.questions import Answer, Header, Log, Question, header
from payments.chains.evm.rpc import ProviderFailed, ReplyTooLong, Rpc, RpcError, WrongChain

logger = structlog.get_logger(__name__)

BELIEVED = 2
"""Providers that must say the same."""

DOWN_AFTER_SECONDS = 60.0
PROBE_SECONDS = 30.0
"""How often a provider that is down is asked whether it is back: each time it may take a whole time-out."""

DISAGREES_SECONDS, INVENTS_SECONDS = 30.0, 300.0
"""How long it is kept in mind that one said something else than others, and that it told of money nobody else knows."""

OLD_HEAD_BLOCKS = 20
"""A newest block older than so many blocks take is old; who has only an old one does not say where the head is."""


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
    disagrees_until: float = 0.0
    invents: bool = False
    """What it disagrees about is money."""

    @property
    def name(self) -> str:
        return self.rpc.name


@dataclass(frozen=True, slots=True)
class Said:
    """What one provider answered."""

    provider: Provider
    answers: list[Any]


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something about a provider that a person should know."""

    provider: str
    kind: str
    message: str


class Providers:
    """All providers of one network, in order of preference. One object per process and network.

    An endpoint that is listed twice counts once. `one_may_decide` is the operator's word for a network with one.
    """

    def __init__(
        self,
        rpcs: Sequence[Rpc],
        *,
        network: str,
        block_seconds: float,
        one_may_decide: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not rpcs:
            raise ValueError(f"{network} has no provider")
        self.network = network
        self._old_after_seconds = OLD_HEAD_BLOCKS * block_seconds
        self._clock = clock
        self._providers = [Provider(rpc) for rpc in {rpc.endpoint: rpc for rpc in reversed(rpcs)}.values()][::-1]
        _tell_apart([provider.rpc for provider in self._providers])
        self.needed = 1 if one_may_decide and len(self._providers) == 1 else BELIEVED
        """How many must say the same."""

    def require_enough(self) -> None:
        """NotSetUp when there are fewer than must say the same, so that nothing will ever be known."""
        if len(self._providers) < self.needed:
            raise NotSetUp(
                f"{self.network} has one provider, {self._providers[0].name}, and money is believed when two say the "
                f"same. Add one of another owner to {self.network.upper()}_RPC_URLS, or let this one decide alone by "
                f"EVM_SINGLE_PROVIDER_NETWORKS."
            )

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
        answers = self.agree_each(*questions)
        if error := next((answer for answer in answers if isinstance(answer, RpcError)), None):
            raise error
        return answers

    def agree_each(self, *questions: Question[Any]) -> list[Any]:
        """As agree, with an RpcError in the place of each answer that two providers refuse."""
        return self._believed(questions)

    def gather(self, *questions: Question[Any]) -> list[Said]:
        """What each provider answers, of enough of them: for what one may have overlooked and another not.

        RpcError when one would answer a smaller question. ChainUnavailable when too few answer.
        """
        said = list[Said]()
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
                said.append(Said(provider, answers))
            elif any(error.asks_for_less for error in errors):
                raise errors[0]
        if len(said) < self.needed and too_long is not None:
            raise RpcError(0, str(too_long))
        if len(said) < self.needed:
            raise self._too_few(len(said))
        return said

    def middle(self, question: Question[int]) -> int:
        """A number about which honest providers differ: the middle of what they say, the lower one of two.

        So no single one drives it up. ChainUnavailable when too few say one.
        """
        said = [each.answers[0] for each in self.gather(question)]
        return int(sorted(said)[(len(said) - 1) // 2])

    def head(self) -> Head:
        """The newest block that enough providers have, and the newest of them that enough call final."""
        tips = self._tips()
        fresh = [tip for tip in tips if not self._is_old(tip[1])] or tips
        if len(fresh) < self.needed:
            raise self._too_few(len(fresh))
        height = sorted((latest.height for _, latest, _ in fresh), reverse=True)[self.needed - 1]
        finalized = sorted((final.height for _, _, final in fresh), reverse=True)[self.needed - 1]
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
        self._forget_disagreements()
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
        self._forget_disagreements()
        return tuple(ProviderState(provider.name, dict(provider.problems)) for provider in self._providers)

    # Believing

    def _believed(self, questions: Sequence[Question[Any]]) -> list[Any]:
        """The answers that enough providers give alike. Asks no more of them than it takes."""
        groups = list[tuple[list[Any], list[Provider]]]()
        answered = 0
        for provider in self._in_use():
            try:
                answers = self._answers(provider, questions)
            except ProviderFailed:
                continue
            answered += 1
            group = next((group for known, group in groups if all(map(alike, known, answers))), None)
            if group is None:
                groups.append((answers, group := []))
            group.append(provider)
            if len(group) >= self.needed:
                self._note_disagreements(questions, groups)
                return next(known for known, those in groups if those is group)
        if len(groups) > 1:
            self._note_disagreements(questions, groups)
            raise ChainUnavailable(f"The providers of {self.network} do not agree.")
        raise self._too_few(answered)

    def _too_few(self, answered: int) -> ChainUnavailable:
        return ChainUnavailable(
            f"Only {answered} of {self.needed} providers that must say the same about {self.network} answer. "
            f"Deposits and payouts wait; nothing is lost."
        )

    def note_invention(self, tellers: Sequence[Provider], log: Log) -> None:
        """They told of money that moved, and two others know nothing of it."""
        for provider in tellers:
            others = _names(other for other in self._providers if other not in tellers)
            message = (
                f"Transaction {log.transaction_hash}: it says that {log_told(log)} moved; "
                f"the receipt of {others} does not say so"
            )
            self._note_disagreement(provider, message, invents=True)

    def _note_disagreements(
        self, questions: Sequence[Question[Any]], groups: Sequence[tuple[list[Any], list[Provider]]]
    ) -> None:
        """About whoever is not among those who are believed; about all of them where nobody is."""
        believed = max(groups, key=lambda group: len(group[1]))
        is_settled = len(believed[1]) >= self.needed
        for answers, group in groups:
            if group is believed[1] and is_settled:
                continue
            other_answers, others = (
                believed if group is not believed[1] else next(each for each in groups if each is not believed)
            )
            question, mine, theirs = differing(questions, answers, other_answers)
            message = f"{told(question)}: it says {answer_told(mine)}; {_names(others)} says {answer_told(theirs)}"
            for provider in group:
                self._note_disagreement(provider, message, invents=is_about_money(mine, theirs))

    def _note_disagreement(self, provider: Provider, message: str, *, invents: bool) -> None:
        """It stays noted for a while, so that whoever raises alarms comes by; what is about money before all else."""
        now = self._clock()
        if provider.invents and not invents and now < provider.disagrees_until:
            return
        provider.invents = invents
        provider.disagrees_until = now + (INVENTS_SECONDS if invents else DISAGREES_SECONDS)
        self._note(provider, "disagrees", message)

    def _forget_disagreements(self) -> None:
        now = self._clock()
        for provider in self._providers:
            if "disagrees" in provider.problems and now >= provider.disagrees_until:
                self._note(provider, "disagrees", None)

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
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProviderFailed(f"{rpc.name} answered {question.call.method} with something else: {error}") from error


def _tell_apart(rpcs: Iterable[Rpc]) -> None:
    """Number those whose addresses differ in the path alone, which no name may show: it often holds a key."""
    met = Counter[str]()
    for rpc in rpcs:
        met[rpc.name] += 1
        if (number := met[rpc.name]) > 1:
            rpc.name = f"{rpc.name} ({number})"


def _names(providers: Iterable[Provider]) -> str:
    return ", ".join(provider.name for provider in providers)
