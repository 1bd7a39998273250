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
    contradicts,
    describe_answer,
    describe_log,
    describe_question,
    differing,
    is_about_money,
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
class Report:
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

    def query(self, question: Question[Answer]) -> Answer:
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
        return self.believe(*questions).answer

    def believe(self, *questions: Question[Any]) -> Believed[list[Any]]:
        """As `agree`, with the names of the providers that agreed."""
        believed = self._believed_answers(questions)
        if error := next((answer for answer in believed.answer if isinstance(answer, RpcError)), None):
            raise error
        return believed

    def agree_each(self, *questions: Question[Any]) -> list[Any]:
        """As agree, with an RpcError in the place of each answer that two providers refuse."""
        return self._believed_answers(questions).answer

    def gather(self, *questions: Question[Any]) -> list[Report]:
        """What each provider answers, of enough of them: for what one may have overlooked and another not.

        RpcError when one would answer a smaller question. ChainUnavailable when too few answer.
        """
        return self._gathered(questions)[0]

    def _gathered(self, questions: Sequence[Question[Any]]) -> tuple[list[Report], int]:
        """As gather, with how many were left out because they are slow."""

        def query(provider: Provider) -> list[Any]:
            answers = self._answers(provider, questions)
            errors = [answer for answer in answers if isinstance(answer, RpcError)]
            if errors and not any(error.is_too_large for error in errors):
                raise ProviderFailed(f"{provider.name} refuses: {errors[0]}")
            return answers

        queries = self._all(query)
        reports = [Report(*each) for each in queries.answers]
        for error in (answer for each in reports for answer in each.answers if isinstance(answer, RpcError)):
            if error.is_too_large:
                raise error
        too_long = next((error for error in queries.failures if isinstance(error, ReplyTooLong)), None)
        if len(reports) < self.needed and too_long is not None:
            raise RpcError(0, str(too_long))
        if len(reports) < self.needed:
            raise self._too_few(len(reports))
        return reports, queries.silent

    def middle(self, question: Question[int]) -> int:
        """The median of a number about which honest providers differ; the lower one of two.

        So no single one drives it up. ChainUnavailable when too few give a number.
        """
        numbers, silent = self._numbers(question)
        return middle(numbers, silent=silent)

    def upper_middle(self, question: Question[int]) -> int:
        """As middle, the higher one of two: no single one drives it down. For limits of what costs nothing unused."""
        numbers, silent = self._numbers(question)
        return numbers[min((len(numbers) + silent) // 2, len(numbers) - 1)]

    def _numbers(self, question: Question[int]) -> tuple[list[int], int]:
        """The numbers given, sorted, and the count of providers left out, which `middle` takes into account."""
        reports, silent = self._gathered((question,))
        return sorted(each.answers[0] for each in reports), silent

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

    def submit(self, question: Question[str]) -> list[str | RpcError]:
        """Submit something to every provider; returns the answers. ChainUnavailable when none answered."""
        reports = self._all(lambda provider: self._answers(provider, (question,))).answers
        if not reports:
            raise ChainUnavailable(f"No provider of {self.network} answers.")
        return [answer for _, answers in reports for answer in answers]

    # Believing

    def note_invention(self, reporters: Sequence[Provider], log: Log) -> None:
        """Record that these providers reported a movement of money of which enough others know nothing."""
        for provider in reporters:
            others = names(other for other in self._providers if other not in reporters)
            message = (
                f"Transaction {log.transaction_hash}: it reports that {describe_log(log)} moved; "
                f"the receipt of {others} does not show it"
            )
            self._note_disagreement(provider, message, invents=True)
            self._contradict(provider, message)

    def note_unreadable(self, reporters: Sequence[Provider], transaction_hash: str) -> None:
        """Record that only these providers reported a transaction in a form that cannot be read."""
        for provider in reporters:
            self._note(provider, "failing", f"{provider.name} reports of {transaction_hash} what cannot be read")

    def note_omission(self, silent: Sequence[Provider], log: Log) -> None:
        """They left out an event of a block that they know, and its receipt proves it."""
        for provider in silent:
            message = (
                f"eth_getLogs of block {log.height}: it leaves out that {describe_log(log)} moved in transaction "
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
                message = (
                    f"{describe_question(question)}: it reports {describe_answer(mine)}; "
                    f"{each.others} reports {describe_answer(theirs)}"
                )
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

        def query(rpc: Rpc) -> list[Any]:
            responses = rpc.batch(*(question.call for question in questions))
            answers = [
                answer if isinstance(answer, RpcError) else _read(rpc, question, answer)
                for question, answer in zip(questions, responses, strict=True)
            ]
            if missing := next((each for each in answers if isinstance(each, RpcError) and each.misses_block), None):
                raise ProviderFailed(f"{rpc.name} lacks a block: {missing}")
            return answers

        return self._answer_of(provider, query)

    def _tips(self) -> tuple[list[tuple[Provider, Header, Header]], int]:
        """The newest and the newest final block of each provider that answers, and how many are left out."""
        queries = self._all(self._tip, for_head=True)
        self._probe(self._tip)
        return [(provider, *tip) for provider, tip in queries.answers], queries.silent

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
