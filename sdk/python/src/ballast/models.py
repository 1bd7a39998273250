"""Records of the API. Generated from docs/openapi.json by sdk/generator."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Required, TypeAlias, TypedDict

from ballast._models import Model

Amount: TypeAlias = Decimal | int | float | str
"""A decimal. Text and Decimals are exact; of a float its shortest form is sent."""

Number: TypeAlias = Decimal | int | float

Moment: TypeAlias = datetime | date | str
"""An instant with a time zone, a date, or either of them in ISO 8601."""

AttemptStatus: TypeAlias = Literal[
    "succeeded",
    "failed",
]
ClaimStatus: TypeAlias = Literal[
    "missed",
    "no_longer_watched",
    "too_early",
    "network_halted",
    "not_read_yet",
    "confirming",
    "awaiting_finality",
    "late",
    "underpaid",
    "overpaid",
    "credited",
    "wrong_network",
    "wrong_token",
    "unknown_token",
    "no_memo",
    "claimable_balance",
    "clawback",
    "account_merge",
    "native_coin",
    "zero_amount",
    "other_payment",
    "other_memo",
    "other_address",
    "no_transfers",
    "failed",
    "pending",
    "undone",
    "not_found",
]
ClaimTransferCode: TypeAlias = Literal[
    "missed",
    "no_longer_watched",
    "too_early",
    "network_halted",
    "not_read_yet",
    "confirming",
    "awaiting_finality",
    "late",
    "underpaid",
    "overpaid",
    "credited",
    "wrong_network",
    "wrong_token",
    "unknown_token",
    "no_memo",
    "claimable_balance",
    "clawback",
    "account_merge",
    "native_coin",
    "zero_amount",
    "other_payment",
    "other_memo",
    "other_address",
]
Cryptocurrency: TypeAlias = Literal[
    "USDC",
    "USDT",
    "DAI",
]
Currency: TypeAlias = Literal[
    "USD",
    "EUR",
    "GBP",
    "CHF",
    "CZK",
    "DKK",
    "HUF",
    "NOK",
    "PLN",
    "RON",
    "SEK",
    "TRY",
    "AUD",
    "BRL",
    "CAD",
    "CNY",
    "HKD",
    "IDR",
    "ILS",
    "INR",
    "MXN",
    "MYR",
    "NZD",
    "PHP",
    "SGD",
    "THB",
    "ZAR",
    "AED",
    "SAR",
    "QAR",
    "JPY",
    "KRW",
    "ISK",
    "BHD",
    "OMR",
]
DeliveryStatus: TypeAlias = Literal[
    "pending",
    "delivered",
    "failed",
    "discarded",
]
DisabledReason: TypeAlias = Literal[
    "merchant",
    "gone",
    "failing",
]
DiscrepancyKind: TypeAlias = Literal[
    "late",
    "overpaid",
    "underpaid",
    "wrong_token",
    "wrong_network",
    "no_memo",
    "unasked",
    "review",
]
DiscrepancyStatus: TypeAlias = Literal[
    "open",
    "accepted",
    "refunded",
    "void",
]
Environment: TypeAlias = Literal[
    "sandbox",
    "production",
]
EventType: TypeAlias = Literal[
    "payment.created",
    "payment.pending",
    "payment.underpaid",
    "payment.completed",
    "payment.overpaid",
    "payment.expired",
    "payment.late",
    "payment.cancelled",
    "payment.reversed",
    "payment.refunded",
    "payment.updated",
    "payment.coins_missing",
    "payment.coins_restored",
    "payment.coins_lost",
    "refund.created",
    "refund.requires_action",
    "refund.pending",
    "refund.processing",
    "refund.completed",
    "refund.failed",
    "refund.cancelled",
    "settlement.created",
    "settlement.completed",
    "settlement.failed",
    "webhook.test",
]
Frequency: TypeAlias = Literal[
    "daily",
    "weekly",
    "monthly",
    "manual",
]
InvoiceKind: TypeAlias = Literal[
    "invoice",
    "credit_note",
]
LatePayments: TypeAlias = Literal[
    "hold",
    "accept",
]
MemoType: TypeAlias = Literal[
    "id",
    "text",
]
MerchantPlan: TypeAlias = Literal[
    "starter",
    "business",
    "enterprise",
]
MerchantSurplus: TypeAlias = Literal[
    "ask",
    "give_back",
    "keep",
]
MonthAccountName: TypeAlias = Literal[
    "balance",
    "held",
    "suspense",
]
Network: TypeAlias = Literal[
    "stellar",
    "ethereum",
    "polygon",
]
PaymentLinkStatus: TypeAlias = Literal[
    "active",
    "disabled",
    "expired",
    "used_up",
]
PaymentStatus: TypeAlias = Literal[
    "created",
    "pending",
    "underpaid",
    "completed",
    "partially_refunded",
    "refunded",
    "expired",
    "cancelled",
]
PaymentStatusReason: TypeAlias = Literal[
    "underpaid",
    "overpaid",
    "late",
    "wrong_token",
    "wrong_network",
    "reversed",
    "coins_missing",
    "coins_lost",
    "review",
    "token_fee",
]
PaymentTransferStatus: TypeAlias = Literal[
    "seen",
    "credited",
    "orphaned",
]
PlannedSettlementProblem: TypeAlias = Literal[
    "insufficient_liquidity",
    "over_limit",
    "rate_unavailable",
    "currency_unavailable",
    "network_unavailable",
    "coin_paused",
    "hot_wallet_blocked",
    "destination_invalid",
    "no_trustline",
    "memo_required",
    "destination_refused",
    "transfer_failed",
    "rejected",
    "wallet_lost",
]
RateMoment: TypeAlias = Literal[
    "when_paid",
    "when_made",
]
RefundHoldReason: TypeAlias = Literal[
    "approval",
    "over_limit",
    "daily_limit",
    "merchant_limit",
    "insufficient_liquidity",
    "refill_needed",
    "coin_paused",
    "hot_wallet_blocked",
    "no_trustline",
    "network_unavailable",
    "not_signed",
    "payouts_stopped",
    "held_for_review",
    "fees_above_cap",
]
RefundStatus: TypeAlias = Literal[
    "requires_action",
    "pending",
    "processing",
    "completed",
    "failed",
    "cancelled",
]
RequestMethod: TypeAlias = Literal[
    "GET",
    "POST",
    "PATCH",
    "DELETE",
]
RequestStatus: TypeAlias = Literal[
    "2xx",
    "4xx",
    "5xx",
    "error",
]
Scenario: TypeAlias = Literal[
    "exact",
    "underpaid",
    "overpaid",
    "two_parts",
    "late",
    "wrong_token",
    "wrong_network",
    "two_transfers",
    "reorg",
    "outage",
    "missing_memo",
    "from_exchange",
    "memo_conflict",
]
SettlementStatus: TypeAlias = Literal[
    "pending",
    "completed",
    "failed",
]
StatementEntryType: TypeAlias = Literal[
    "payment",
    "reversal",
    "accepted",
    "refund",
    "refund_failed",
    "settlement_failed",
    "settled_ahead",
    "missing",
    "missing_ended",
    "loss",
    "debt_offset",
    "debt_repaid",
    "debt_written_off",
    "debt_collected",
    "debt_owed_again",
    "fee",
    "conversion",
    "settlement",
]
WebhookEventType: TypeAlias = Literal[
    "*",
    "payment.created",
    "payment.pending",
    "payment.underpaid",
    "payment.completed",
    "payment.overpaid",
    "payment.expired",
    "payment.late",
    "payment.cancelled",
    "payment.reversed",
    "payment.refunded",
    "payment.updated",
    "payment.coins_missing",
    "payment.coins_restored",
    "payment.coins_lost",
    "refund.created",
    "refund.requires_action",
    "refund.pending",
    "refund.processing",
    "refund.completed",
    "refund.failed",
    "refund.cancelled",
    "settlement.created",
    "settlement.completed",
    "settlement.failed",
    "webhook.test",
]
WebhookStatus: TypeAlias = Literal[
    "enabled",
    "disabled",
]


@dataclass(frozen=True, kw_only=True)
class AccountSecret(Model):
    """AccountSecret."""

    object: str
    """What kind of record this is."""
    secret: str = field(repr=False)
    """`whsec_…`, shown now and never again."""
    previous_secret_expires_at: datetime
    """Until then the previous secret signs too."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""


