"""The providers of one network, whatever their protocol: which are queried, which are believed, and what a person is
notified of.

An answer that decides about money is believed when two providers agree, or as many as the operator sets, and no other
answer is as frequent: else nothing is known. One alone decides only where the operator lists one and permits it. As
many are queried at once as are needed to decide, and others where these fail, differ or are slow (`rounds`). A provider
that others contradict again and again is put aside (`quarantine`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, TypeVar

import structlog

from payments.chains.errors import ChainUnavailable, NotSetUp
from payments.chains.protocol.providers import LONGEST_PROVIDER_NAME, ProviderState
from payments.chains.providers.quarantine import CONTRADICTIONS, Quarantine
from payments.chains.providers.rounds import Round, query_apart
from payments.chains.providers.servers import Behind, ProviderFailed, Server, WrongChain

logger = structlog.get_logger(__name__)

AnyServer = TypeVar("AnyServer", bound=Server)
Answer = TypeVar("Answer")

BELIEVED = 2
"""Providers that must agree, unless the operator wants more."""

DOWN_AFTER_SECONDS = 60.0
PROBE_SECONDS = 30.0
"""How often a provider that is down or slow is queried to find whether it works again."""

TIME_SECONDS = 60.0

DISAGREES_SECONDS, INVENTS_SECONDS = 30.0, 300.0
"""How long a provider's difference from others stays noted, and how long its report of money that no other knows."""


@dataclass(slots=True)
class Provider(Generic[AnyServer]):
    """One of them, and how it has been doing."""

    server: AnyServer
    failing_since: float | None = None
    is_elsewhere: bool = False
    """It served another chain when it was last queried."""
    is_slow: bool = False
    """It was slow to answer when it was last queried: it is queried after those that are prompt."""
    queried_at: float = 0.0
    problems: dict[str, str] = field(default_factory=dict)
    """What is wrong with it now, by kind: failing, old_head, disagrees, put_aside."""
    newest_height: int = 0
    final_height: int = 0
    """Of the newest block, and of the newest final one, that it has reported."""
    quarantine: Quarantine = field(default_factory=Quarantine)
    disagrees_until: float = 0.0
    invents: bool = False
    """What it disagrees about is money."""

    @property
    def name(self) -> str:
        return self.server.name


@dataclass(frozen=True, slots=True)
class Believed(Generic[Answer]):
    """The believed answer, and the names of the providers that gave it."""

    answer: Answer
    by: tuple[str, ...]


Groups = Sequence[tuple[Answer, list[Provider[AnyServer]]]]
"""Answers, each with the providers that gave it."""


