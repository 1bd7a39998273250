"""Errors of a network, an address or a transfer. Every adapter raises the same ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from config.errors import DomainError

if TYPE_CHECKING:
    from payments.chains.protocol.transfers import UnreadRecord


class ChainError(Exception):
    """Something went wrong at the network's side."""


class ChainUnavailable(ChainError):
    """No provider answered, or none answered consistently. Nothing is known; the query can be repeated later."""


class RecordUnreadable(ChainUnavailable):
    """Providers answer and agree, but their record of an on-chain transaction cannot be read here."""

    def __init__(self, record: UnreadRecord) -> None:
        super().__init__(f"{record.transaction_hash} cannot be read: {record.problem}")
        self.record = record


class NetworkUnavailable(DomainError):
    """The error for an API client when a network does not answer or is halted."""

    code = "network_unavailable"
    message = "This network cannot take payments right now. Try again shortly."


class FeesAboveCap(ChainUnavailable):
    """The network's price is above the operator's cap. Nothing is signed until prices come down again."""


class SignerUnavailable(ChainUnavailable):
    """The process that signs does not reply. Whether it has signed is unknown; requesting the same sequence again does
    no harm."""


class NotSetUp(ChainUnavailable):
    """Contracts, coins or key differ from the settings. Nothing is read and nothing is sent until they are."""


class FinalityViolation(ChainError):
    """A block that was final has another hash now. Crediting and paying must stop."""


class SignerRefused(ChainError):
    """The process that signs will not, by its own policy. `payouts` are the ids of those at fault; empty where that is
    none of them."""

    def __init__(self, code: str, reason: str, *, payouts: Collection[str] = ()) -> None:
        super().__init__(f"The signer refuses ({code}): {reason}")
        self.code = code
        self.payouts = frozenset(payouts)


class TransferRefused(ChainError):
    """The network did not accept these bytes. This is only a hint: `Sending.status` returns the outcome."""


class InvalidAddress(ValueError):
    """The text is no address of this network; the message names the fault."""


RecipientProblem = Literal["destination_invalid", "no_trustline", "memo_required", "destination_refused"]
"""Why an address cannot be paid:

- destination_invalid: nobody is paid there: no account, a token's own contract, the zero address, our own wallet.
- no_trustline: the account does not hold this coin yet, or holds as much of it as it allows.
- memo_required: the account belongs to many people, and needs a memo that names the one whom the money is for.
- destination_refused: the issuer of the coin forbids this account.
"""


SendingProblem = Literal["coin_paused", "hot_wallet_blocked"]
"""Why a coin cannot be sent to anybody:

- coin_paused: its issuer lets nobody send it.
- hot_wallet_blocked: its issuer forbids our own wallet.
"""


class SendingBlocked(ChainError):
    """This coin can be sent to nobody at present. The state is temporary and does not depend on the recipient."""

    def __init__(self, problem: SendingProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


class TokenChanged(ChainError):
    """The contract of a coin is not any more what amounts in it are counted by."""


class PayerRefused(ChainError):
    """This account cannot make the payment. The message is for the payer."""


class RecipientRefused(ChainError):
    """This payout would fail or be lost. The message is for the person who named the address.

    `may_be_set_aside`: a claimable balance for the recipient can be made instead, and the operator permits it.
    """

    def __init__(self, problem: RecipientProblem, message: str, *, may_be_set_aside: bool = False) -> None:
        super().__init__(message)
        self.problem = problem
        self.may_be_set_aside = may_be_set_aside