@dataclass(frozen=True, kw_only=True)
class Attempt(Model):
    """Attempt."""

    number: int
    """Counts the attempts of a delivery, from 1."""
    status: AttemptStatus | str
    """`succeeded` for a reply of 2xx."""
    status_code: int | None
    """Null when there was no reply."""
    duration_ms: int
    """From the look-up of the name to the last byte, in milliseconds."""
    error: str | None
    """Why there was no reply, or why it is no success; else null."""
    started_at: datetime
    """When it began."""
    reply: str
    """The beginning of the reply's body."""


@dataclass(frozen=True, kw_only=True)
class Balance(Model):
    """Balance."""

    object: str
    """What kind of record this is."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    at: datetime | None
    """The instant that was asked for; null for now."""
    balances: list[BalanceEntry]
    """One for each coin on each network."""


@dataclass(frozen=True, kw_only=True)
class BalanceEntry(Model):
    """BalanceEntry."""

    network: str
    """The network it is on."""
    cryptocurrency: str
    """The coin."""
    available: str
    """Yours, to be refunded from or settled: decimal, six fractional digits or more."""
    receivable: str
    """What you owe: credited and spent before a chain took the payment back. Decimal."""
    in_suspense: str
    """Arrived late, short, in surplus, or in the wrong coin or network, and waits for your decision: not yours yet.
    Decimal."""


@dataclass(frozen=True, kw_only=True)
class BalanceWorth(Model):
    """BalanceWorth."""

    amount: str
    """At the rate."""
    rate: str
    """What one of the coin was worth."""
    rate_source: str | None
    """Where it is from; null for the coin itself."""
    rated_at: datetime
    """When it was recorded."""


@dataclass(frozen=True, kw_only=True)
class CarriedOver(Model):
    """CarriedOver."""

    network: Network | str
    """The network it is on."""
    destination: str
    """The wallet that is paid."""
    cryptocurrency: Cryptocurrency | str
    """The coin."""
    amount: str
    """Negative when it is owed."""
    reason: str
    """Why it waits for a later settlement, for programs."""
    message: str
    """The same as a sentence for people."""


@dataclass(frozen=True, kw_only=True)
class Claim(Model):
    """Claim."""

    object: str
    """What kind of record this is."""
    payment: str
    """Id of the payment."""
    transaction_hash: str
    """Of the on-chain transaction."""
    network: Network | str | None
    """Where it was found; else null."""
    status: ClaimStatus | str
    """The code of its most telling transfer, or of the whole."""
    message: str
    """The same as a sentence for people."""
    block: int | None
    """Height of its block; null while it is in none."""
    confirmations: int | None
    """Null unless it came to the payment's address."""
    required_confirmations: int
    """How many confirmations make a transfer count."""
    transfer_count: int
    """How many transfers it has; at most 100 of them are listed."""
    transfers: list[ClaimTransfer]
    """Every transfer in it that is of interest to the payment."""


