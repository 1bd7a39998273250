"""Queries to a node, and its answers in types of ours. Two honest nodes give equal answers to each.

Whatever a provider adds, spells otherwise or leaves out is settled here: an answer that cannot be read is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

import orjson

from payments.chains.errors import ChainUnavailable
from payments.chains.evm import abi, addresses
from payments.chains.evm.nodes import values
from payments.chains.evm.nodes.rpc import Call
from payments.chains.protocol.transfers import UnreadRecord
from payments.chains.providers.servers import printable

Answer = TypeVar("Answer")

TRANSFER = abi.topic("Transfer(address,address,uint256)")

UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading an answer raises that is none."""

_LONGEST_CONTENT = 200_000

_NOTHING = "0x" + "00" * abi.WORD

QUESTIONS_PER_BATCH = 50


@dataclass(frozen=True, slots=True)
class Question(Generic[Answer]):
    """`read` raises LookupError, TypeError or ValueError for what is no answer to this."""

    call: Call
    read: Callable[[Any], Answer]


@dataclass(frozen=True, slots=True)
class Header:
    """A block. `made_at` is None where only its height and hash can be read: `problem` is the reason, found in
    `content`."""

    height: int
    block_hash: str
    made_at: datetime | None
    base_fee: int = 0
    problem: str = field(default="", compare=False)
    content: str = field(default="", compare=False)

    @property
    def closed_at(self) -> datetime:
        """The time of the block; ChainUnavailable where it is unknown."""
        if self.made_at is None:
            raise ChainUnavailable(f"The block {self.height} cannot be read: {self.problem}")
        return self.made_at

    def unread(self, transaction_hash: str) -> UnreadRecord | None:
        """A transaction of the block, where the block cannot be read."""
        if self.made_at is not None:
            return None
        return UnreadRecord(transaction_hash, self.height, f"its block: {self.problem}", self.content)


@dataclass(frozen=True, slots=True)
class Log:
    """One event, as a block records it. Without a contract it could not be read: its receipt decides what it is."""

    contract: str
    topics: tuple[str, ...]
    data: bytes
    height: int
    block_hash: str
    transaction_hash: str
    index: int

    @property
    def is_token_transfer(self) -> bool:
        """Whether it has the form of ERC-20; tokens that are no money have a fourth topic instead of data."""
        return len(self.topics) == 3 and self.topics[0] == TRANSFER and len(self.data) == abi.WORD

    @property
    def sender(self) -> str:
        return _topic_address(self.topics[1])

    @property
    def recipient(self) -> str:
        return _topic_address(self.topics[2])

    @property
    def amount(self) -> int:
        return abi.uint(self.data)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an on-chain transaction in a block."""

    transaction_hash: str
    height: int
    block_hash: str
    succeeded: bool
    fee_units: int
    contract: str | None
    logs: tuple[Log, ...]
    said_by: tuple[str, ...] = field(default=(), compare=False)
    """The providers that were believed about it, once enough have agreed."""


@dataclass(frozen=True, slots=True)
class UnreadReceipt:
    """A receipt that names its transaction and block, and cannot be read beyond that."""

    record: UnreadRecord
    block_hash: str

    @property
    def transaction_hash(self) -> str:
        return self.record.transaction_hash

    @property
    def height(self) -> int:
        return self.record.height


@dataclass(frozen=True, slots=True)
class SentTransaction:
    """An on-chain transaction a node knows of. `height` is None while it waits, `recipient` if it makes a contract."""

    transaction_hash: str
    sender: str
    nonce: int
    height: int | None
    recipient: str | None
    units: int


def header(block: int | str) -> Question[Header | None]:
    """The block at a height, or under a name of the node's: latest, finalized."""

    def read(found: Any) -> Header:
        known = _header(found)
        if isinstance(block, int) and known.height != block:
            raise ValueError("another block")
        return known

    return Question(Call("eth_getBlockByNumber", (_block(block), False)), _optional(read))


def transactions(height: int, sender: str) -> Question[tuple[SentTransaction, ...] | None]:
    """Every transaction of an account in a block. Those of others may be of a kind that nobody here can read."""

    def read(found: Any) -> tuple[SentTransaction, ...]:
        theirs = [each for each in values.listed(found["transactions"]) if _is_of(sender, each)]
        return tuple(map(_sent, theirs))

    return Question(Call("eth_getBlockByNumber", (_block(height), True)), _optional(read))


def logs(
    first: int, last: int, topics: Sequence[str | list[str] | None], contracts: Sequence[str] = ()
) -> Question[tuple[Log, ...]]:
    """Events in these blocks, in their order; of every contract when none is named."""
    wanted: dict[str, Any] = {"fromBlock": hex(first), "toBlock": hex(last), "topics": list(topics)}
    if contracts:
        wanted["address"] = list(contracts)

    return Question(
        Call("eth_getLogs", (wanted,)),
        lambda found: _within(first, last, [_log_or_place(each) for each in values.listed(found)]),
    )


