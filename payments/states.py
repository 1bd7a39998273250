"""Statuses of payments, deposits and discrepancies, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from config.states import Transitions


class PaymentStatus(models.TextChoices):
    CREATED = "created", _("Awaiting payment")
    PENDING = "pending", _("Confirming")
    UNDERPAID = "underpaid", _("Underpaid")
    COMPLETED = "completed", _("Completed")
    PARTIALLY_REFUNDED = "partially_refunded", _("Partially refunded")
    REFUNDED = "refunded", _("Refunded")
    EXPIRED = "expired", _("Expired")
    CANCELLED = "cancelled", _("Cancelled")


_CREATED, _PENDING, _UNDERPAID, _COMPLETED, _PARTLY, _REFUNDED, _EXPIRED, _CANCELLED = PaymentStatus

# `created` comes back when a reorg undoes the only deposit; `expired` gives way when money sent in time
# shows up again, or when the merchant's policy accepts a late payment. Money that was refunded before a reorg
# undid it is refunded still when it comes again, whatever the payment was in between.
PAYMENT_MOVES = Transitions(
    {
        _CREATED: [_PENDING, _UNDERPAID, _COMPLETED, _PARTLY, _REFUNDED, _EXPIRED, _CANCELLED],
        _PENDING: [_CREATED, _UNDERPAID, _COMPLETED, _PARTLY, _REFUNDED, _EXPIRED],
        _UNDERPAID: [_CREATED, _PENDING, _COMPLETED, _EXPIRED, _REFUNDED, _PARTLY],
        _COMPLETED: [_CREATED, _PENDING, _UNDERPAID, _EXPIRED, _PARTLY, _REFUNDED],
        _PARTLY: [_COMPLETED, _REFUNDED, _PENDING, _UNDERPAID, _CREATED, _EXPIRED],
        _REFUNDED: [_COMPLETED, _PARTLY, _PENDING, _UNDERPAID, _CREATED, _EXPIRED],
        _EXPIRED: [_PENDING, _UNDERPAID, _COMPLETED, _PARTLY, _REFUNDED],
        _CANCELLED: [],
    }
)


class StatusReason(models.TextChoices):
    """Unusual facts about a payment, beside its status."""

    UNDERPAID = "underpaid", _("Less than was due arrived")
    OVERPAID = "overpaid", _("More than was due arrived")
    LATE = "late", _("Money arrived after the window")
    WRONG_TOKEN = "wrong_token", _("Wrong coin arrived")
    WRONG_NETWORK = "wrong_network", _("Money arrived on the wrong network")
    REVERSED = "reversed", _("A reorganisation undid a transfer")
    COINS_MISSING = "coins_missing", _("Coins are missing on the network; it is being decided who bears it")
    COINS_LOST = "coins_lost", _("Coins are lost, and the merchant bears it")
    REVIEW = "review", _("Money is held for review")
    TOKEN_FEE = "token_fee", _("The token kept a part of what was sent")


class DepositStatus(models.TextChoices):
    SEEN = "seen", _("Waiting for confirmations")
    CREDITED = "credited", _("Credited")
    ORPHANED = "orphaned", _("Undone by a reorganisation")


DEPOSIT_MOVES = Transitions(
    {
        DepositStatus.SEEN: [DepositStatus.CREDITED, DepositStatus.ORPHANED],
        DepositStatus.CREDITED: [DepositStatus.ORPHANED, DepositStatus.SEEN],
        DepositStatus.ORPHANED: [DepositStatus.SEEN],
    }
)


class DiscrepancyKind(models.TextChoices):
    """Reasons for money in suspense; also the second half of its ledger account's kind, `suspense:<kind>`."""

    LATE = "late", _("Arrived late")
    OVERPAID = "overpaid", _("More than was due")
    UNDERPAID = "underpaid", _("Less than was due")
    WRONG_TOKEN = "wrong_token", _("Wrong coin")
    WRONG_NETWORK = "wrong_network", _("Wrong network")
    NO_MEMO = "no_memo", _("Without a memo that names a payment")
    UNASKED = "unasked", _("Not asked for")
    REVIEW = "review", _("Held for review")