@dataclass(frozen=True, kw_only=True)
class ClaimTransfer(Model):
    """ClaimTransfer."""

    network: Network | str
    """The network it is on."""
    cryptocurrency: str | None
    """The coin, the network's own one included; null for a token that is not accepted."""
    token_contract: str | None
    """Null for the native coin."""
    amount: str | None
    """Decimal, six fractional digits or more; null for a token that is not accepted."""
    memo: str | None
    """The memo beside the address, on stellar; null without one."""
    payment: str | None
    """The payment of yours that it was sent for."""
    matched: bool
    """It is what this payment asked for: its coin, network and address."""
    code: ClaimTransferCode | str
    """Why it counts for the payment, or does not."""
    message: str
    """The same as a sentence for people."""
    from_: str
    """Who sent it."""
    to: str
    """Where it went."""


@dataclass(frozen=True, kw_only=True)
class DebtOffset(Model):
    """DebtOffset."""

    network: Network | str
    """The network it is on."""
    cryptocurrency: Cryptocurrency | str
    """The coin that is taken."""
    amount: str
    """What is taken of it: decimal."""
    debt_network: Network | str
    """Where it is owed."""
    debt_cryptocurrency: Cryptocurrency | str
    """The coin that is owed."""
    debt_amount: str
    """What of the debt is repaid."""
    rate: str
    """What one of the coin taken is worth in the coin owed; 1 for the same coin."""
    source: str | None
    """Where the rate is from; null for the same coin."""
    quoted_at: datetime | None
    """When the rate was read."""


@dataclass(frozen=True, kw_only=True)
class DeletedWebhook(Model):
    """DeletedWebhook."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    deleted: bool
    """True: it is gone."""


@dataclass(frozen=True, kw_only=True)
class Delivery(Model):
    """Delivery."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    status: DeliveryStatus | str
    """`pending` while attempts are left, then `delivered`, `failed` or `discarded`."""
    event: str
    """Its id."""
    event_type: str
    """The type of the event."""
    endpoint: str
    """The id of the webhook."""
    url: str
    """Where it is sent."""
    attempt_count: int
    """How many attempts were made."""
    next_attempt_at: datetime | None
    """When the next attempt is due; null when none is."""
    delivered_at: datetime | None
    """When a 2xx came; null before."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    created_at: datetime
    """When it was made."""
    attempts: list[Attempt]
    """Kept for 60 days."""


@dataclass(frozen=True, kw_only=True)
class Discrepancy(Model):
    """Discrepancy."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    payment_id: str
    """Id of the payment."""
    kind: DiscrepancyKind | str
    """Why the money waits."""
    status: DiscrepancyStatus | str
    """`open` until it is accepted or refunded."""
    amount: str
    """Decimal, six fractional digits or more."""
    cryptocurrency: Cryptocurrency | str
    """The coin that came."""
    network: Network | str
    """Where it came."""
    note: str | None
    """What was written when it was accepted."""
    created_at: datetime
    """When it was made."""
    resolved_at: datetime | None
    """When somebody decided, or a reorganisation did."""


@dataclass(frozen=True, kw_only=True)
class EntryWorth(Model):
    """EntryWorth."""

    currency: str
    """Your settlement currency, or the currency that was asked for."""
    amount: str
    """At the rate of its day."""
    rate: str
    """What one of the coin was worth."""


@dataclass(frozen=True, kw_only=True)
class ExchangeRate(Model):
    """ExchangeRate."""

    rate: str
    """Price of one coin in the currency, decimal."""
    source: str
    """Where the rate is from."""
    quoted_at: datetime
    """When the rate was read."""


@dataclass(frozen=True, kw_only=True)
class Invoice(Model):
    """Invoice."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    kind: InvoiceKind | str
    """A credit note is for returned fees; amounts are positive."""
    number: str
    """In one series of the installation, without a gap."""
    month: str
    """Such as `2027-01`, on the clocks of your settlements."""
    period_start: datetime
    """Where your invoice before it has ended."""
    period_end: datetime
    """What happened before it is invoiced."""
    issuer: Issuer
    """The operator of the installation."""
    recipient: Recipient
    """You, as your billing details were."""
    lines: list[InvoiceLine]
    """The fees in each coin on each network."""
    currency: Currency | str
    """Of the invoice: ISO 4217."""
    net_amount: str
    """The lines together. What is below the currency's last digit is carried to your next document."""
    tax_rate: str
    """In percent."""
    tax_amount: str
    """Net × tax rate, rounded half up."""
    tax_note: str | None
    """Why there is no tax, such as reverse charge."""
    total_amount: str
    """It was already deducted from settlements: you do not need to pay anything."""
    corrects_invoice_id: str | None
    """Of a credit note: your last invoice before it."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    created_at: datetime
    """When it was issued."""


@dataclass(frozen=True, kw_only=True)
class InvoiceLine(Model):
    """InvoiceLine."""

    network: Network | str
    """The network it is on."""
    cryptocurrency: Cryptocurrency | str
    """The coin."""
    amount: str
    """The fees in the coin."""
    rate: str
    """What one coin was worth in the invoice's currency when it was issued."""
    rate_source: str
    """Where the rate is from."""
    rated_at: datetime
    """When the rate was true."""
    net: str
    """Amount × rate; the lines add up to `netAmount`."""


