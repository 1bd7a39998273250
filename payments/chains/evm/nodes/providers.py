"""The providers of one network: queries to them, and which answers are believed (payments.chains.providers.pool)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from payments.chains.errors import ChainUnavailable
from payments.chains.evm.nodes.disagreement import (
    alike,
    answer_told,
    contradicts,
    differing,
    is_about_money,
    log_told,
    told,
)
from payments.chains.evm.nodes.questions import UNREADABLE, Answer, Header, Log, Question, UnreadReceipt, header
from payments.chains.evm.nodes.rpc import Rpc, RpcError
from payments.chains.protocol.scans import Head
from payments.chains.providers import pool
from payments.chains.providers.pool import Believed, Groups, ProviderPool, middle, names
from payments.chains.providers.servers import ProviderFailed, ReplyTooLong

OLD_HEAD_BLOCKS = 20
"""A newest block older than so many blocks take is old; a provider with only an old one does not count for the head."""

Provider = pool.Provider[Rpc]


@dataclass(frozen=True, slots=True)
class Said:
    """What one provider answered."""

    provider: Provider
    answers: list[Any]


class Providers(ProviderPool[Rpc]):
    """All providers of one network, in order of preference. One object per process and network."""

    def __init__(
        self,
        rpcs: Sequence[Rpc],
        *,
        network: str,
        block_seconds: float,
        one_may_decide: bool = False,
        agreeing: int = pool.BELIEVED,
        clock: Callable[[], float] = time.monotonic,
        read_time: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(
            rpcs,
            network=network,
            old_after_seconds=OLD_HEAD_BLOCKS * block_seconds,
            one_may_decide=one_may_decide,
            agreeing=agreeing,
            clock=clock,
            read_time=read_time,
        )

    def require_enough(self) -> None:
        """Raise NotSetUp when there are fewer providers than must agree, so that nothing will ever be known."""
        self._require_enough(setting=f"{self.network.upper()}_RPC_URLS", single_setting="EVM_SINGLE_PROVIDER_NETWORKS")

    # Queries

    def ask(self, question: Question[Answer]) -> Answer:
        """The first usable answer. RpcError when it is an error."""
        answers = self._first(lambda provider: self._answers(provider, (question,)))
        assert answers is not None  # noqa: S101 - narrows the type: any answer will do
        if isinstance(answers[0], RpcError):
            raise answers[0]
        found: Answer = answers[0]
        return found

    def agree_on(self, question: Question[Answer]) -> Answer:
        (answer,) = self.agree(question)
        found: Answer = answer
        return found

    def agree(self, *questions: Question[Any]) -> list[Any]:
        """Answers that two providers give alike; RpcError when both refuse one of the questions.

        ChainUnavailable when too few answer, or no two agree: nothing is known then.
        """
        return self.believe(*questions).said

    def believe(self, *questions: Question[Any]) -> Believed[list[Any]]:
        """As `agree`, with the names of the providers that agreed."""
        believed = self._believed_answers(questions)
        if error := next((answer for answer in believed.said if isinstance(answer, RpcError)), None):
            raise error
        return believed

    def agree_each(self, *questions: Question[Any]) -> list[Any]:
        """As agree, with an RpcError in the place of each answer that two providers refuse."""
        return self._believed_answers(questions).said

    def gather(self, *questions: Question[Any]) -> list[Said]:
        """What each provider answers, of enough of them: for what one may have overlooked and another not.

        RpcError when one would answer a smaller question. ChainUnavailable when too few answer.
        """
        return self._gathered(questions)[0]

    def _gathered(self, questions: Sequence[Question[Any]]) -> tuple[list[Said], int]:
        """As gather, with how many were left out because they are slow."""

        def ask(provider: Provider) -> list[Any]:
            answers = self._answers(provider, questions)
            errors = [answer for answer in answers if isinstance(answer, RpcError)]
            if errors and not any(error.asks_for_less for error in errors):
                raise ProviderFailed(f"{provider.name} refuses: {errors[0]}")
            return answers

        asking = self._all(ask)
        said = [Said(*each) for each in asking.said]
        for error in (answer for each in said for answer in each.answers if isinstance(answer, RpcError)):
            if error.asks_for_less:
                raise error
        too_long = next((error for error in asking.failures if isinstance(error, ReplyTooLong)), None)
        if len(said) < self.needed and too_long is not None:
            raise RpcError(0, str(too_long))
        if len(said) < self.needed:
            raise self._too_few(len(said))
        return said, asking.silent

    def middle(self, question: Question[int]) -> int:
        """The median of a number about which honest providers differ; the lower one of two.

        So no single one drives it up. ChainUnavailable when too few give a number.
        """
        said, silent = self._numbers(question)
        return middle(said, silent=silent)

    def upper_middle(self, question: Question[int]) -> int:
        """As middle, the higher one of two: no single one drives it down. For limits of what costs nothing unused."""
        said, silent = self._numbers(question)
        return said[min((len(said) + silent) // 2, len(said) - 1)]

    def _numbers(self, question: Question[int]) -> tuple[list[int], int]:
        """The numbers given, sorted, and the count of providers left out, which `middle` takes into account."""
        said, silent = self._gathered((question,))
        return sorted(each.answers[0] for each in said), silent

    def head(self) -> Head:
        """The newest block that enough providers have, and the newest of them that enough call final."""
        tips, silent = self._tips()
        fresh = [tip for tip in tips if not self._is_old(tip[1].closed_at)] or tips
        most = self._most_of(len(fresh) + silent)
        if len(fresh) < most:
            raise self._too_few(len(fresh))
        place = most - 1
        height = sorted((latest.height for _, latest, _ in fresh), reverse=True)[place]
        finalized = sorted((final.height for _, _, final in fresh), reverse=True)[place]
        newest = self.agree_on(header(height))
        if newest is None:
            raise ChainUnavailable(f"The block {height} of {self.network} is not there any more.")
        return Head(height, newest.block_hash, newest.closed_at, min(finalized, height))

    def anyone(self, question: Question[Answer | None]) -> Answer | None:
        """Something that any provider knows of: nodes do not share what waits. None when nobody knows of it."""

        def is_found(answers: list[Any]) -> bool:
            return answers[0] is not None and not isinstance(answers[0], RpcError)

        answers = self._first(lambda provider: self._answers(provider, (question,)), is_found)
        found: Answer | None = answers[0] if answers else None
        return found

    def tell(self, question: Question[str]) -> list[str | RpcError]:
        """Submit something to every provider; returns the answers. ChainUnavailable when none answered."""
        said = self._all(lambda provider: self._answers(provider, (question,))).said
        if not said:
            raise ChainUnavailable(f"No provider of {self.network} answers.")
        return [answer for _, answers in said for answer in answers]

    # Believing

    def note_invention(self, tellers: Sequence[Provider], log: Log) -> None:
        """Record that these providers reported a movement of money of which enough others know nothing."""
        for provider in tellers:
            others = names(other for other in self._providers if other not in tellers)
            message = (
                f"Transaction {log.transaction_hash}: it says that {log_told(log)} moved; "
                f"the receipt of {others} does not say so"
            )
            self._note_disagreement(provider, message, invents=True)
            self._contradict(provider, message)

    def note_unreadable(self, tellers: Sequence[Provider], transaction_hash: str) -> None:
        """Record that only these providers reported a transaction in a form that cannot be read."""
        for provider in tellers:
            self._note(provider, "failing", f"{provider.name} tells of {transaction_hash} what cannot be read")

    def note_omission(self, silent: Sequence[Provider], log: Log) -> None:
        """They left out an event of a block that they know, and its receipt proves it."""
        for provider in silent:
            message = (
                f"eth_getLogs of block {log.height}: it leaves out that {log_told(log)} moved in transaction "
                f"{log.transaction_hash}, which the receipt proves"
            )
            self._note_disagreement(provider, message, invents=False)
            self._contradict(provider, message)

    def _believed_answers(self, questions: Sequence[Question[Any]]) -> Believed[list[Any]]:
        """The answers that enough providers give alike."""

        def note(groups: Groups[list[Any], Rpc]) -> None:
            for each in self._against(groups):
                provider = each.provider
                question, mine, theirs = differing(questions, each.mine, each.theirs)
                if isinstance(mine, UnreadReceipt):
                    self.note_unreadable([provider], mine.transaction_hash)
                    continue
                message = f"{told(question)}: it says {answer_told(mine)}; {each.others} says {answer_told(theirs)}"
                self._note_disagreement(provider, message, invents=is_about_money(mine, theirs))
                if each.is_outvoted and contradicts(
                    mine, theirs, newest_height=provider.newest_height, final_height=provider.final_height
                ):
                    self._contradict(provider, message)

        return self._believed(
            lambda provider: self._answers(provider, questions),
            lambda mine, theirs: all(map(alike, mine, theirs)),
            note,
        )

    def _answers(self, provider: Provider, questions: Sequence[Question[Any]]) -> list[Any]:
        """Answers of one provider, each in our types or an RpcError that answers the question."""

        def ask(rpc: Rpc) -> list[Any]:
            said = rpc.batch(*(question.call for question in questions))
            answers = [
                answer if isinstance(answer, RpcError) else _read(rpc, question, answer)
                for question, answer in zip(questions, said, strict=True)
            ]
            if missing := next((each for each in answers if isinstance(each, RpcError) and each.misses_block), None):
                raise ProviderFailed(f"{rpc.name} lacks a block: {missing}")
            return answers

        return self._asked(provider, ask)

    def _tips(self) -> tuple[list[tuple[Provider, Header, Header]], int]:
        """The newest and the newest final block of each provider that answers, and how many are left out."""
        asking = self._all(self._tip, for_head=True)
        self._probe(self._tip)
        return [(provider, *tip) for provider, tip in asking.said], asking.silent

    def _tip(self, provider: Provider) -> tuple[Header, Header]:
        latest, final = self._answers(provider, (header("latest"), header("finalized")))
        if not isinstance(latest, Header) or not isinstance(final, Header):
            raise ProviderFailed(f"{provider.name} does not name its newest and its newest final block")
        if latest.made_at is None:
            raise ProviderFailed(f"{provider.name} names no time of block {latest.height}: {latest.problem}")
        provider.newest_height, provider.final_height = latest.height, final.height
        self._note_age(provider, latest.closed_at)
        return latest, final


def _read(rpc: Rpc, question: Question[Answer], answer: Any) -> Answer:
    try:
        return question.read(answer)
    except UNREADABLE as error:
        raise ProviderFailed(f"{rpc.name} answered {question.call.method} with something else: {error}") from error
