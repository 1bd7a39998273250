"""Statuses of payouts and of the on-chain transactions that carry them, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models

from config.states import Transitions


class PayoutStatus(models.TextChoices):
    """The status of a payout."""

    READY = "ready", "Waiting for a transfer"
    HELD = "held", "Held for operators"
    SENDING = "sending", "On its way"
    PAID = "paid", "Paid"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


# A payout goes back to `ready` only when the transfer that carried it provably moved nothing and never will.
PAYOUT_MOVES = Transitions(
    {
        PayoutStatus.READY: [
            PayoutStatus.HELD,
            PayoutStatus.SENDING,
            PayoutStatus.PAID,
            PayoutStatus.FAILED,
            PayoutStatus.CANCELLED,
        ],
        PayoutStatus.HELD: [PayoutStatus.READY, PayoutStatus.FAILED, PayoutStatus.CANCELLED],
        PayoutStatus.SENDING: [PayoutStatus.READY, PayoutStatus.PAID, PayoutStatus.FAILED],
        PayoutStatus.PAID: [],
        PayoutStatus.FAILED: [],
        PayoutStatus.CANCELLED: [],
    }
)


class HoldReason(models.TextChoices):
    """Reasons a payout is held."""

    APPROVAL = "approval", "Above the amount that one person may send: two operators must approve it"
    OVER_LIMIT = "over_limit", "Above the limit of a single transfer"
    DAILY_LIMIT = "daily_limit", "The limit of a day is used up"
    MERCHANT_LIMIT = "merchant_limit", "The merchant's limit of a day is used up"
    LIQUIDITY = "insufficient_liquidity", "The hot wallet does not hold enough"
    REFILL = "refill_needed", "The hot wallet does not hold enough: operators must refill it from the cold wallet"
    COIN_PAUSED = "coin_paused", "The coin's issuer lets nobody send it at the moment: it goes on when that is over"
    WALLET_BLOCKED = (
        "hot_wallet_blocked",
        "The coin's issuer has blocked the hot wallet: it goes on when that is over",
    )
    NO_TRUSTLINE = "no_trustline", "The recipient's account does not hold this coin yet: it goes on when it does"
    NETWORK = "network_unavailable", "The network's providers do not answer: it goes on when they do"
    SIGNER = "not_signed", "The process that signs does not answer, or refuses it: operators are told"
    STOPPED = "payouts_stopped", "Payouts are stopped, here or everywhere: it goes on when operators let it"
    REVIEW = "held_for_review", "Held for review: two operators must release it"
    FEES = "fees_above_cap", "The network's fees are above what may be paid: it goes on when they come down"


class MemoType(models.TextChoices):
    """Form of a memo in an on-chain transaction: some recipients understand one of the two only."""

    ID = "id", "A number (MEMO_ID)"
    TEXT = "text", "Text (MEMO_TEXT)"


ENDED_PAYOUTS = (PayoutStatus.PAID, PayoutStatus.FAILED, PayoutStatus.CANCELLED)


class TransferStatus(models.TextChoices):
    """The status of a transfer, whichever of its versions is mined."""

    SIGNED = "signed", "Signed, not yet sent"
    SENT = "sent", "Sent"
    FINAL = "final", "Final"
    FAILED = "failed", "Final, and moved nothing"
    DEAD = "dead", "Can never be in a block any more"


TRANSFER_MOVES = Transitions(
    {
        TransferStatus.SIGNED: [TransferStatus.SENT, TransferStatus.FINAL, TransferStatus.FAILED, TransferStatus.DEAD],
        TransferStatus.SENT: [TransferStatus.FINAL, TransferStatus.FAILED, TransferStatus.DEAD],
        TransferStatus.FINAL: [],
        TransferStatus.FAILED: [],
        TransferStatus.DEAD: [],
    }
)

OPEN_TRANSFERS = (TransferStatus.SIGNED, TransferStatus.SENT)


class TransferPurpose(models.TextChoices):
    PAYOUT = "payout", "Pays somebody"
    SWEEP = "sweep", "Brings deposits to the hot wallet"