@dataclass(frozen=True, kw_only=True)
class Issuer(Model):
    """Issuer."""

    name: str
    """Of the company or person."""
    address: str
    """With line breaks, as on an envelope."""
    country: str
    """Its code of two letters."""
    tax_id: str
    """Empty: none."""


@dataclass(frozen=True, kw_only=True)
class Item(Model):
    """Item."""

    name: str
    """What it is."""
    quantity: int
    """How many pieces."""
    amount: Decimal | None
    """Of all its pieces, in the currency; null without one."""


@dataclass(frozen=True, kw_only=True)
class Merchant(Model):
    """Merchant."""

    id: str
    """mer_ and 26 characters."""
    object: str
    """What kind of record this is."""
    name: str
    """Of the business."""
    email: str
    """Where mails about the account go."""
    plan: MerchantPlan | str
    """Decides how many requests a minute you may send."""
    fee_bps: int
    """Kept of what payments bring in, in hundredths of a percent."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    settlement_currency: Cryptocurrency | str
    """The coin that settlements are paid in."""
    settlement_schedule: Schedule
    payment_tolerance: str
    """In percent, two fractional digits."""
    late_payments: LatePayments | str
    """`hold` late money for a decision, or `accept` it."""
    surplus: MerchantSurplus | str
    """`ask`, `give_back` or `keep` what is paid beyond the price."""
    surplus_kept: str
    """In percent, two fractional digits."""
    wallet_allow_list: list[str]
    """Wallets that payments may name as merchantWallet; an empty list allows any."""
    balances: list[BalanceEntry]
    """One for each coin on each network."""
    created_at: datetime
    """When it was made."""


@dataclass(frozen=True, kw_only=True)
class Month(Model):
    """Month."""

    object: str
    """What kind of record this is."""
    version: int
    """Grows when a field or column changes its meaning or is removed."""
    merchant_id: str
    """Your own id."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    month: str
    """Such as `2027-01`: on the clocks of your settlements."""
    number: str
    """Of the statement, as on its page and its PDF."""
    time_zone: str
    """Of the settlements."""
    period_start: datetime
    """When the month begins."""
    period_end: datetime
    """What happened before it is in the statement."""
    is_complete: bool
    """False while the month runs."""


@dataclass(frozen=True, kw_only=True)
class MonthAccount(Model):
    """MonthAccount."""

    account: MonthAccountName | str
    """`balance` is yours, less what you owe; `held` while coins are missing; `suspense` waits for you."""
    network: Network | str
    """The network it is on."""
    cryptocurrency: Cryptocurrency | str
    """The coin."""
    opening_balance: str
    """At the beginning of the month."""
    entries: list[MonthEntry]
    """What changed it, oldest first."""
    closing_balance: str
    """Opening balance + entries, to the last digit."""
    valuations: list[Valuation]
    """What it all was worth, at recorded rates."""


@dataclass(frozen=True, kw_only=True)
class MonthEntry(Model):
    """MonthEntry."""

    type: str
    """What it was: a kind of balance change, `fee`, or the kind of posting."""
    date: str
    """The day in the time zone of the statement."""
    time: datetime
    """When it was posted."""
    amount: str
    """Below zero when money went."""
    balance: str
    """After it."""
    fiat_amount: Decimal | None
    """What it was worth when its payment was quoted."""
    fiat_currency: str | None
    """Of `fiatAmount`."""
    payment_id: str | None
    """The payment that it belongs to."""
    reference: str
    """What it was for: the id of a record."""
    settlement_id: str | None
    """The settlement that took it into account."""
    settlement_currency: str | None
    """The coin that it was settled in."""
    in_settlement_currency: str | None
    """What it became there, at the rate that was recorded."""
    rate: str | None
    """What one of the coin became in the settlement currency."""
    worth: list[EntryWorth]
    """By currency; those without a recorded rate are left out."""


@dataclass(frozen=True, kw_only=True)
class MonthlyStatement(Model):
    """MonthlyStatement."""

    object: str
    """What kind of record this is."""
    version: int
    """Grows when a field or column changes its meaning or is removed."""
    merchant_id: str
    """Your own id."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    month: str
    """Such as `2027-01`: on the clocks of your settlements."""
    number: str
    """Of the statement, as on its page and its PDF."""
    time_zone: str
    """Of the settlements."""
    period_start: datetime
    """When the month begins."""
    period_end: datetime
    """What happened before it is in the statement."""
    is_complete: bool
    """False while the month runs."""
    accounts: list[MonthAccount]
    """Each account in each coin on each network."""


@dataclass(frozen=True, kw_only=True)
class NextSettlements(Model):
    """NextSettlements."""

    object: str
    """What kind of record this is."""
    scheduled_for: datetime | None
    """Null when settlements are made by hand."""
    period_start: datetime
    """The beginning of the time that is settled."""
    period_end: datetime | None
    """The end of the time that is settled; this instant itself belongs to the next."""
    settlements: list[PlannedSettlement]
    """What would be paid, one for each wallet and network."""
    carried_over: list[CarriedOver]
    """What is left for a later run, and why."""
    debt_offsets: list[DebtOffset]
    """What repays debts before anything is paid."""
    rate_moment: RateMoment | str
    """The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a
    move of the rate until then is yours, or of the moment it is made, so that it is the operator's."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""


