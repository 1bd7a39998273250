"""Accounts that are contracts, which have no key: whether one takes a signature as its own (EIP-1271)."""

from __future__ import annotations

from contextlib import suppress

from payments.chains.errors import ChainUnavailable
from payments.chains.evm import abi, messages
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.rpc import RpcError

_FUNCTION = "isValidSignature(bytes32,bytes)"
MOST_GAS = 10_000_000
"""What the contract of a stranger may take of a provider's time, the same at each: enough for a hundred owners."""
_ACCEPTED = abi.selector(_FUNCTION).ljust(abi.WORD, b"\0")


class ContractAccounts:
    """Signatures of accounts, as the contract at an address takes them."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers

    def account_accepts(self, account: str, text: str, signature: bytes) -> bool | None:
        with suppress(ValueError):  # of a contract with several owners it is longer than that of a key
            if messages.signer_of(text, signature) == account:
                return None
        return accepts(self._providers, account, text, signature)


def accepts(providers: Providers, account: str, text: str, signature: bytes) -> bool | None:
    """Whether the contract at an address takes this as its signature of a text; None where no contract answers.

    Believed when providers give the same answer after the same block. A contract that reverts, or takes more
    than MOST_GAS to decide, has not taken it.
    """
    digest = int.from_bytes(messages.digest_of(text), "big")
    call = abi.call(_FUNCTION, digest, signature)
    [answer] = providers.agree_each(questions.result(account, call, providers.head().height, gas=MOST_GAS))
    if isinstance(answer, RpcError):
        if answer.is_reverted or answer.takes_all_gas:
            return False
        raise ChainUnavailable(f"{providers.network} cannot query a contract about a signature: {answer}") from answer
    return bool(answer == _ACCEPTED) if answer else None