OWN_KINDS = (DiscrepancyKind.OVERPAID, DiscrepancyKind.UNDERPAID)
"""Money in suspense that is a part of what the payment received."""


class DiscrepancyStatus(models.TextChoices):
    OPEN = "open", _("Open")
    ACCEPTED = "accepted", _("Accepted")
    REFUNDED = "refunded", _("Refunded")
    VOID = "void", _("Void")


DISCREPANCY_MOVES = Transitions(
    {
        DiscrepancyStatus.OPEN: [DiscrepancyStatus.ACCEPTED, DiscrepancyStatus.REFUNDED, DiscrepancyStatus.VOID],
        DiscrepancyStatus.ACCEPTED: [DiscrepancyStatus.VOID],
        DiscrepancyStatus.REFUNDED: [DiscrepancyStatus.OPEN, DiscrepancyStatus.VOID],  # open again: the refund failed
        DiscrepancyStatus.VOID: [],
    }
)


class ReturnStatus(models.TextChoices):
    """Status of a return of money of no payment to its sender."""

    PROVEN = "proven", _("Waits for operators")
    PENDING = "pending", _("Reserved, or on its way")
    COMPLETED = "completed", _("Paid back")
    FAILED = "failed", _("Not paid back: the money waits for a decision again")
    REPLACED = "replaced", _("The sender has named another address since")


RETURN_MOVES = Transitions(
    {
        ReturnStatus.PROVEN: [ReturnStatus.PENDING, ReturnStatus.REPLACED],
        ReturnStatus.PENDING: [ReturnStatus.COMPLETED, ReturnStatus.FAILED],
        ReturnStatus.COMPLETED: [],
        ReturnStatus.FAILED: [],
        ReturnStatus.REPLACED: [],
    }
)


class UnsweptReason(models.TextChoices):
    """Reasons a sweep left the coins of a deposit address where they are. Words that go after a colon."""

    EMPTY = "empty", _("the address does not hold them any more")
    PAUSED = "paused", _("the issuer has paused the coin for everybody")
    WALLET_REFUSED = "wallet_refused", _("the issuer refuses the hot wallet")
    FROZEN = "frozen", _("the issuer has frozen the address")
    REFUSED = "refused", _("the contract of the coin refuses the transfer")
    PASSING = "passing", _("they could be moved now: the sweep ran out of gas, or what kept them is over")


OF_THE_WHOLE_COIN = (UnsweptReason.PAUSED, UnsweptReason.WALLET_REFUSED)
"""Reasons that keep every address of a network from being swept of a coin."""


class BalanceChangeKind(models.TextChoices):
    """Kinds of changes of the amount that a merchant may have settled."""

    PAYMENT = "payment", _("Payment")
    REVERSAL = "reversal", _("Payment undone by a reorganisation")
    ACCEPTED = "accepted", _("Money beyond the price, accepted")
    REFUND = "refund", _("Refund")
    REFUND_FAILED = "refund_failed", _("Refund that came back")
    SETTLEMENT_FAILED = "settlement_failed", _("Settlement that came back")
    SETTLED_AHEAD = "settled_ahead", _("Settled before a restore")
    MISSING = "missing", _("Held: its coins are missing on the network")
    MISSING_ENDED = "missing_ended", _("Held before, and no longer")
    LOSS = "loss", _("Coins lost on the network")
    DEBT_OFFSET = "debt_offset", _("Taken for a debt in another coin or on another network")
    DEBT_REPAID = "debt_repaid", _("Debt repaid from another coin or network")
    DEBT_WRITTEN_OFF = "debt_written_off", _("Debt written off")
    DEBT_COLLECTED = "debt_collected", _("Debt paid outside")
    DEBT_OWED_AGAIN = "debt_owed_again", _("Owed again: the end of a debt was taken back")