@dataclass(frozen=True, kw_only=True)
class Payment(Model):
    """Payment."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    status: PaymentStatus | str
    """`created` until money is seen, `pending` while it confirms, then `completed` or `underpaid`; `expired` or
    `cancelled` when nothing came; `partially_refunded` or `refunded` after refunds."""
    amount: Decimal
    """In the currency: an exact decimal number."""
    currency: str
    """ISO 4217 code of the price's currency."""
    crypto_amount: str
    """What the payer is asked for: decimal, six fractional digits."""
    cryptocurrency: Cryptocurrency | str
    """The coin."""
    network: Network | str
    """The network it is on."""
    url: str
    """The hosted payment page."""
    qr_code: str
    """PNG as a data URI: the address, or on stellar `paymentUri`."""
    expires_at: datetime
    """Until when it can be paid."""
    created_at: datetime
    """When it was made."""
    amount_due: str
    """What is left to be sent, in the coin: less all that was seen, confirmed or not. 0 once it is paid or cannot be
    paid any more."""
    amount_received: str
    """Confirmed and in time, in the coin."""
    amount_refunded: str
    """In the coin."""
    exchange_rate: ExchangeRate
    deposit_address: str
    """Where the payer sends the coins. It belongs to this payment alone."""
    memo: str | None
    """Needed with the address on stellar; else null."""
    muxed_address: str | None
    """On stellar address and memo as one, for wallets with a single field; else null."""
    payment_uri: str
    """EIP-681 or SEP-7 link with everything filled in; it asks for `amountDue`."""
    confirmations: int
    """Of the transfer that still needs most; 0 before one is seen."""
    required_confirmations: int
    """How many confirmations make a transfer count."""
    status_reasons: list[PaymentStatusReason | str]
    """What was unusual; several can apply."""
    transfers: list[PaymentTransfer]
    """The first 100 that were seen."""
    transfer_count: int
    """How many there are: `/payments/:id/transfers` lists them all."""
    merchant_wallet: str
    """Where settlements of the payment go."""
    redirect_url: str | None
    """Where the payer may go on after success."""
    cancel_url: str | None
    """Where a payer who has not paid goes back to."""
    webhook_url: str | None
    """Told of this payment's events as well; null without one."""
    expires_in: int
    """Seconds that the payer has."""
    metadata: dict[str, Any]
    """Your own JSON object, as you sent it."""
    description: str | None
    """What it is for. Payers see it."""
    items: list[Item]
    """Lines of what is paid for. Payers see them."""
    note: str | None
    """For yourself; payers do not see it."""
    payment_link: str | None
    """Id of the payment link that it was made by."""
    choices: list[PaymentChoice]
    """What its payer chooses among; empty where the request has said it."""
    chosen_at: datetime | None
    """When the payer last chose. Null: the coin and network are those offered first."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    completed_at: datetime | None
    """When it was completed; null before."""
    cancelled_at: datetime | None
    """When it was cancelled; null unless it was."""
    closed_at: datetime | None
    """When the time of an underpaid payment ended: no more is awaited. Null while it is."""
    version: int
    """Grows with every change that an event tells of."""
    discrepancies: list[Discrepancy] | None
    """The newest 100, with `expand`."""
    refunds: list[Refund] | None
    """The newest 100, with `expand`."""


@dataclass(frozen=True, kw_only=True)
class PaymentChoice(Model):
    """PaymentChoice."""

    cryptocurrency: Cryptocurrency | str
    """The coin."""
    network: Network | str
    """The network it is on."""
    merchant_wallet: str
    """Where settlements go if the payer chooses it."""


@dataclass(frozen=True, kw_only=True)
class PaymentLink(Model):
    """PaymentLink."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    url: str
    """The page that payers open."""
    qr_code: str
    """PNG of the page's address, as a data URI."""
    status: PaymentLinkStatus | str
    """Whether it takes payments, and why not."""
    enabled: bool
    """False while you have it switched off."""
    description: str
    """What it is for. Payers see it."""
    note: str | None
    """For yourself; payers do not see it."""
    amount: Decimal | None
    """Null: the payer enters it."""
    min_amount: Decimal | None
    """The least that a payer may enter, where the amount is open."""
    max_amount: Decimal | None
    """The most that a payer may enter, where the amount is open."""
    currency: str
    """ISO 4217 code of the price's currency."""
    cryptocurrencies: list[Cryptocurrency | str] | None
    """Null: all that the networks take."""
    merchant_wallets: Wallets
    max_uses: int | None
    """Null: any number."""
    uses_taken: int | None
    """Payments that hold a use: all but those that expired or were cancelled unpaid. Null: no limit."""
    expires_at: datetime | None
    """Until when it can be paid; null for no end."""
    expires_in: int
    """Seconds that the payer has."""
    redirect_url: str | None
    """Where the payer may go on after success."""
    metadata: dict[str, Any]
    """Your own JSON object, as you sent it."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    created_at: datetime
    """When it was made."""


@dataclass(frozen=True, kw_only=True)
class PaymentTransfer(Model):
    """PaymentTransfer."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    hash: str
    """Of the on-chain transaction."""
    amount: str
    """Decimal, with every digit that was sent: six or more."""
    cryptocurrency: str
    """The coin."""
    network: str
    """The network it is on."""
    status: PaymentTransferStatus | str
    """`seen` until it has its confirmations, then `credited`; `orphaned` when a reorganisation undid it."""
    block: int
    """Height of its block, or number of its ledger."""
    missing: str | None
    """How much of it has vanished from the network since, as when an issuer destroys it."""
    conflicting_memo: str | None
    """On stellar: the memo of the on-chain transaction, where the muxed address it was sent to says otherwise. The
    muxed address counts; ask the payer for which payment it was meant."""
    seen_at: datetime
    """When it was first seen."""


