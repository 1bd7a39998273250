"""The Horizons of the stellar network: queries to them, and which answers are believed (providers.pool).

A question is a function of one Horizon. Each Horizon has read the ledgers between its oldest and its newest, and an
absence that it reports proves something for these alone.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from payments.chains.errors import ChainUnavailable
from payments.chains.protocol.scans import Head
from payments.chains.providers import pool
from payments.chains.providers.pool import Believed, Groups, ProviderPool, middle
from payments.chains.providers.servers import Behind, ProviderFailed, WrongChain
from payments.chains.stellar.horizon import records
from payments.chains.stellar.horizon.client import Horizon, NotKnown
from payments.chains.stellar.horizon.operations import Payment
from payments.chains.stellar.horizon.records import LedgerRecord, RootRecord, TransactionRecord

Answer = TypeVar("Answer")
Question = Callable[[Horizon], Answer]

LAG_SECONDS = 60.0
"""A newest ledger older than that is old; a Horizon with only an old one does not count for the head."""

ROOT_SECONDS = 60.0
"""For how long it is believed which network a Horizon is on, and which ledgers it has."""

FIRST_LEDGER = 2
"""The first ledger that a Horizon reads. The one before it has no transactions."""

_LONGEST_ANSWER = 300

Provider = pool.Provider[Horizon]


class LacksHistory(ChainUnavailable):
    """Too few Horizons have the ledgers that a question is about: they keep only so many."""


@dataclass(frozen=True, slots=True)
class _Known:
    root: RootRecord
    queried_at: float


class Horizons(ProviderPool[Horizon]):
    """All Horizons of a network, in order of preference. One object per process and network."""

    def __init__(
        self,
        horizons: Sequence[Horizon],
        *,
        network: str,
        passphrase: str,
        one_may_decide: bool = False,
        agreeing: int = pool.BELIEVED,
        clock: Callable[[], float] = time.monotonic,
        read_time: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(
            horizons,
            network=network,
            old_after_seconds=LAG_SECONDS,
            one_may_decide=one_may_decide,
            agreeing=agreeing,
            clock=clock,
            read_time=read_time,
        )
        self._passphrase = passphrase
        for each in horizons:
            each.network_id = hashlib.sha256(passphrase.encode()).digest()
        self._roots: dict[str, _Known] = {}
        self._head: tuple[Head, float] | None = None

    def require_enough(self) -> None:
        """Raise NotSetUp when there are fewer providers than must agree, so that nothing will ever be known."""
        prefix = self.network.upper()
        self._require_enough(setting=f"{prefix}_HORIZON_URLS", single_setting=f"{prefix}_SINGLE_PROVIDER")

    # Queries

    def any(self, question: Question[Answer]) -> Answer:
        """The first usable answer: for what only helps."""
        found = self._first(lambda provider: (self._answer(provider, question),))
        assert found is not None  # noqa: S101 - narrows the type: any answer will do
        return found[0]

    def anyone(self, question: Question[Answer | None]) -> Answer | None:
        """Something that any Horizon knows of; None when nobody does."""
        return self._first(lambda provider: self._answer(provider, question), lambda found: found is not None)

    def submit(self, question: Question[Answer]) -> list[Answer]:
        """What all Horizons answer that do; ChainUnavailable when none does."""
        answers = self._all(lambda provider: self._answer(provider, question)).answers
        if not answers:
            raise ChainUnavailable(f"No provider of {self.network} answers.")
        return [answer for _, answer in answers]

    def middle(self, question: Question[int]) -> int:
        """The median of a number about which honest Horizons differ; the lower one of two.

        ChainUnavailable when too few give one.
        """
        queries = self._all(lambda provider: self._answer(provider, question))
        answers = sorted(number for _, number in queries.answers)
        if len(answers) < self.needed:
            raise self._too_few(len(answers))
        return middle(answers, silent=queries.silent)

    def agree(
        self,
        question: Question[Answer],
        *,
        subject: str = "",
        first_height: int = 0,
        up_to: int = 0,
        may_differ: Callable[[], bool] = lambda: False,
    ) -> Answer:
        """What as many Horizons answer alike as must; see believe."""
        return self.believe(
            question, subject=subject, first_height=first_height, up_to=up_to, may_differ=may_differ
        ).answer

    def believe(
        self,
        question: Question[Answer],
        *,
        subject: str = "",
        first_height: int = 0,
        up_to: int = 0,
        may_differ: Callable[[], bool] = lambda: False,
    ) -> Believed[Answer]:
        """As `agree`, with the names of the Horizons that agreed. `subject` names the question for the alarm where they
        differ.

        `may_differ`, called after them, returns whether a difference is no provider's fault, so that no alarm reports
        it. Only those are queried that have the ledgers from `first_height` to `up_to`. LacksHistory when too few go
        back so far, ChainUnavailable when too few answer, or no two agree: nothing is known then.
        """
        lacking = list[Provider]()

        def query(provider: Provider) -> Answer:
            root = self._root(provider, up_to=up_to)
            if root.latest_ledger < up_to:
                raise Behind(f"{provider.name} has not read ledger {up_to} yet")
            if first_height and root.elder_ledger > max(first_height, FIRST_LEDGER):
                lacking.append(provider)
                raise Behind(f"{provider.name} has no ledger before {root.elder_ledger}")
            with provider.server.needing(up_to):
                return self._answer(provider, question)

        def note(groups: Groups[Answer, Horizon]) -> None:
            if may_differ():
                return
            for each in self._against(groups):
                mine, theirs = _differing(each.mine, each.theirs)
                message = f"{subject or 'A question'}: it reports {mine}; {each.others} reports {theirs}"
                is_about_money = _is_about_money(each.mine, each.theirs)
                self._note_disagreement(each.provider, message, invents=is_about_money)
                if each.is_outvoted and is_about_money:
                    self._contradict(each.provider, message)

        try:
            return self._believed(query, lambda mine, theirs: mine == theirs, note)
        except ChainUnavailable as error:
            if first_height and lacking and len(self._providers) - len(lacking) < self.needed:
                oldest = "; ".join(f"{each.name} from {self._roots[each.name].root.elder_ledger}" for each in lacking)
                raise LacksHistory(
                    f"The history of {self.network} from ledger {first_height} on is needed, and these servers have "
                    f"less: {oldest}."
                ) from error
            raise

    def head(self, *, within_seconds: float = 0.0) -> Head:
        """The newest ledger that enough Horizons have read, now or so many seconds ago. A closed ledger is final.

        With seconds, a ledger that is still the newest is not queried again.
        """
        if self._head is not None and self._clock() - self._head[1] < within_seconds:
            return self._head[0]
        queries = self._all(self._query_root, for_head=True)
        self._probe(self._query_root)
        roots = [root for _, root in queries.answers]
        fresh = [root for root in roots if not self._is_old(root.latest_closed_at)] or roots
        most = self._most_of(len(fresh) + queries.silent)
        if len(fresh) < most:
            raise self._too_few(len(fresh))
        height = sorted((root.latest_ledger for root in fresh), reverse=True)[most - 1]
        if within_seconds and self._head is not None and self._head[0].height == height:
            self._head = self._head[0], self._clock()
            return self._head[0]
        newest = self.ledger(height)
        head = Head(height, newest.hash, newest.closed_at, finalized_height=height)
        self._head = head, self._clock()
        return head

    def ledger(self, height: int) -> LedgerRecord:
        """The ledger with this number; LacksHistory when it is older than what enough Horizons keep."""

        def query(horizon: Horizon) -> LedgerRecord:
            found = horizon.query(records.ledger, f"/ledgers/{height}")
            if found.sequence != height:
                raise ProviderFailed(f"{horizon.name} answered for ledger {height} with another one")
            return found

        return self.agree(query, subject=f"Ledger {height}", first_height=height, up_to=height)

    # How each is doing

    def _root(self, provider: Provider, *, up_to: int = 0) -> RootRecord:
        """The ledgers that a Horizon has read, at least as of its last query; queried again where that is too
        little."""
        known = self._roots.get(provider.name)
        if known is None or known.root.latest_ledger < up_to or self._clock() - known.queried_at >= ROOT_SECONDS:
            return self._query_root(provider)
        return known.root

    def _query_root(self, provider: Provider) -> RootRecord:
        root = self._answer_of(provider, self._read_root)
        self._roots[provider.name] = _Known(root, self._clock())
        self._note_age(provider, root.latest_closed_at)
        return root

    def _read_root(self, horizon: Horizon) -> RootRecord:
        root = horizon.query(records.root, "/")
        if root.passphrase != self._passphrase:
            reported, meant = repr(root.passphrase[:100]), repr(self._passphrase)
            raise WrongChain(f"{horizon.name} speaks for the network {reported}, not for {meant}")
        return root

    def _answer(self, provider: Provider, question: Question[Answer]) -> Answer:
        """What one Horizon answers; ProviderFailed where it does not."""
        self._root(provider)
        try:
            return self._answer_of(provider, question)
        except NotKnown as error:  # about something that every Horizon should have
            raise Behind(str(error)) from error


def _differing(mine: Any, theirs: Any) -> tuple[str, str]:
    """What two answers differ in, as a person can compare it: of lists the first that the other has not."""
    if isinstance(mine, tuple) and isinstance(theirs, tuple):
        mine, theirs = (
            next((each for each in some if each not in others), None)
            for some, others in ((mine, theirs), (theirs, mine))
        )
    elif is_dataclass(mine) and type(mine) is type(theirs) and not isinstance(mine, Payment):
        values = ((getattr(mine, each.name), getattr(theirs, each.name)) for each in fields(mine))
        return _differing(*next((one, other) for one, other in values if one != other))
    return _answer_text(mine), _answer_text(theirs)


def _answer_text(answer: Any) -> str:
    text = "nothing" if answer is None else str(answer)
    return text if len(text) <= _LONGEST_ANSWER else f"{text[:_LONGEST_ANSWER]}…"


def _is_about_money(*answers: Any) -> bool:
    """Whether one of them reports a transaction, or payments, that another does not report alike."""
    return any(isinstance(each, TransactionRecord | tuple) or hasattr(each, "payments") for each in answers)
