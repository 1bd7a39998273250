"""JSON-RPC with one provider. It sends each query once, within a time limit, and accepts only whole replies.

A reply is read as if somebody hostile wrote it: whatever it holds, ProviderFailed is the worst that comes of it.
Trying again, and trying another provider, is above this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from payments.chains.errors import ChainUnavailable
from payments.chains.providers.servers import (
    CALL_SECONDS,
    ProviderFailed,
    ReplyTooLong,
    Server,
    WrongChain,
    printable,
    shown,
)

LARGEST_REPLY_BYTES = 64 * 2**20
LONGEST_DATA = 10_000
"""What is kept of the data of an error."""

_TOO_MUCH = (
    "too many",
    "too large",
    "too big",
    "more than",
    "limit exceeded",
    "exceeds",
    "block range",
    "response size",
    "timed out",
    "timeout",
)
_NOT_NOW = ("rate limit", "too many requests", "capacity", "try again", "overloaded", "quota", "throttl")
_KNOWN_ALREADY = ("already known", "already imported", "already exists", "alreadyknown", "known transaction")
_NO_SUCH_BLOCK = (
    "unknown block",
    "header not found",
    "block not found",
    "missing trie node",
    "pruned",
    "not available",
    "blockoutofrange",
)


class RpcError(ChainUnavailable):
    """A provider's answer is an error. The texts differ by client, so what they mean is a guess by its words."""

    def __init__(self, code: int, message: str, data: str = "") -> None:
        self.code = code
        self.message = printable(message)
        self.data = data[:LONGEST_DATA]
        super().__init__(f"{self.message} ({code})")

    def mentions(self, *words: str) -> bool:
        return any(word in self.message.lower() for word in words)

    @property
    def is_too_large(self) -> bool:
        """Whether a smaller question may be answered."""
        return self.mentions(*_TOO_MUCH) and not self.mentions(*_NOT_NOW)

    @property
    def is_passing(self) -> bool:
        """Whether this error depends on the provider's state, and not on the question. What a contract does is its
        author's: who wrote it could have every provider taken for one that fails."""
        if self.takes_all_gas:
            return False
        return self.code in (-32603, 429) or (not self.is_reverted and self.mentions(*_NOT_NOW, "internal error"))

    @property
    def misses_block(self) -> bool:
        """Whether the provider does not know the block, or no longer knows the state after it."""
        return not self.is_reverted and self.mentions(*_NO_SUCH_BLOCK)

    @property
    def is_reverted(self) -> bool:
        """Whether the contract refused, so that sending the same would fail as well."""
        return self.code in (3, -32015) or self.mentions("revert")

    @property
    def takes_all_gas(self) -> bool:
        """Whether the contract was not done with the gas that it had."""
        return self.mentions("out of gas", "outofgas")

    @property
    def knows_already(self) -> bool:
        """Whether these very bytes had arrived before."""
        return self.mentions(*_KNOWN_ALREADY)


@dataclass(frozen=True, slots=True)
class Call:
    """One question: a method and its parameters."""

    method: str
    params: tuple[Any, ...] = ()


class Rpc(Server):
    """One provider of one network."""

    def __init__(
        self,
        url: str,
        *,
        chain_id: int,
        call_seconds: float = CALL_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(
            url, headers={"Content-Type": "application/json"}, call_seconds=call_seconds, transport=transport
        )
        self._chain_id = chain_id

    def call(self, method: str, *params: Any) -> Any:
        """The result; RpcError when the answer is one, ProviderFailed when there is no usable answer."""
        (answer,) = self.batch(Call(method, params))
        if isinstance(answer, RpcError):
            raise answer
        return answer

    def batch(self, *calls: Call) -> list[Any]:
        """Answers in the order of the questions, each a result or an RpcError. All of them, or ProviderFailed.

        Every batch queries the chain id first: behind one address stand many nodes, and any of them may be wrong.
        """
        questions = [Call("eth_chainId"), *calls]
        body = orjson.dumps(
            [
                {"jsonrpc": "2.0", "id": number, "method": call.method, "params": call.params}
                for number, call in enumerate(questions)
            ]
        )
        try:
            chain_id, *answers = self._answers(self._post(body), len(questions))
        except ReplyTooLong:
            if len(calls) < 2:
                raise
            half = len(calls) // 2
            return [*self.batch(*calls[:half]), *self.batch(*calls[half:])]
        if isinstance(chain_id, RpcError):
            raise ProviderFailed(f"{self.name} does not report its chain: {chain_id}")
        if chain_id != hex(self._chain_id):
            reported = shown(chain_id)
            raise WrongChain(f"{self.name} speaks for chain {reported}, not for {hex(self._chain_id)}")
        if passing := next((answer for answer in answers if isinstance(answer, RpcError) and answer.is_passing), None):
            raise ProviderFailed(f"{self.name} cannot answer now: {passing}")
        return answers

    def _post(self, body: bytes) -> Any:
        status, content, _ = self._exchange("POST", self._url, body, most_bytes=LARGEST_REPLY_BYTES)
        if status != httpx.codes.OK:
            raise ProviderFailed(f"{self.name} answered with status {status}")
        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError as error:
            raise ProviderFailed(f"{self.name} sent no whole JSON") from error

    def _answers(self, reply: Any, count: int) -> list[Any]:
        if isinstance(reply, dict) and isinstance(reply.get("error"), dict):
            raise ProviderFailed(f"{self.name} refused: {_error(reply['error'])}")
        if not isinstance(reply, list):
            raise ProviderFailed(f"{self.name} answered a batch with something else")
        by_number: dict[int, dict[str, Any]] = {}
        for item in reply:
            # true and 1.0 are equal to 1 in Python, and a list cannot be looked up at all.
            number = item.get("id") if isinstance(item, dict) else None
            if type(number) is not int:
                continue
            if number in by_number:
                raise ProviderFailed(f"{self.name} answered one question twice")
            by_number[number] = item
        return [self._answer(by_number.get(number)) for number in range(count)]

    def _answer(self, item: dict[str, Any] | None) -> Any:
        if item is not None and isinstance(item.get("error"), dict):
            return _error(item["error"])
        if item is None or "result" not in item:
            raise ProviderFailed(f"{self.name} left a question without an answer")
        return item["result"]


def _error(reported: dict[str, Any]) -> RpcError:
    code, message, data = reported.get("code"), reported.get("message", ""), reported.get("data")
    return RpcError(
        code if type(code) is int else 0,
        message if isinstance(message, str) else shown(message),
        data if isinstance(data, str) else "",
    )