@dataclass(frozen=True, kw_only=True)
class PlannedSettlement(Model):
    """PlannedSettlement."""

    network: Network | str
    """The network it is on."""
    destination: str
    """The wallet that is paid."""
    settlement_currency: Cryptocurrency | str
    """The coin that settlements are paid in."""
    gross_amount: str
    """What payments brought in: decimal."""
    fee_amount: str
    """The service fee: decimal."""
    refund_amount: str
    """What refunds took: decimal."""
    debt_amount: str
    """The part of `refundAmount` that repays debts elsewhere."""
    amount: str
    """As of now: what comes in until then is added."""
    payment_count: int
    """How many payments are in it."""
    exchange_rate: dict[str, ExchangeRate] | None
    """By coin: the price of one in the settlement currency now. Null when nothing has to be converted, or there is
    no rate at the moment."""
    problem: PlannedSettlementProblem | str | None
    """Why the network would not have paid this wallet when it was last asked; the settlement asks again."""
    problem_message: str | None
    """The same as a sentence for people, and what to do."""


@dataclass(frozen=True, kw_only=True)
class Quote(Model):
    """Quote."""

    object: str
    """What kind of record this is."""
    amount: Decimal
    """In the currency."""
    currency: str
    """ISO 4217 code of the price's currency."""
    options: list[QuoteOption]
    """Each coin on each network that can be paid with now, the cheapest and fastest first."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""


@dataclass(frozen=True, kw_only=True)
class QuoteOption(Model):
    """QuoteOption."""

    cryptocurrency: Cryptocurrency | str
    """The coin."""
    network: Network | str
    """The network it is on."""
    crypto_amount: str
    """What the payer would be asked for: decimal, six digits."""
    exchange_rate: ExchangeRate
    network_fee: Decimal
    """About what the payer's wallet pays the network, in USD."""
    seconds: int
    """About how long it takes to be confirmed."""


@dataclass(frozen=True, kw_only=True)
class Recipient(Model):
    """Recipient."""

    name: str
    """Of the company or person."""
    address: str
    """With line breaks, as on an envelope."""
    country: str
    """Its code of two letters."""
    tax_id: str
    """Empty: none."""
    merchant_id: str
    """Your own id."""