def arrivals(
    first: int,
    last: int,
    *,
    recipients: Sequence[str] = (),
    contracts: Sequence[str] = (),
    watched: Callable[[set[str]], Collection[str]],
) -> Question[tuple[Log, ...]]:
    """Transfers of something in these blocks to those recipients whom `watched` knows, by the digits of their address.

    A node looks for `recipients` or `contracts` only, where any are named. Nothing else of an event is read before its
    recipient is known to be watched: on a busy network that is one in thousands. What cannot be read is returned too.
    """
    wanted: dict[str, Any] = {"fromBlock": hex(first), "toBlock": hex(last), "topics": [TRANSFER]}
    if recipients:
        wanted["topics"] = [TRANSFER, None, [abi.address_topic(recipient) for recipient in recipients]]
    if contracts:
        wanted["address"] = list(contracts)

    def read(found: Any) -> tuple[Log, ...]:
        to = [_recipient(each) for each in values.listed(found)]
        known = watched({recipient for recipient in to if recipient})
        known_or_unread = {*known, None}
        read_logs = [_log_or_place(each) for each, digits in zip(found, to, strict=True) if digits in known_or_unread]
        return _within(first, last, [log for log in read_logs if not log.contract or _moves(log)])

    return Question(Call("eth_getLogs", (wanted,)), read)


def receipt(transaction_hash: str, *, up_to: int) -> Question[Receipt | None]:
    """None while it is in no block, or in one above `up_to`: some nodes are ahead of others."""

    def read(found: Any) -> Receipt | None:
        if found is None or (known := _receipt(found)).height > up_to:
            return None
        if known.transaction_hash != transaction_hash:
            raise ValueError("the receipt of another transaction")
        return known

    return Question(Call("eth_getTransactionReceipt", (transaction_hash,)), read)


def receipt_or_place(transaction_hash: str, *, up_to: int) -> Question[Receipt | UnreadReceipt | None]:
    """As receipt, with the place in the chain of one that cannot be read."""
    question = receipt(transaction_hash, up_to=up_to)

    def read(found: Any) -> Receipt | UnreadReceipt | None:
        try:
            return question.read(found)
        except UNREADABLE as error:
            known, height, block_hash = _place(found)
            if known != transaction_hash:
                raise
            record = UnreadRecord(known, height, _error_text(error), _content(found))
            return None if height > up_to else UnreadReceipt(record, block_hash)

    return Question(question.call, read)


def sent(transaction_hash: str) -> Question[SentTransaction | None]:
    def read(found: Any) -> SentTransaction:
        known = _sent(found)
        if known.transaction_hash != transaction_hash:
            raise ValueError("another transaction")
        return known

    return Question(Call("eth_getTransactionByHash", (transaction_hash,)), _optional(read))


def nonce(account: str, height: int) -> Question[int]:
    return Question(Call("eth_getTransactionCount", (account, hex(height))), values.counted)


def native_balance(account: str, height: int) -> Question[int]:
    return Question(Call("eth_getBalance", (account, hex(height))), values.number)


def result(
    contract: str, data: bytes, block: int | str = "latest", *, sender: str | None = None, gas: int | None = None
) -> Question[bytes]:
    """What a call would return; RpcError where it would revert, or takes more than `gas`."""
    wanted = {"to": contract, "data": "0x" + data.hex()} | ({} if sender is None else {"from": sender})
    wanted |= {} if gas is None else {"gas": hex(gas)}
    return Question(Call("eth_call", (wanted, _block(block))), values.data)


def token_balance(contract: str, account: str, height: int) -> Question[int]:
    question = result(contract, abi.call("balanceOf(address)", account), height)
    return Question(question.call, lambda found: abi.uint(values.data(found)))


def account(contract: str, function: str, *arguments: abi.Argument) -> Question[str]:
    """The address that a function of a contract returns."""
    question = result(contract, abi.call(function, *arguments))
    return Question(question.call, lambda found: abi.address(values.data(found)))


def code(account: str, block: int | str = "latest") -> Question[bytes]:
    return Question(Call("eth_getCode", (account, _block(block))), values.data)


def gas(sender: str, to: str, data: bytes) -> Question[int]:
    """What it would take after the newest block, whatever waits; RpcError where it would fail."""
    wanted = {"from": sender, "to": to, "data": "0x" + data.hex()}
    return Question(Call("eth_estimateGas", (wanted, "latest")), values.counted)


def broadcast(raw: bytes) -> Question[str]:
    """The hash these signed bytes go by."""
    return Question(Call("eth_sendRawTransaction", ("0x" + raw.hex(),)), values.digest)


def usual_tip() -> Question[int]:
    return Question(Call("eth_maxPriorityFeePerGas"), values.number)