@dataclass(frozen=True, slots=True)
class Difference(Generic[Answer, AnyServer]):
    """One provider's answer, and that of others, who are believed where it `is_outvoted`."""

    provider: Provider[AnyServer]
    mine: Answer
    theirs: Answer
    others: str
    is_outvoted: bool


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something about a provider that a person should know."""

    provider: str
    kind: str
    message: str


class ProviderPool(Generic[AnyServer]):
    """All providers of one network, in order of preference. One object per process and network.

    An endpoint that is listed twice counts once. `one_may_decide` is the operator's permission for a network
    with one; else `agreeing` of them must agree, two at least.
    """

    def __init__(
        self,
        servers: Sequence[AnyServer],
        *,
        network: str,
        old_after_seconds: float,
        one_may_decide: bool = False,
        agreeing: int = BELIEVED,
        clock: Callable[[], float] = time.monotonic,
        read_time: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not servers:
            raise ValueError(f"{network} has no provider")
        self.network = network
        self._old_after_seconds = old_after_seconds
        """A provider without a newer block than that does not count for the head."""
        self._clock = clock
        self._read_time = read_time
        """The database's time: a process whose own clock is wrong takes no provider for one that is behind."""
        self._time: tuple[datetime, float] | None = None
        self._let_back_at: datetime | None = None
        self._providers = [Provider(each) for each in {each.endpoint: each for each in reversed(servers)}.values()]
        self._providers.reverse()
        _distinguish([provider.server for provider in self._providers])
        self.needed = 1 if one_may_decide and len(self._providers) == 1 else max(agreeing, BELIEVED)
        """The number of providers that must agree."""

    def _require_enough(self, *, setting: str, single_setting: str) -> None:
        """Raise NotSetUp when there are fewer providers than must agree, so that nothing will ever be known.

        `setting` lists them; `single_setting` lets one decide alone.
        """
        if 1 < len(self._providers) < self.needed:
            raise NotSetUp(
                f"{self.network} has {len(self._providers)} providers, and money is believed when {self.needed} say "
                f"the same. Add others to {setting}, or set PROVIDERS_THAT_AGREE lower."
            )
        if len(self._providers) < self.needed:
            raise NotSetUp(
                f"{self.network} has one provider, {self._providers[0].name}, and money is believed when two say the "
                f"same (several addresses at one domain are one provider). "
                f"Add one of another owner to {setting}, or let this one decide alone by {single_setting}."
            )

    def alarms(self) -> tuple[Alarm, ...]:
        """What is wrong at present."""
        self._forget()
        return tuple(
            Alarm(provider.name, kind, message)
            for provider in self._providers
            for kind, message in dict(provider.problems).items()
        )

    @property
    def are_elsewhere(self) -> bool:
        """Whether every one of them served another chain when it was last queried."""
        return all(provider.is_elsewhere for provider in self._providers)

    def let_back(self, decided_at: datetime) -> None:
        """Query every provider again that is put aside. The same order of an operator, known by its time, counts
        once."""
        if decided_at != self._let_back_at:
            self._let_back_at = decided_at
            for provider in self._providers:
                provider.quarantine.let_back()

    def states(self) -> tuple[ProviderState, ...]:
        """The providers that are queried, and the present faults of each."""
        self._forget()
        return tuple(ProviderState(provider.name, dict(provider.problems)) for provider in self._providers)

    # Believing

    def _believed(
        self,
        query: Callable[[Provider[AnyServer]], Answer],
        alike: Callable[[Answer, Answer], bool],
        note: Callable[[Groups[Answer, AnyServer]], None],
    ) -> Believed[Answer]:
        """The answer that enough providers give alike, and no others another one as often.

        Queries no more of them than needed: until those that are left could not make another answer as frequent.
        `query` raises ProviderFailed where there is none; `note` receives all answers where they differ.
        """
        groups = list[tuple[Answer, list[Provider[AnyServer]]]]()
        queries = Round(self._in_use(), query)
        sorted_in = 0

        def sort_in() -> None:
            nonlocal sorted_in
            for provider, answer in queries.answers[sorted_in:]:
                group = next((group for known, group in groups if alike(known, answer)), None)
                if group is None:
                    groups.append((answer, group := []))
                group.append(provider)
                group.sort(key=self._providers.index)
            groups.sort(key=lambda group: self._providers.index(group[1][0]))
            sorted_in = len(queries.answers)

        def wanted() -> int:
            most = max((len(group) for _, group in groups), default=0)
            return self._most_of(len(queries.answers) + queries.silent) - most

        def is_known() -> bool:
            sort_in()
            return self._winner(groups, still_silent=queries.silent) is not None

        queries.run(wanted=wanted, is_over=is_known)
        sort_in()
        if len(groups) > 1:
            note(groups)
        if (winner := self._winner(groups)) is not None:
            return Believed(winner[0], tuple(each.name[:LONGEST_PROVIDER_NAME] for each in winner[1]))
        if len(groups) > 1:
            raise ChainUnavailable(f"The providers of {self.network} do not agree.")
        raise self._too_few(len(queries.answers))

    def _first(
        self, query: Callable[[Provider[AnyServer]], Answer], is_found: Callable[[Answer], bool] = lambda _: True
    ) -> Answer | None:
        """The first answer that is what is looked for; None where no provider gives one. ChainUnavailable when none
        answers.

        Providers are queried one after the other, the next as soon as one fails or is slow.
        """
        queries = Round(self._in_use(), query)
        queries.run(wanted=lambda: 1, is_over=lambda: any(is_found(answer) for _, answer in queries.answers))
        if not queries.answers:
            raise ChainUnavailable(f"No provider of {self.network} answers.")
        return next((answer for _, answer in queries.answers if is_found(answer)), None)

    def _all(
        self, query: Callable[[Provider[AnyServer]], Answer], *, for_head: bool = False
    ) -> Round[Provider[AnyServer], Answer]:
        """The answers of all, in order of preference, except slow ones that are not needed.

        Those that are left out count as `silent`: with every honest one of them the others could still be outvoted.
        """
        queries = Round(self._in_use(for_head=for_head), query)

        def lacking() -> int:
            return self._most_of(len(queries.answers) + queries.silent) - len(queries.answers)

        queries.run(
            wanted=lambda: max(queries.prompt, lacking()), is_over=lambda: queries.prompt == 0 and lacking() <= 0
        )
        queries.answers.sort(key=lambda each: self._providers.index(each[0]))
        return queries

    def _winner(
        self, groups: Groups[Answer, AnyServer], *, still_silent: int = 0
    ) -> tuple[Answer, list[Provider[AnyServer]]] | None:
        """The answer of enough providers that no other equals, even if `still_silent` more were to give that one."""
        first, second = [*sorted(groups, key=lambda group: len(group[1]), reverse=True), None, None][:2]
        if first is None or len(first[1]) < self.needed:
            return None
        return first if len(first[1]) > still_silent + (len(second[1]) if second else 0) else None

    def _most_of(self, count: int) -> int:
        """The number that must agree of so many that answer: as many as are needed, and more than half."""
        return max(self.needed, count // 2 + 1)

    def _too_few(self, answered: int) -> ChainUnavailable:
        aside = names(filter(self._is_aside, self._providers))
        return ChainUnavailable(
            f"Only {answered} of {self.needed} providers that must report the same of {self.network} answer. "
            f"{f'Put aside: {aside}. ' if aside else ''}Deposits and payouts wait; nothing is lost."
        )

    def _against(self, groups: Groups[Answer, AnyServer]) -> Iterator[Difference[Answer, AnyServer]]:
        """The differences to record against each provider that is not believed, or against all where none is."""
        winner = self._winner(groups)
        largest = winner or max(groups, key=lambda group: len(group[1]))
        for group in groups:
            if group is winner:
                continue
            theirs, others = largest if group is not largest else next(each for each in groups if each is not largest)
            for provider in group[1]:
                yield Difference(provider, group[0], theirs, names(others), winner is not None)

    def _note_disagreement(self, provider: Provider[AnyServer], message: str, *, invents: bool) -> None:
        """It stays noted for a while, so that whoever raises alarms comes by; what is about money before all else."""
        now = self._clock()
        if provider.invents and not invents and now < provider.disagrees_until:
            return
        provider.invents = invents
        provider.disagrees_until = now + (INVENTS_SECONDS if invents else DISAGREES_SECONDS)
        self._note(provider, "disagrees", message)

    def _contradict(self, provider: Provider[AnyServer], message: str) -> None:
        """Record a contradiction by others that count: put it aside when that goes on, while enough others are left.

        `message` names the question at which it differed.
        """
        now = self._clock()
        others = [each for each in self._providers if each is not provider and not self._is_down(each)]
        is_done_without = sum(not self._is_aside(each) for each in others) >= self.needed
        if provider.quarantine.contradict(now) and is_done_without and not self._is_aside(provider):
            hours = round(provider.quarantine.put_aside(now) / 3_600)
            text = (
                f"Not queried for {hours} h: others have contradicted it {CONTRADICTIONS} times. "
                f"The last time: {message}"
            )
            self._note(provider, "put_aside", text)

    def _is_aside(self, provider: Provider[AnyServer]) -> bool:
        return provider.quarantine.is_aside(self._clock())

    def _forget(self) -> None:
        """End what was noted for a time that is over."""
        now = self._clock()
        for provider in self._providers:
            if "disagrees" in provider.problems and now >= provider.disagrees_until:
                self._note(provider, "disagrees", None)
            if "put_aside" in provider.problems and not self._is_aside(provider):
                self._note(provider, "put_aside", None)

    # How each is doing

    def _in_use(self, *, for_head: bool = False) -> Sequence[Provider[AnyServer]]:
        """The providers to query: all that are up; where too few are, now and then one that is down; all when none is
        up.

        None that is put aside; one with only an old head is queried for its head alone while enough others are up.
        """
        self._keep_time()  # here and not in a thread of the round, where nobody would close the connection
        now = self._clock()
        usable = [provider for provider in self._providers if not self._is_aside(provider)]
        up = [provider for provider in usable if not self._is_down(provider)]
        due = [provider for provider in usable if now - provider.queried_at >= PROBE_SECONDS]
        fresh = [provider for provider in up if "old_head" not in provider.problems]
        if len(fresh) >= self.needed and not for_head:
            return fresh
        if len(up) >= self.needed:
            return up
        return [*up, *(provider for provider in (due if up else usable) if provider not in up)]

    def _probe(self, query: Callable[[Provider[AnyServer]], object]) -> None:
        """Query those that are slow or down to find whether they work again, apart from any call that waits for an
        answer."""
        now = self._clock()
        for provider in self._providers:
            is_left_out = provider.is_slow or self._is_down(provider)
            if is_left_out and not self._is_aside(provider) and now - provider.queried_at >= PROBE_SECONDS:
                provider.queried_at = now
                query_apart(provider, query)

    def _is_down(self, provider: Provider[AnyServer]) -> bool:
        return provider.failing_since is not None and self._clock() - provider.failing_since >= DOWN_AFTER_SECONDS

    def _answer_of(self, provider: Provider[AnyServer], query: Callable[[AnyServer], Answer]) -> Answer:
        """What one provider answers; how that went is kept in mind."""
        provider.queried_at = self._clock()
        try:
            answer = query(provider.server)
        except Behind:
            raise
        except ProviderFailed as error:
            provider.failing_since = provider.failing_since or self._clock()
            provider.is_elsewhere = isinstance(error, WrongChain)
            self._note(provider, "failing", str(error))
            if provider.is_elsewhere:
                self._contradict(provider, str(error))
            raise
        provider.failing_since, provider.is_elsewhere = None, False
        self._note(provider, "failing", None)
        return answer

    def _is_old(self, closed_at: datetime) -> bool:
        read, at = self._keep_time() if self._time is None else self._time
        return (read - closed_at).total_seconds() + time.monotonic() - at > self._old_after_seconds

    def _keep_time(self) -> tuple[datetime, float]:
        """Read the time once a minute, before providers are queried. In between, a monotonic clock counts on."""
        if self._time is None or time.monotonic() - self._time[1] >= TIME_SECONDS:
            self._time = self._read_time(), time.monotonic()
        return self._time

    def _note_age(self, provider: Provider[AnyServer], closed_at: datetime) -> bool:
        """Note whether its newest block, of this time, is old; the same is returned."""
        is_old = self._is_old(closed_at)
        self._note(provider, "old_head", f"newest block is of {closed_at:%H:%M:%S}" if is_old else None)
        return is_old

    def _note(self, provider: Provider[AnyServer], kind: str, message: str | None) -> None:
        """Report a fault once when it begins, and once when it has ended."""
        before = provider.problems.pop(kind, None)
        if message is not None:
            provider.problems[kind] = message
        if (before is None) != (message is None):
            log = logger.info if message is None else logger.error
            event = "provider is well again" if message is None else "provider has a problem"
            log(event, network=self.network, provider=provider.name, problem=kind, message=message or before)


def middle(numbers: Sequence[int], *, silent: int) -> int:
    """The middle of these, the lower one of two; lower still by those that were left out, whatever their answer."""
    return numbers[max((len(numbers) + silent - 1) // 2 - silent, 0)]


def names(providers: Iterable[Provider[AnyServer]]) -> str:
    return ", ".join(provider.name for provider in providers)


def _distinguish(servers: Iterable[Server]) -> None:
    """Number those whose addresses differ in the path alone, which no name may show: it often holds a key."""
    met = Counter[str]()
    for server in servers:
        met[server.name] += 1
        if (number := met[server.name]) > 1:
            server.name = f"{server.name} ({number})"