@dataclass(frozen=True, kw_only=True)
class Refund(Model):
    """Refund."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    payment_id: str
    """Id of the payment."""
    discrepancy_id: str | None
    """The discrepancy that is refunded."""
    amount: Decimal | None
    """In the currency, at the original quote: an exact decimal number. Null for a coin nobody quoted."""
    currency: str
    """The payment's."""
    crypto_amount: str
    """What is sent: decimal, six fractional digits; more where all that is left is sent."""
    token_fee: str
    """What the token itself kept of it on the way, as some may; zero until it is completed."""
    received_amount: str | None
    """What arrived, by the receipt of the on-chain transaction; null until then."""
    returns_fee: bool
    """Whether your next settlement returns the fee on the refunded amount, by the operator's policy when the refund
    was created. False for a discrepancy, on which no fee is taken."""
    cryptocurrency: Cryptocurrency | str
    """The coin."""
    network: Network | str
    """The network it is on."""
    destination: str | None
    """Null while nobody has named one."""
    memo: str | None
    """The memo beside the address, on stellar; null without one."""
    memo_type: MemoType | str | None
    """How the memo is sent; null without one."""
    status: RefundStatus | str
    """`requires_action` until its address is known, then `pending`, `processing`, and `completed` or `failed`;
    `cancelled` when you ended it."""
    claim_url: str | None = field(repr=False)
    """While an address is needed: the page on which the payer gives one. Good for 30 days and one address. Shown to
    keys that may write refunds, and in no event: whoever opens it says where the money goes."""
    reason: str | None
    """Why, in your own words."""
    transaction_hash: str | None
    """Of the on-chain transaction, once it is final."""
    claimable_balance_id: str | None
    """On stellar, where the account could not take the coin for days and the operator sets money aside then: the
    claimable balance that the recipient has to claim. Null for a refund that was paid."""
    hold_reason: RefundHoldReason | str | None
    """Why it has not left yet, while something holds it."""
    failure_code: str | None
    """Why it failed, for programs; null unless it did."""
    failure_message: str | None
    """Why it failed, for people; null unless it did."""
    metadata: dict[str, Any]
    """Your own JSON object, as you sent it."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    created_at: datetime
    """When it was made."""
    completed_at: datetime | None
    """When it was completed; null before."""
    version: int
    """Grows with every change that an event tells of."""


@dataclass(frozen=True, kw_only=True)
class Replay(Model):
    """Replay."""

    object: str
    """What kind of record this is."""
    endpoint: str
    """Of the webhook."""
    delivery_count: int
    """How many deliveries are due now."""


@dataclass(frozen=True, kw_only=True)
class RequestLogEntry(Model):
    """RequestLogEntry."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    method: str
    """Of HTTP."""
    path: str
    """Without the query."""
    query: str
    """What followed the `?`, without secrets."""
    status_code: int
    """Of the reply."""
    error_code: str | None
    """The `code` of its error; null without one."""
    request_id: str
    """Its `X-Request-Id`."""
    idempotency_key: str | None
    """Its `Idempotency-Key`; null without one."""
    public_key: str
    """The public half of its key pair."""
    ip_address: str | None
    """Where it came from; null if that is not known."""
    duration_ms: int
    """Until it was answered, in milliseconds."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    created_at: datetime
    """When it came."""


@dataclass(frozen=True, kw_only=True)
class Schedule(Model):
    """Schedule."""

    frequency: Frequency | str
    """How often settlements are made."""
    time: str
    """24-hour HH:MM."""
    timezone: str
    """IANA name of the time zone that the time of day is in."""
    day_of_week: int | None
    """For weekly settlements; null for others."""
    day_of_month: int | None
    """For monthly settlements; null for others. A shorter month takes its last day."""
    minimum_amount: str
    """Decimal, six fractional digits."""


@dataclass(frozen=True, kw_only=True)
class Settlement(Model):
    """Settlement."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    status: SettlementStatus | str
    """`pending` until it is final on its network, then `completed`, or `failed`."""
    settlement_currency: Cryptocurrency | str
    """The coin it is paid in."""
    network: Network | str
    """The network it is on."""
    destination: str
    """The wallet it is paid to."""
    gross_amount: str
    """What came in and no reorganisation undid, in the settlement currency; an estimate until everything is
    converted."""
    fee_amount: str
    """Below zero when the fee of what was undone is given back."""
    refund_amount: str
    """Refunds and whatever else came off, `debtAmount` included."""
    debt_amount: str
    """The part of `refundAmount` that repaid what you owed in other coins or on other networks."""
    amount: str
    """What is paid: gross less fee less refunds, exactly. Six digits or more."""
    token_fee: str
    """What the token itself kept of it on the way, as some may; zero until it is completed."""
    received_amount: str | None
    """What arrived, by the receipt of the on-chain transaction; null until then."""
    payment_count: int
    """How many payments are in it."""
    exchange_rate: dict[str, ExchangeRate] | None
    """By coin: the price of one in the settlement currency. Null when nothing has to be converted, and while it is
    an estimate: see `rateMoment`."""
    rate_moment: RateMoment | str
    """The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a
    move of the rate until then is yours, or of the moment it is made, so that it is the operator's."""
    period_start: datetime
    """The beginning of the time that is settled."""
    period_end: datetime
    """What happened before it is settled."""
    scheduled_for: datetime
    """The time of the schedule it was made for."""
    transaction_hash: str | None
    """Of the on-chain transaction that paid it."""
    claimable_balance_id: str | None
    """On stellar, where the wallet could not take the coin for days and the operator sets money aside then: the
    claimable balance that it became, which the wallet collects. Null for a settlement that was paid."""
    failure_code: PlannedSettlementProblem | str | None
    """Why it waits, or has failed."""
    failure_message: str | None
    """Why it failed, for people; null unless it did."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    created_at: datetime
    """When it was made."""
    completed_at: datetime | None
    """When it was completed; null before."""
    version: int
    """Grows with every change that an event tells of."""


@dataclass(frozen=True, kw_only=True)
class Simulation(Model):
    """Simulation."""

    object: str
    """What kind of record this is."""
    scenario: Scenario | str
    """What was simulated."""
    description: str
    """What to expect."""
    transaction_hash: str
    """Of the simulated on-chain transaction."""
    payment: Payment


@dataclass(frozen=True, kw_only=True)
class Statement(Model):
    """Statement."""

    object: str
    """What kind of record this is."""
    version: int
    """Of this form, in CSV too."""
    settlement: str
    """Id of the settlement."""
    status: SettlementStatus | str
    """The status of the settlement."""
    settlement_currency: Cryptocurrency | str
    """The coin that settlements are paid in."""
    network: Network | str
    """The network it is on."""
    destination: str
    """The wallet that is paid."""
    amount: str
    """With every digit of the coin."""
    rate_moment: RateMoment | str
    """The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a
    move of the rate until then is yours, or of the moment it is made, so that it is the operator's."""
    fee_bps: int
    """In hundredths of a percent of what payments brought in."""
    period_start: datetime
    """The beginning of the time that is settled."""
    period_end: datetime
    """The end of the time that is settled; this instant itself belongs to the next."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    coins: list[StatementCoin]
    """One for each coin that was settled."""


@dataclass(frozen=True, kw_only=True)
class StatementCoin(Model):
    """StatementCoin."""

    cryptocurrency: Cryptocurrency | str
    """The coin."""
    carried_over: list[StatementEntry]
    """From before the period, not settled then: what the opening balance is made of."""
    opening_balance: str
    """What the period began with: decimal."""
    entries: list[StatementEntry]
    """What happened in the period, oldest first."""
    closing_balance: str
    """The opening balance and the amounts of all entries, exactly."""


@dataclass(frozen=True, kw_only=True)
class StatementConversion(Model):
    """StatementConversion."""

    cryptocurrency: Cryptocurrency | str
    """The other coin."""
    rate: str
    """Price of one converted coin in the settlement currency, decimal."""
    source: str
    """Where the rate is from."""
    quoted_at: datetime
    """When the rate was read."""


@dataclass(frozen=True, kw_only=True)
class StatementDebtOffset(Model):
    """StatementDebtOffset."""

    cryptocurrency: Cryptocurrency | str
    """The coin."""
    network: Network | str
    """The network it is on."""
    amount: str
    """What the debt lost or, of a debt that was repaid, what was taken for it."""
    rate: str
    """What one of the coin taken is worth in the coin owed; 1 for the same coin."""
    source: str | None
    """Where the rate is from; null for the same coin."""
    quoted_at: datetime | None
    """When the rate was read."""


@dataclass(frozen=True, kw_only=True)
class StatementEntry(Model):
    """StatementEntry."""

    type: StatementEntryType | str
    """What happened."""
    time: datetime
    """When it happened."""
    amount: str
    """Signed, with every digit of the coin."""
    balance: str
    """Of the coin, after this entry."""
    reference: str
    """Id of what it was for."""
    payment_id: str | None
    """Id of the payment."""
    refund_id: str | None
    """Id of the refund, where it is one."""
    wallet: str | None
    """The wallet of the payment."""
    fiat_amount: Decimal | None
    """What that was worth when the payment was quoted: a refund its share of it."""
    fiat_currency: str | None
    """Currency of the payment's price."""
    conversion: StatementConversion | None
    """How it was turned into the settlement's coin; null when it was in that coin already."""
    transaction_hash: str | None
    """Of the on-chain transaction."""
    token_fee: str | None
    """Of a refund or settlement: what the token kept, so that so much less arrived."""
    claimable_balance_id: str | None
    """Of a refund or settlement: the claimable balance that it was set aside as."""
    debt_offset: StatementDebtOffset | None
    """The other side of a line `debt_offset` or `debt_repaid`; null for others."""
    returns_fee: bool | None
    """Of a refund, or one that came back: whether the fee on it is given back, or taken again. Null for others."""