def paid_tip(height: int, blocks: int) -> Question[int]:
    """What was paid above the base fee for a unit of gas in the blocks up to a height: the middle of what was usual in
    each, 0 where all were empty."""

    def read(found: Any) -> int:
        rewards = [values.number(each[0]) for each in values.listed(found["reward"])]
        if len(rewards) > blocks:
            raise ValueError("tips of more blocks than were requested")
        paid = sorted(each for each in rewards if each)
        return paid[len(paid) // 2] if paid else 0

    return Question(Call("eth_feeHistory", (hex(blocks), hex(height), [50])), read)


def _block(block: int | str) -> str:
    return block if isinstance(block, str) else hex(block)


def _optional(read: Callable[[Any], Answer]) -> Callable[[Any], Answer | None]:
    return lambda found: None if found is None else read(found)


def _header(found: Any) -> Header:
    height, block_hash = values.counted(found["number"]), values.digest(found["hash"])
    try:
        base_fee = values.number(found.get("baseFeePerGas") or "0x0")
        return Header(height, block_hash, values.instant(found["timestamp"]), base_fee)
    except UNREADABLE as error:
        return Header(height, block_hash, None, problem=_error_text(error), content=_content(found))


def _within(first: int, last: int, found: list[Log]) -> tuple[Log, ...]:
    """The events in their order; ValueError when one is of a block outside the query."""
    if any(not first <= log.height <= last for log in found):
        raise ValueError("an event of a block that was not requested")
    return tuple(sorted(found, key=lambda log: (log.height, log.index)))


def _recipient(found: Any) -> str | None:
    """The digits of the recipient that an event names; empty when it names none, None when it cannot be read."""
    try:
        topics = values.listed(found["topics"])
        if len(topics) != 3 or found["data"] == _NOTHING:
            return ""
        return values.digest(topics[2])[-2 * addresses.ADDRESS_BYTES :]
    except UNREADABLE:
        return None


def _moves(log: Log) -> bool:
    return log.is_token_transfer and log.amount > 0


def _log_or_place(found: Any) -> Log:
    """An event, or only where it happened when the rest cannot be read."""
    try:
        return _log(found)
    except UNREADABLE:
        transaction_hash, height, block_hash = _place(found)
        if found.get("removed"):
            raise
        return Log("", (), b"", height, block_hash, transaction_hash, -1)


def _place(found: Any) -> tuple[str, int, str]:
    """Of which transaction an event or a receipt is, in which block."""
    height, block_hash = values.counted(found["blockNumber"]), values.digest(found["blockHash"])
    return values.digest(found["transactionHash"]), height, block_hash


def _error_text(error: Exception) -> str:
    return printable(f"{type(error).__name__}: {error}")


def _content(found: Any) -> str:
    kept = {name: value for name, value in found.items() if name != "logsBloom"}
    return orjson.dumps(kept).decode()[:_LONGEST_CONTENT].replace("\\u0000", "\\ufffd")


def _is_of(sender: str, found: Any) -> bool:
    """Whether this is a transaction of this account, however it is spelled."""
    reported = found.get("from") if isinstance(found, dict) else None
    return isinstance(reported, str) and reported.lower() == sender.lower()


def _log(found: Any) -> Log:
    if found.get("removed"):
        raise ValueError("an event of a block that was undone")
    return Log(
        contract=values.address(found["address"]),
        topics=tuple(values.digest(each) for each in values.listed(found["topics"])),
        data=values.data(found["data"]),
        height=values.counted(found["blockNumber"]),
        block_hash=values.digest(found["blockHash"]),
        transaction_hash=values.digest(found["transactionHash"]),
        index=values.counted(found["logIndex"]),
    )


def _receipt(found: Any) -> Receipt:
    created = found.get("contractAddress")
    gas = values.counted(found["gasUsed"]) * values.counted(found["effectiveGasPrice"])
    receipt = Receipt(
        transaction_hash=values.digest(found["transactionHash"]),
        height=values.counted(found["blockNumber"]),
        block_hash=values.digest(found["blockHash"]),
        succeeded=values.flag(found["status"]),
        # Rollups of the OP stack charge for a transaction's data on Ethereum besides.
        fee_units=gas + values.number(found.get("l1Fee") or "0x0"),
        contract=None if created is None else values.address(created),
        logs=tuple(sorted((_log(each) for each in values.listed(found["logs"])), key=lambda log: log.index)),
    )
    place = (receipt.transaction_hash, receipt.height, receipt.block_hash)
    if any((log.transaction_hash, log.height, log.block_hash) != place for log in receipt.logs):
        raise ValueError("an event of another transaction")
    if len({log.index for log in receipt.logs}) != len(receipt.logs):
        raise ValueError("two events in one place")
    return receipt


def _sent(found: Any) -> SentTransaction:
    height, recipient = found["blockNumber"], found["to"]
    return SentTransaction(
        transaction_hash=values.digest(found["hash"]),
        sender=values.address(found["from"]),
        nonce=values.counted(found["nonce"]),
        height=None if height is None else values.counted(height),
        recipient=None if recipient is None else values.address(recipient),
        units=values.number(found["value"]),
    )


def _topic_address(topic: str) -> str:
    return addresses.spelled(bytes.fromhex(topic[-40:]))