@dataclass(frozen=True, kw_only=True)
class TimelineEntry(Model):
    """TimelineEntry."""

    id: str
    """Of the event."""
    object: str
    """What kind of record this is."""
    type: str
    """The type of the event."""
    version: int
    """The payment's version at this event."""
    status: PaymentStatus | str
    """The payment's status at this event."""
    amount_received: str
    """What had been received by then: decimal."""
    created_at: datetime
    """When it was made."""


@dataclass(frozen=True, kw_only=True)
class Valuation(Model):
    """Valuation."""

    currency: str
    """Your settlement currency, or the currency that was asked for."""
    opening: BalanceWorth | None
    """Null when no rate was recorded for it."""
    entries: str
    """The worth of those entries that have a rate."""
    entries_without_rate: int
    """How many have none."""
    revaluation: str | None
    """What rates alone have changed; null when a rate is missing."""
    closing: BalanceWorth | None
    """Null when no rate was recorded for it."""


@dataclass(frozen=True, kw_only=True)
class Wallets(Model):
    """Wallets."""

    stellar: str | None
    """Where settlements go on stellar."""
    ethereum: str | None
    """Where settlements go on ethereum."""
    polygon: str | None
    """Where settlements go on polygon."""


@dataclass(frozen=True, kw_only=True)
class WebhookEndpoint(Model):
    """WebhookEndpoint."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    url: str
    """The address that events are sent to."""
    events: list[str]
    """Event types; `*` is all of them."""
    status: WebhookStatus | str
    """`enabled`, or `disabled`: nothing is sent then."""
    disabled_reason: DisabledReason | str | None
    """`merchant`: by you. `gone`: it answered 410. `failing`: nothing succeeded for five days."""
    disabled_at: datetime | None
    """When it was disabled; null while it is enabled."""
    description: str
    """A note of your own."""
    is_payment_address: bool
    """True for the webhookUrl of payments: it is not listed, and the account's secret signs."""
    previous_secret_expires_at: datetime | None
    """After a rotation: until when the previous secret signs too."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    created_at: datetime
    """When it was made."""


@dataclass(frozen=True, kw_only=True)
class WebhookEndpointWithSecret(Model):
    """WebhookEndpointWithSecret."""

    id: str
    """Names the record for good."""
    object: str
    """What kind of record this is."""
    url: str
    """The address that events are sent to."""
    events: list[str]
    """Event types; `*` is all of them."""
    status: WebhookStatus | str
    """`enabled`: events are sent from now on."""
    disabled_reason: DisabledReason | str | None
    """`merchant`: by you. `gone`: it answered 410. `failing`: nothing succeeded for five days."""
    disabled_at: datetime | None
    """Null: it is enabled."""
    description: str
    """A note of your own."""
    is_payment_address: bool
    """True for the webhookUrl of payments: it is not listed, and the account's secret signs."""
    previous_secret_expires_at: datetime | None
    """After a rotation: until when the previous secret signs too."""
    environment: Environment | str
    """Where it was made: with test keys in the sandbox, with live keys in production."""
    created_at: datetime
    """When it was made."""
    secret: str = field(repr=False)
    """`whsec_…`, shown now and never again."""


class ItemRequest(TypedDict, total=False):
    """ItemRequest."""

    name: Required[str]
    """What it is."""
    quantity: int | None
    """How many pieces. 1 when it is left out."""
    amount: Number | None
    """Of all its pieces, in the payment's currency; below 0 for a discount. With an amount for each item they add up
    to the payment's."""


class ScheduleRequest(TypedDict, total=False):
    """ScheduleRequest."""

    frequency: Frequency | None
    """How often settlements are made."""
    time: str | None
    """24-hour HH:MM in the schedule's time zone."""
    timezone: str | None
    """IANA name, such as Europe/Berlin."""
    day_of_week: int | None
    """1 Monday to 7 Sunday; for weekly."""
    day_of_month: int | None
    """For monthly; in a shorter month its last day."""
    minimum_amount: Amount | None
    """Settle only from this much on, in the settlement currency."""


class WalletsRequest(TypedDict, total=False):
    """WalletsRequest."""

    stellar: str | None
    """Where settlements go on stellar."""
    ethereum: str | None
    """Where settlements go on ethereum."""
    polygon: str | None
    """Where settlements go on polygon."""
