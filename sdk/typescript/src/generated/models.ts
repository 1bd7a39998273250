/** Records of the API. Generated from docs/openapi.json by sdk/generator: change that, not this. */

/** A value that this version knows, or one that the API has been given since. */
export type Open<Known extends string> = Known | (string & {});

export type AttemptStatus = "succeeded" | "failed";

export type ClaimStatus =
  | "missed"
  | "no_longer_watched"
  | "too_early"
  | "network_halted"
  | "not_read_yet"
  | "confirming"
  | "awaiting_finality"
  | "late"
  | "underpaid"
  | "overpaid"
  | "credited"
  | "wrong_network"
  | "wrong_token"
  | "unknown_token"
  | "no_memo"
  | "claimable_balance"
  | "clawback"
  | "account_merge"
  | "native_coin"
  | "zero_amount"
  | "other_payment"
  | "other_memo"
  | "other_address"
  | "no_transfers"
  | "failed"
  | "pending"
  | "undone"
  | "not_found";

export type ClaimTransferCode =
  | "missed"
  | "no_longer_watched"
  | "too_early"
  | "network_halted"
  | "not_read_yet"
  | "confirming"
  | "awaiting_finality"
  | "late"
  | "underpaid"
  | "overpaid"
  | "credited"
  | "wrong_network"
  | "wrong_token"
  | "unknown_token"
  | "no_memo"
  | "claimable_balance"
  | "clawback"
  | "account_merge"
  | "native_coin"
  | "zero_amount"
  | "other_payment"
  | "other_memo"
  | "other_address";

export type Cryptocurrency = "USDC" | "USDT" | "DAI";

export type Currency =
  | "USD"
  | "EUR"
  | "GBP"
  | "CHF"
  | "CZK"
  | "DKK"
  | "HUF"
  | "NOK"
  | "PLN"
  | "RON"
  | "SEK"
  | "TRY"
  | "AUD"
  | "BRL"
  | "CAD"
  | "CNY"
  | "HKD"
  | "IDR"
  | "ILS"
  | "INR"
  | "MXN"
  | "MYR"
  | "NZD"
  | "PHP"
  | "SGD"
  | "THB"
  | "ZAR"
  | "AED"
  | "SAR"
  | "QAR"
  | "JPY"
  | "KRW"
  | "ISK"
  | "BHD"
  | "OMR";

export type DeliveryStatus = "pending" | "delivered" | "failed" | "discarded";

export type DisabledReason = "merchant" | "gone" | "failing";

export type DiscrepancyKind =
  | "late"
  | "overpaid"
  | "underpaid"
  | "wrong_token"
  | "wrong_network"
  | "no_memo"
  | "unasked"
  | "review";

export type DiscrepancyStatus = "open" | "accepted" | "refunded" | "void";

export type Environment = "sandbox" | "production";

export type EventType =
  | "payment.created"
  | "payment.pending"
  | "payment.underpaid"
  | "payment.completed"
  | "payment.overpaid"
  | "payment.expired"
  | "payment.late"
  | "payment.cancelled"
  | "payment.reversed"
  | "payment.refunded"
  | "payment.updated"
  | "payment.coins_missing"
  | "payment.coins_restored"
  | "payment.coins_lost"
  | "refund.created"
  | "refund.requires_action"
  | "refund.pending"
  | "refund.processing"
  | "refund.completed"
  | "refund.failed"
  | "refund.cancelled"
  | "settlement.created"
  | "settlement.completed"
  | "settlement.failed"
  | "webhook.test";

export type Frequency = "daily" | "weekly" | "monthly" | "manual";

export type InvoiceKind = "invoice" | "credit_note";

export type LatePayments = "hold" | "accept";

export type MemoType = "id" | "text";

export type MerchantPlan = "starter" | "business" | "enterprise";

export type MerchantSurplus = "ask" | "give_back" | "keep";

export type MonthAccountName = "balance" | "held" | "suspense";

export type Network = "stellar" | "ethereum" | "polygon";

export type PaymentLinkStatus = "active" | "disabled" | "expired" | "used_up";

export type PaymentStatus =
  | "created"
  | "pending"
  | "underpaid"
  | "completed"
  | "partially_refunded"
  | "refunded"
  | "expired"
  | "cancelled";

export type PaymentStatusReason =
  | "underpaid"
  | "overpaid"
  | "late"
  | "wrong_token"
  | "wrong_network"
  | "reversed"
  | "coins_missing"
  | "coins_lost"
  | "review"
  | "token_fee";

export type PaymentTransferStatus = "seen" | "credited" | "orphaned";

export type PlannedSettlementProblem =
  | "insufficient_liquidity"
  | "over_limit"
  | "rate_unavailable"
  | "currency_unavailable"
  | "network_unavailable"
  | "coin_paused"
  | "hot_wallet_blocked"
  | "destination_invalid"
  | "no_trustline"
  | "memo_required"
  | "destination_refused"
  | "transfer_failed"
  | "rejected"
  | "wallet_lost";

export type RateMoment = "when_paid" | "when_made";

export type RefundHoldReason =
  | "approval"
  | "over_limit"
  | "daily_limit"
  | "merchant_limit"
  | "insufficient_liquidity"
  | "refill_needed"
  | "coin_paused"
  | "hot_wallet_blocked"
  | "no_trustline"
  | "network_unavailable"
  | "not_signed"
  | "payouts_stopped"
  | "held_for_review"
  | "fees_above_cap";

export type RefundStatus = "requires_action" | "pending" | "processing" | "completed" | "failed" | "cancelled";

export type RequestMethod = "GET" | "POST" | "PATCH" | "DELETE";

export type RequestStatus = "2xx" | "4xx" | "5xx" | "error";

export type Scenario =
  | "exact"
  | "underpaid"
  | "overpaid"
  | "two_parts"
  | "late"
  | "wrong_token"
  | "wrong_network"
  | "two_transfers"
  | "reorg"
  | "outage"
  | "missing_memo"
  | "from_exchange"
  | "memo_conflict";

export type SettlementStatus = "pending" | "completed" | "failed";

export type StatementEntryType =
  | "payment"
  | "reversal"
  | "accepted"
  | "refund"
  | "refund_failed"
  | "settlement_failed"
  | "settled_ahead"
  | "missing"
  | "missing_ended"
  | "loss"
  | "debt_offset"
  | "debt_repaid"
  | "debt_written_off"
  | "debt_collected"
  | "debt_owed_again"
  | "fee"
  | "conversion"
  | "settlement";

export type WebhookEventType =
  | "*"
  | "payment.created"
  | "payment.pending"
  | "payment.underpaid"
  | "payment.completed"
  | "payment.overpaid"
  | "payment.expired"
  | "payment.late"
  | "payment.cancelled"
  | "payment.reversed"
  | "payment.refunded"
  | "payment.updated"
  | "payment.coins_missing"
  | "payment.coins_restored"
  | "payment.coins_lost"
  | "refund.created"
  | "refund.requires_action"
  | "refund.pending"
  | "refund.processing"
  | "refund.completed"
  | "refund.failed"
  | "refund.cancelled"
  | "settlement.created"
  | "settlement.completed"
  | "settlement.failed"
  | "webhook.test";

export type WebhookStatus = "enabled" | "disabled";

export interface AccountSecret {
  /** What kind of record this is. */
  object: "signing_secret";
  /** `whsec_…`, shown now and never again. */
  secret: string;
  /** Until then the previous secret signs too. */
  previousSecretExpiresAt: string;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
}

export interface Attempt {
  /** Counts the attempts of a delivery, from 1. */
  number: number;
  /** `succeeded` for a reply of 2xx. */
  status: Open<AttemptStatus>;
  /** Null when there was no reply. */
  statusCode: number | null;
  /** From the look-up of the name to the last byte, in milliseconds. */
  durationMs: number;
  /** Why there was no reply, or why it is no success; else null. */
  error: string | null;
  /** When it began. */
  startedAt: string;
  /** The beginning of the reply's body. */
  reply: string;
}

export interface Balance {
  /** What kind of record this is. */
  object: "balance";
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** The instant that was asked for; null for now. */
  at: string | null;
  /** One for each coin on each network. */
  balances: BalanceEntry[];
}

export interface BalanceEntry {
  /** The network it is on. */
  network: string;
  /** The coin. */
  cryptocurrency: string;
  /** Yours, to be refunded from or settled: decimal, six fractional digits or more. */
  available: string;
  /** What you owe: credited and spent before a chain took the payment back. Decimal. */
  receivable: string;
  /**
   * Arrived late, short, in surplus, or in the wrong coin or network, and waits for your decision: not yours yet.
   * Decimal.
   */
  inSuspense: string;
}

export interface BalanceWorth {
  /** At the rate. */
  amount: string;
  /** What one of the coin was worth. */
  rate: string;
  /** Where it is from; null for the coin itself. */
  rateSource: string | null;
  /** When it was recorded. */
  ratedAt: string;
}

export interface CarriedOver {
  /** The network it is on. */
  network: Open<Network>;
  /** The wallet that is paid. */
  destination: string;
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** Negative when it is owed. */
  amount: string;
  /** Why it waits for a later settlement, for programs. */
  reason: string;
  /** The same as a sentence for people. */
  message: string;
}

export interface Claim {
  /** What kind of record this is. */
  object: "claim";
  /** Id of the payment. */
  payment: string;
  /** Of the on-chain transaction. */
  transactionHash: string;
  /** Where it was found; else null. */
  network: Open<Network> | null;
  /** The code of its most telling transfer, or of the whole. */
  status: Open<ClaimStatus>;
  /** The same as a sentence for people. */
  message: string;
  /** Height of its block; null while it is in none. */
  block: number | null;
  /** Null unless it came to the payment's address. */
  confirmations: number | null;
  /** How many confirmations make a transfer count. */
  requiredConfirmations: number;
  /** How many transfers it has; at most 100 of them are listed. */
  transferCount: number;
  /** Every transfer in it that is of interest to the payment. */
  transfers: ClaimTransfer[];
}

export interface ClaimTransfer {
  /** The network it is on. */
  network: Open<Network>;
  /** The coin, the network's own one included; null for a token that is not accepted. */
  cryptocurrency: string | null;
  /** Null for the native coin. */
  tokenContract: string | null;
  /** Decimal, six fractional digits or more; null for a token that is not accepted. */
  amount: string | null;
  /** The memo beside the address, on stellar; null without one. */
  memo: string | null;
  /** The payment of yours that it was sent for. */
  payment: string | null;
  /** It is what this payment asked for: its coin, network and address. */
  matched: boolean;
  /** Why it counts for the payment, or does not. */
  code: Open<ClaimTransferCode>;
  /** The same as a sentence for people. */
  message: string;
  /** Who sent it. */
  from: string;
  /** Where it went. */
  to: string;
}

export interface DebtOffset {
  /** The network it is on. */
  network: Open<Network>;
  /** The coin that is taken. */
  cryptocurrency: Open<Cryptocurrency>;
  /** What is taken of it: decimal. */
  amount: string;
  /** Where it is owed. */
  debtNetwork: Open<Network>;
  /** The coin that is owed. */
  debtCryptocurrency: Open<Cryptocurrency>;
  /** What of the debt is repaid. */
  debtAmount: string;
  /** What one of the coin taken is worth in the coin owed; 1 for the same coin. */
  rate: string;
  /** Where the rate is from; null for the same coin. */
  source: string | null;
  /** When the rate was read. */
  quotedAt: string | null;
}

export interface DeletedWebhook {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "webhook";
  /** True: it is gone. */
  deleted: true;
}

export interface Delivery {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "delivery";
  /** `pending` while attempts are left, then `delivered`, `failed` or `discarded`. */
  status: Open<DeliveryStatus>;
  /** Its id. */
  event: string;
  /** The type of the event. */
  eventType: string;
  /** The id of the webhook. */
  endpoint: string;
  /** Where it is sent. */
  url: string;
  /** How many attempts were made. */
  attemptCount: number;
  /** When the next attempt is due; null when none is. */
  nextAttemptAt: string | null;
  /** When a 2xx came; null before. */
  deliveredAt: string | null;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it was made. */
  createdAt: string;
  /** Kept for 60 days. */
  attempts: Attempt[];
}

export interface Discrepancy {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "discrepancy";
  /** Id of the payment. */
  paymentId: string;
  /** Why the money waits. */
  kind: Open<DiscrepancyKind>;
  /** `open` until it is accepted or refunded. */
  status: Open<DiscrepancyStatus>;
  /** Decimal, six fractional digits or more. */
  amount: string;
  /** The coin that came. */
  cryptocurrency: Open<Cryptocurrency>;
  /** Where it came. */
  network: Open<Network>;
  /** What was written when it was accepted. */
  note: string | null;
  /** When it was made. */
  createdAt: string;
  /** When somebody decided, or a reorganisation did. */
  resolvedAt: string | null;
}

export interface EntryWorth {
  /** Your settlement currency, or the currency that was asked for. */
  currency: string;
  /** At the rate of its day. */
  amount: string;
  /** What one of the coin was worth. */
  rate: string;
}

export interface ExchangeRate {
  /** Price of one coin in the currency, decimal. */
  rate: string;
  /** Where the rate is from. */
  source: string;
  /** When the rate was read. */
  quotedAt: string;
}

export interface Invoice {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "invoice";
  /** A credit note is for returned fees; amounts are positive. */
  kind: Open<InvoiceKind>;
  /** In one series of the installation, without a gap. */
  number: string;
  /** Such as `2027-01`, on the clocks of your settlements. */
  month: string;
  /** Where your invoice before it has ended. */
  periodStart: string;
  /** What happened before it is invoiced. */
  periodEnd: string;
  /** The operator of the installation. */
  issuer: Issuer;
  /** You, as your billing details were. */
  recipient: Recipient;
  /** The fees in each coin on each network. */
  lines: InvoiceLine[];
  /** Of the invoice: ISO 4217. */
  currency: Open<Currency>;
  /** The lines together. What is below the currency's last digit is carried to your next document. */
  netAmount: string;
  /** In percent. */
  taxRate: string;
  /** Net × tax rate, rounded half up. */
  taxAmount: string;
  /** Why there is no tax, such as reverse charge. */
  taxNote: string | null;
  /** It was already deducted from settlements: you do not need to pay anything. */
  totalAmount: string;
  /** Of a credit note: your last invoice before it. */
  correctsInvoiceId: string | null;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it was issued. */
  createdAt: string;
}

export interface InvoiceLine {
  /** The network it is on. */
  network: Open<Network>;
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** The fees in the coin. */
  amount: string;
  /** What one coin was worth in the invoice's currency when it was issued. */
  rate: string;
  /** Where the rate is from. */
  rateSource: string;
  /** When the rate was true. */
  ratedAt: string;
  /** Amount × rate; the lines add up to `netAmount`. */
  net: string;
}

export interface Issuer {
  /** Of the company or person. */
  name: string;
  /** With line breaks, as on an envelope. */
  address: string;
  /** Its code of two letters. */
  country: string;
  /** Empty: none. */
  taxId: string;
}

export interface Item {
  /** What it is. */
  name: string;
  /** How many pieces. */
  quantity: number;
  /** Of all its pieces, in the currency; null without one. */
  amount: number | null;
}

export interface Merchant {
  /** mer_ and 26 characters. */
  id: string;
  /** What kind of record this is. */
  object: "merchant";
  /** Of the business. */
  name: string;
  /** Where mails about the account go. */
  email: string;
  /** Decides how many requests a minute you may send. */
  plan: Open<MerchantPlan>;
  /** Kept of what payments bring in, in hundredths of a percent. */
  feeBps: number;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** The coin that settlements are paid in. */
  settlementCurrency: Open<Cryptocurrency>;
  settlementSchedule: Schedule;
  /** In percent, two fractional digits. */
  paymentTolerance: string;
  /** `hold` late money for a decision, or `accept` it. */
  latePayments: Open<LatePayments>;
  /** `ask`, `give_back` or `keep` what is paid beyond the price. */
  surplus: Open<MerchantSurplus>;
  /** In percent, two fractional digits. */
  surplusKept: string;
  /** Wallets that payments may name as merchantWallet; an empty list allows any. */
  walletAllowList: string[];
  /** One for each coin on each network. */
  balances: BalanceEntry[];
  /** When it was made. */
  createdAt: string;
}

export interface Month {
  /** What kind of record this is. */
  object: "monthly_statement";
  /** Grows when a field or column changes its meaning or is removed. */
  version: 1;
  /** Your own id. */
  merchantId: string;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** Such as `2027-01`: on the clocks of your settlements. */
  month: string;
  /** Of the statement, as on its page and its PDF. */
  number: string;
  /** Of the settlements. */
  timeZone: string;
  /** When the month begins. */
  periodStart: string;
  /** What happened before it is in the statement. */
  periodEnd: string;
  /** False while the month runs. */
  isComplete: boolean;
}

export interface MonthAccount {
  /** `balance` is yours, less what you owe; `held` while coins are missing; `suspense` waits for you. */
  account: Open<MonthAccountName>;
  /** The network it is on. */
  network: Open<Network>;
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** At the beginning of the month. */
  openingBalance: string;
  /** What changed it, oldest first. */
  entries: MonthEntry[];
  /** Opening balance + entries, to the last digit. */
  closingBalance: string;
  /** What it all was worth, at recorded rates. */
  valuations: Valuation[];
}

export interface MonthEntry {
  /** What it was: a kind of balance change, `fee`, or the kind of posting. */
  type: string;
  /** The day in the time zone of the statement. */
  date: string;
  /** When it was posted. */
  time: string;
  /** Below zero when money went. */
  amount: string;
  /** After it. */
  balance: string;
  /** What it was worth when its payment was quoted. */
  fiatAmount: number | null;
  /** Of `fiatAmount`. */
  fiatCurrency: string | null;
  /** The payment that it belongs to. */
  paymentId: string | null;
  /** What it was for: the id of a record. */
  reference: string;
  /** The settlement that took it into account. */
  settlementId: string | null;
  /** The coin that it was settled in. */
  settlementCurrency: string | null;
  /** What it became there, at the rate that was recorded. */
  inSettlementCurrency: string | null;
  /** What one of the coin became in the settlement currency. */
  rate: string | null;
  /** By currency; those without a recorded rate are left out. */
  worth: EntryWorth[];
}

export interface MonthlyStatement {
  /** What kind of record this is. */
  object: "monthly_statement";
  /** Grows when a field or column changes its meaning or is removed. */
  version: 1;
  /** Your own id. */
  merchantId: string;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** Such as `2027-01`: on the clocks of your settlements. */
  month: string;
  /** Of the statement, as on its page and its PDF. */
  number: string;
  /** Of the settlements. */
  timeZone: string;
  /** When the month begins. */
  periodStart: string;
  /** What happened before it is in the statement. */
  periodEnd: string;
  /** False while the month runs. */
  isComplete: boolean;
  /** Each account in each coin on each network. */
  accounts: MonthAccount[];
}

export interface NextSettlements {
  /** What kind of record this is. */
  object: "next_settlements";
  /** Null when settlements are made by hand. */
  scheduledFor: string | null;
  /** The beginning of the time that is settled. */
  periodStart: string;
  /** The end of the time that is settled; this instant itself belongs to the next. */
  periodEnd: string | null;
  /** What would be paid, one for each wallet and network. */
  settlements: PlannedSettlement[];
  /** What is left for a later run, and why. */
  carriedOver: CarriedOver[];
  /** What repays debts before anything is paid. */
  debtOffsets: DebtOffset[];
  /**
   * The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a move
   * of the rate until then is yours, or of the moment it is made, so that it is the operator's.
   */
  rateMoment: Open<RateMoment>;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
}

export interface Payment {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "payment";
  /**
   * `created` until money is seen, `pending` while it confirms, then `completed` or `underpaid`; `expired` or
   * `cancelled` when nothing came; `partially_refunded` or `refunded` after refunds.
   */
  status: Open<PaymentStatus>;
  /** In the currency: an exact decimal number. */
  amount: number;
  /** ISO 4217 code of the price's currency. */
  currency: string;
  /** What the payer is asked for: decimal, six fractional digits. */
  cryptoAmount: string;
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** The network it is on. */
  network: Open<Network>;
  /** The hosted payment page. */
  url: string;
  /** PNG as a data URI: the address, or on stellar `paymentUri`. */
  qrCode: string;
  /** Until when it can be paid. */
  expiresAt: string;
  /** When it was made. */
  createdAt: string;
  /**
   * What is left to be sent, in the coin: less all that was seen, confirmed or not. 0 once it is paid or cannot be paid
   * any more.
   */
  amountDue: string;
  /** Confirmed and in time, in the coin. */
  amountReceived: string;
  /** In the coin. */
  amountRefunded: string;
  exchangeRate: ExchangeRate;
  /** Where the payer sends the coins. It belongs to this payment alone. */
  depositAddress: string;
  /** Needed with the address on stellar; else null. */
  memo: string | null;
  /** On stellar address and memo as one, for wallets with a single field; else null. */
  muxedAddress: string | null;
  /** EIP-681 or SEP-7 link with everything filled in; it asks for `amountDue`. */
  paymentUri: string;
  /** Of the transfer that still needs most; 0 before one is seen. */
  confirmations: number;
  /** How many confirmations make a transfer count. */
  requiredConfirmations: number;
  /** What was unusual; several can apply. */
  statusReasons: Open<PaymentStatusReason>[];
  /** The first 100 that were seen. */
  transfers: PaymentTransfer[];
  /** How many there are: `/payments/:id/transfers` lists them all. */
  transferCount: number;
  /** Where settlements of the payment go. */
  merchantWallet: string;
  /** Where the payer may go on after success. */
  redirectUrl: string | null;
  /** Where a payer who has not paid goes back to. */
  cancelUrl: string | null;
  /** Told of this payment's events as well; null without one. */
  webhookUrl: string | null;
  /** Seconds that the payer has. */
  expiresIn: number;
  /** Your own JSON object, as you sent it. */
  metadata: Record<string, unknown>;
  /** What it is for. Payers see it. */
  description: string | null;
  /** Lines of what is paid for. Payers see them. */
  items: Item[];
  /** For yourself; payers do not see it. */
  note: string | null;
  /** Id of the payment link that it was made by. */
  paymentLink: string | null;
  /** What its payer chooses among; empty where the request has said it. */
  choices: PaymentChoice[];
  /** When the payer last chose. Null: the coin and network are those offered first. */
  chosenAt: string | null;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it was completed; null before. */
  completedAt: string | null;
  /** When it was cancelled; null unless it was. */
  cancelledAt: string | null;
  /** When the time of an underpaid payment ended: no more is awaited. Null while it is. */
  closedAt: string | null;
  /** Grows with every change that an event tells of. */
  version: number;
  /** The newest 100, with `expand`. */
  discrepancies?: Discrepancy[];
  /** The newest 100, with `expand`. */
  refunds?: Refund[];
}

export interface PaymentChoice {
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** The network it is on. */
  network: Open<Network>;
  /** Where settlements go if the payer chooses it. */
  merchantWallet: string;
}

export interface PaymentLink {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "payment_link";
  /** The page that payers open. */
  url: string;
  /** PNG of the page's address, as a data URI. */
  qrCode: string;
  /** Whether it takes payments, and why not. */
  status: Open<PaymentLinkStatus>;
  /** False while you have it switched off. */
  enabled: boolean;
  /** What it is for. Payers see it. */
  description: string;
  /** For yourself; payers do not see it. */
  note: string | null;
  /** Null: the payer enters it. */
  amount: number | null;
  /** The least that a payer may enter, where the amount is open. */
  minAmount: number | null;
  /** The most that a payer may enter, where the amount is open. */
  maxAmount: number | null;
  /** ISO 4217 code of the price's currency. */
  currency: string;
  /** Null: all that the networks take. */
  cryptocurrencies: Open<Cryptocurrency>[] | null;
  merchantWallets: Wallets;
  /** Null: any number. */
  maxUses: number | null;
  /** Payments that hold a use: all but those that expired or were cancelled unpaid. Null: no limit. */
  usesTaken: number | null;
  /** Until when it can be paid; null for no end. */
  expiresAt: string | null;
  /** Seconds that the payer has. */
  expiresIn: number;
  /** Where the payer may go on after success. */
  redirectUrl: string | null;
  /** Your own JSON object, as you sent it. */
  metadata: Record<string, unknown>;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it was made. */
  createdAt: string;
}

export interface PaymentTransfer {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "transfer";
  /** Of the on-chain transaction. */
  hash: string;
  /** Decimal, with every digit that was sent: six or more. */
  amount: string;
  /** The coin. */
  cryptocurrency: string;
  /** The network it is on. */
  network: string;
  /** `seen` until it has its confirmations, then `credited`; `orphaned` when a reorganisation undid it. */
  status: Open<PaymentTransferStatus>;
  /** Height of its block, or number of its ledger. */
  block: number;
  /** How much of it has vanished from the network since, as when an issuer destroys it. */
  missing: string | null;
  /**
   * On stellar: the memo of the on-chain transaction, where the muxed address it was sent to says otherwise. The muxed
   * address counts; ask the payer for which payment it was meant.
   */
  conflictingMemo: string | null;
  /** When it was first seen. */
  seenAt: string;
}

export interface PlannedSettlement {
  /** The network it is on. */
  network: Open<Network>;
  /** The wallet that is paid. */
  destination: string;
  /** The coin that settlements are paid in. */
  settlementCurrency: Open<Cryptocurrency>;
  /** What payments brought in: decimal. */
  grossAmount: string;
  /** The service fee: decimal. */
  feeAmount: string;
  /** What refunds took: decimal. */
  refundAmount: string;
  /** The part of `refundAmount` that repays debts elsewhere. */
  debtAmount: string;
  /** As of now: what comes in until then is added. */
  amount: string;
  /** How many payments are in it. */
  paymentCount: number;
  /**
   * By coin: the price of one in the settlement currency now. Null when nothing has to be converted, or there is no
   * rate at the moment.
   */
  exchangeRate: Record<string, ExchangeRate> | null;
  /** Why the network would not have paid this wallet when it was last asked; the settlement asks again. */
  problem: Open<PlannedSettlementProblem> | null;
  /** The same as a sentence for people, and what to do. */
  problemMessage: string | null;
}

export interface Quote {
  /** What kind of record this is. */
  object: "quote";
  /** In the currency. */
  amount: number;
  /** ISO 4217 code of the price's currency. */
  currency: string;
  /** Each coin on each network that can be paid with now, the cheapest and fastest first. */
  options: QuoteOption[];
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
}

export interface QuoteOption {
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** The network it is on. */
  network: Open<Network>;
  /** What the payer would be asked for: decimal, six digits. */
  cryptoAmount: string;
  exchangeRate: ExchangeRate;
  /** About what the payer's wallet pays the network, in USD. */
  networkFee: number;
  /** About how long it takes to be confirmed. */
  seconds: number;
}

export interface Recipient {
  /** Of the company or person. */
  name: string;
  /** With line breaks, as on an envelope. */
  address: string;
  /** Its code of two letters. */
  country: string;
  /** Empty: none. */
  taxId: string;
  /** Your own id. */
  merchantId: string;
}

export interface Refund {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "refund";
  /** Id of the payment. */
  paymentId: string;
  /** The discrepancy that is refunded. */
  discrepancyId: string | null;
  /** In the currency, at the original quote: an exact decimal number. Null for a coin nobody quoted. */
  amount: number | null;
  /** The payment's. */
  currency: string;
  /** What is sent: decimal, six fractional digits; more where all that is left is sent. */
  cryptoAmount: string;
  /** What the token itself kept of it on the way, as some may; zero until it is completed. */
  tokenFee: string;
  /** What arrived, by the receipt of the on-chain transaction; null until then. */
  receivedAmount: string | null;
  /**
   * Whether your next settlement returns the fee on the refunded amount, by the operator's policy when the refund was
   * created. False for a discrepancy, on which no fee is taken.
   */
  returnsFee: boolean;
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** The network it is on. */
  network: Open<Network>;
  /** Null while nobody has named one. */
  destination: string | null;
  /** The memo beside the address, on stellar; null without one. */
  memo: string | null;
  /** How the memo is sent; null without one. */
  memoType: Open<MemoType> | null;
  /**
   * `requires_action` until its address is known, then `pending`, `processing`, and `completed` or `failed`;
   * `cancelled` when you ended it.
   */
  status: Open<RefundStatus>;
  /**
   * While an address is needed: the page on which the payer gives one. Good for 30 days and one address. Shown to keys
   * that may write refunds, and in no event: whoever opens it says where the money goes.
   */
  claimUrl: string | null;
  /** Why, in your own words. */
  reason: string | null;
  /** Of the on-chain transaction, once it is final. */
  transactionHash: string | null;
  /**
   * On stellar, where the account could not take the coin for days and the operator sets money aside then: the
   * claimable balance that the recipient has to claim. Null for a refund that was paid.
   */
  claimableBalanceId: string | null;
  /** Why it has not left yet, while something holds it. */
  holdReason: Open<RefundHoldReason> | null;
  /** Why it failed, for programs; null unless it did. */
  failureCode: string | null;
  /** Why it failed, for people; null unless it did. */
  failureMessage: string | null;
  /** Your own JSON object, as you sent it. */
  metadata: Record<string, unknown>;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it was made. */
  createdAt: string;
  /** When it was completed; null before. */
  completedAt: string | null;
  /** Grows with every change that an event tells of. */
  version: number;
}

export interface Replay {
  /** What kind of record this is. */
  object: "replay";
  /** Of the webhook. */
  endpoint: string;
  /** How many deliveries are due now. */
  deliveryCount: number;
}

export interface RequestLogEntry {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "request";
  /** Of HTTP. */
  method: string;
  /** Without the query. */
  path: string;
  /** What followed the `?`, without secrets. */
  query: string;
  /** Of the reply. */
  statusCode: number;
  /** The `code` of its error; null without one. */
  errorCode: string | null;
  /** Its `X-Request-Id`. */
  requestId: string;
  /** Its `Idempotency-Key`; null without one. */
  idempotencyKey: string | null;
  /** The public half of its key pair. */
  publicKey: string;
  /** Where it came from; null if that is not known. */
  ipAddress: string | null;
  /** Until it was answered, in milliseconds. */
  durationMs: number;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it came. */
  createdAt: string;
}

export interface Schedule {
  /** How often settlements are made. */
  frequency: Open<Frequency>;
  /** 24-hour HH:MM. */
  time: string;
  /** IANA name of the time zone that the time of day is in. */
  timezone: string;
  /** For weekly settlements; null for others. */
  dayOfWeek: number | null;
  /** For monthly settlements; null for others. A shorter month takes its last day. */
  dayOfMonth: number | null;
  /** Decimal, six fractional digits. */
  minimumAmount: string;
}

export interface Settlement {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "settlement";
  /** `pending` until it is final on its network, then `completed`, or `failed`. */
  status: Open<SettlementStatus>;
  /** The coin it is paid in. */
  settlementCurrency: Open<Cryptocurrency>;
  /** The network it is on. */
  network: Open<Network>;
  /** The wallet it is paid to. */
  destination: string;
  /**
   * What came in and no reorganisation undid, in the settlement currency; an estimate until everything is converted.
   */
  grossAmount: string;
  /** Below zero when the fee of what was undone is given back. */
  feeAmount: string;
  /** Refunds and whatever else came off, `debtAmount` included. */
  refundAmount: string;
  /** The part of `refundAmount` that repaid what you owed in other coins or on other networks. */
  debtAmount: string;
  /** What is paid: gross less fee less refunds, exactly. Six digits or more. */
  amount: string;
  /** What the token itself kept of it on the way, as some may; zero until it is completed. */
  tokenFee: string;
  /** What arrived, by the receipt of the on-chain transaction; null until then. */
  receivedAmount: string | null;
  /** How many payments are in it. */
  paymentCount: number;
  /**
   * By coin: the price of one in the settlement currency. Null when nothing has to be converted, and while it is an
   * estimate: see `rateMoment`.
   */
  exchangeRate: Record<string, ExchangeRate> | null;
  /**
   * The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a move
   * of the rate until then is yours, or of the moment it is made, so that it is the operator's.
   */
  rateMoment: Open<RateMoment>;
  /** The beginning of the time that is settled. */
  periodStart: string;
  /** What happened before it is settled. */
  periodEnd: string;
  /** The time of the schedule it was made for. */
  scheduledFor: string;
  /** Of the on-chain transaction that paid it. */
  transactionHash: string | null;
  /**
   * On stellar, where the wallet could not take the coin for days and the operator sets money aside then: the claimable
   * balance that it became, which the wallet collects. Null for a settlement that was paid.
   */
  claimableBalanceId: string | null;
  /** Why it waits, or has failed. */
  failureCode: Open<PlannedSettlementProblem> | null;
  /** Why it failed, for people; null unless it did. */
  failureMessage: string | null;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it was made. */
  createdAt: string;
  /** When it was completed; null before. */
  completedAt: string | null;
  /** Grows with every change that an event tells of. */
  version: number;
}

export interface Simulation {
  /** What kind of record this is. */
  object: "simulation";
  /** What was simulated. */
  scenario: Open<Scenario>;
  /** What to expect. */
  description: string;
  /** Of the simulated on-chain transaction. */
  transactionHash: string;
  payment: Payment;
}

export interface Statement {
  /** What kind of record this is. */
  object: "settlement_statement";
  /** Of this form, in CSV too. */
  version: 1;
  /** Id of the settlement. */
  settlement: string;
  /** The status of the settlement. */
  status: Open<SettlementStatus>;
  /** The coin that settlements are paid in. */
  settlementCurrency: Open<Cryptocurrency>;
  /** The network it is on. */
  network: Open<Network>;
  /** The wallet that is paid. */
  destination: string;
  /** With every digit of the coin. */
  amount: string;
  /**
   * The operator's policy: other coins are converted at the rate of the moment the settlement is paid, so that a move
   * of the rate until then is yours, or of the moment it is made, so that it is the operator's.
   */
  rateMoment: Open<RateMoment>;
  /** In hundredths of a percent of what payments brought in. */
  feeBps: number;
  /** The beginning of the time that is settled. */
  periodStart: string;
  /** The end of the time that is settled; this instant itself belongs to the next. */
  periodEnd: string;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** One for each coin that was settled. */
  coins: StatementCoin[];
}

export interface StatementCoin {
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** From before the period, not settled then: what the opening balance is made of. */
  carriedOver: StatementEntry[];
  /** What the period began with: decimal. */
  openingBalance: string;
  /** What happened in the period, oldest first. */
  entries: StatementEntry[];
  /** The opening balance and the amounts of all entries, exactly. */
  closingBalance: string;
}

export interface StatementConversion {
  /** The other coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** Price of one converted coin in the settlement currency, decimal. */
  rate: string;
  /** Where the rate is from. */
  source: string;
  /** When the rate was read. */
  quotedAt: string;
}

export interface StatementDebtOffset {
  /** The coin. */
  cryptocurrency: Open<Cryptocurrency>;
  /** The network it is on. */
  network: Open<Network>;
  /** What the debt lost or, of a debt that was repaid, what was taken for it. */
  amount: string;
  /** What one of the coin taken is worth in the coin owed; 1 for the same coin. */
  rate: string;
  /** Where the rate is from; null for the same coin. */
  source: string | null;
  /** When the rate was read. */
  quotedAt: string | null;
}

export interface StatementEntry {
  /** What happened. */
  type: Open<StatementEntryType>;
  /** When it happened. */
  time: string;
  /** Signed, with every digit of the coin. */
  amount: string;
  /** Of the coin, after this entry. */
  balance: string;
  /** Id of what it was for. */
  reference: string;
  /** Id of the payment. */
  paymentId: string | null;
  /** Id of the refund, where it is one. */
  refundId: string | null;
  /** The wallet of the payment. */
  wallet: string | null;
  /** What that was worth when the payment was quoted: a refund its share of it. */
  fiatAmount: number | null;
  /** Currency of the payment's price. */
  fiatCurrency: string | null;
  /** How it was turned into the settlement's coin; null when it was in that coin already. */
  conversion: StatementConversion | null;
  /** Of the on-chain transaction. */
  transactionHash: string | null;
  /** Of a refund or settlement: what the token kept, so that so much less arrived. */
  tokenFee: string | null;
  /** Of a refund or settlement: the claimable balance that it was set aside as. */
  claimableBalanceId: string | null;
  /** The other side of a line `debt_offset` or `debt_repaid`; null for others. */
  debtOffset: StatementDebtOffset | null;
  /** Of a refund, or one that came back: whether the fee on it is given back, or taken again. Null for others. */
  returnsFee: boolean | null;
}

export interface TimelineEntry {
  /** Of the event. */
  id: string;
  /** What kind of record this is. */
  object: "event";
  /** The type of the event. */
  type: string;
  /** The payment's version at this event. */
  version: number;
  /** The payment's status at this event. */
  status: Open<PaymentStatus>;
  /** What had been received by then: decimal. */
  amountReceived: string;
  /** When it was made. */
  createdAt: string;
}

export interface Valuation {
  /** Your settlement currency, or the currency that was asked for. */
  currency: string;
  /** Null when no rate was recorded for it. */
  opening: BalanceWorth | null;
  /** The worth of those entries that have a rate. */
  entries: string;
  /** How many have none. */
  entriesWithoutRate: number;
  /** What rates alone have changed; null when a rate is missing. */
  revaluation: string | null;
  /** Null when no rate was recorded for it. */
  closing: BalanceWorth | null;
}

export interface Wallets {
  /** Where settlements go on stellar. */
  stellar?: string;
  /** Where settlements go on ethereum. */
  ethereum?: string;
  /** Where settlements go on polygon. */
  polygon?: string;
}

export interface WebhookEndpoint {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "webhook";
  /** The address that events are sent to. */
  url: string;
  /** Event types; `*` is all of them. */
  events: string[];
  /** `enabled`, or `disabled`: nothing is sent then. */
  status: Open<WebhookStatus>;
  /** `merchant`: by you. `gone`: it answered 410. `failing`: nothing succeeded for five days. */
  disabledReason: Open<DisabledReason> | null;
  /** When it was disabled; null while it is enabled. */
  disabledAt: string | null;
  /** A note of your own. */
  description: string;
  /** True for the webhookUrl of payments: it is not listed, and the account's secret signs. */
  isPaymentAddress: boolean;
  /** After a rotation: until when the previous secret signs too. */
  previousSecretExpiresAt: string | null;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it was made. */
  createdAt: string;
}

export interface WebhookEndpointWithSecret {
  /** Names the record for good. */
  id: string;
  /** What kind of record this is. */
  object: "webhook";
  /** The address that events are sent to. */
  url: string;
  /** Event types; `*` is all of them. */
  events: string[];
  /** `enabled`: events are sent from now on. */
  status: Open<WebhookStatus>;
  /** `merchant`: by you. `gone`: it answered 410. `failing`: nothing succeeded for five days. */
  disabledReason: Open<DisabledReason> | null;
  /** Null: it is enabled. */
  disabledAt: string | null;
  /** A note of your own. */
  description: string;
  /** True for the webhookUrl of payments: it is not listed, and the account's secret signs. */
  isPaymentAddress: boolean;
  /** After a rotation: until when the previous secret signs too. */
  previousSecretExpiresAt: string | null;
  /** Where it was made: with test keys in the sandbox, with live keys in production. */
  environment: Open<Environment>;
  /** When it was made. */
  createdAt: string;
  /** `whsec_…`, shown now and never again. */
  secret: string;
}

export interface AcceptanceRequest {
  /** Why, for your own records. */
  note?: string | null | undefined;
}

export interface ClaimRequest {
  /** 0x and 64 hexadecimal digits on ethereum and polygon, 64 hexadecimal digits on stellar. */
  transactionHash: string;
}

export interface DestinationRequest {
  /** An address on the refund's network. */
  destination: string;
  /** On stellar, where the account asks for one, as those of exchanges do. */
  memo?: string | null | undefined;
  /**
   * `text` where the recipient wants a memo of digits as text, as some exchanges do. Left out: a number is an id,
   * anything else text.
   */
  memoType?: MemoType | null | undefined;
}

export interface ItemRequest {
  /** What it is. */
  name: string;
  /** How many pieces. 1 when it is left out. */
  quantity?: number | null | undefined;
  /**
   * Of all its pieces, in the payment's currency; below 0 for a discount. With an amount for each item they add up to
   * the payment's.
   */
  amount?: number | null | undefined;
}

export interface NewPaymentLinkRequest {
  /** What it is for. Payers see it. */
  description: string;
  /** ISO 4217 code of the price's currency. */
  currency: Currency;
  /** In the currency. Left out: the payer enters it. */
  amount?: number | null | undefined;
  /** The least a payer may enter, where there is no `amount`. */
  minAmount?: number | null | undefined;
  /** The most a payer may enter, where there is no `amount`. */
  maxAmount?: number | null | undefined;
  /** Where settlements go, by network. The payer chooses among the networks that are named here. */
  merchantWallets: WalletsRequest;
  /** The coins that the payer chooses among. Left out: all that the networks take. */
  cryptocurrencies?: readonly Cryptocurrency[] | null | undefined;
  /** How many payments it is good for. With 1 it is one payment whose coin the payer chooses. */
  maxUses?: number | null | undefined;
  /** Until when payments can be made of it, ISO 8601, UTC; a date means its end. */
  expiresAt?: string | Date | null | undefined;
  /** Seconds a payer has for each payment, once the coin is chosen. 1800 when it is left out. */
  expiresIn?: number | null | undefined;
  /** Where payers may go on after success. */
  redirectUrl?: string | null | undefined;
  /** For yourself; payers do not see it. */
  note?: string | null | undefined;
  /** Given to each payment. */
  metadata?: Record<string, unknown> | null | undefined;
}

export interface NewPaymentRequest {
  /** In the currency, with at most its minor digits; worth at most 1,000,000 USD at the current rate. */
  amount: number;
  /** ISO 4217 code of the price's currency. */
  currency: Currency;
  /** The coin the payer sends. Left out with `network` and `merchantWallet`: the payer chooses. */
  cryptocurrency?: Cryptocurrency | null | undefined;
  /** The network it is sent on. */
  network?: Network | null | undefined;
  /**
   * Where settlements of this payment go. On stellar an M address is taken as well; a G address whose account asks for
   * memos, as those of exchanges do, is refused.
   */
  merchantWallet?: string | null | undefined;
  /**
   * Instead of `network` and `merchantWallet`: where settlements go, by network. The payer chooses among these
   * networks. Left out: those of your wallets in use.
   */
  merchantWallets?: WalletsRequest | null | undefined;
  /** Instead of `cryptocurrency`: the coins that the payer chooses among. Left out: all of the networks. */
  cryptocurrencies?: readonly Cryptocurrency[] | null | undefined;
  /** What it is for. Payers see it, and receipts name it. */
  description?: string | null | undefined;
  /** Lines of what is paid for. Payers see them. */
  items?: readonly ItemRequest[] | null | undefined;
  /** For yourself; payers do not see it. */
  note?: string | null | undefined;
  /** Where the payer may go on after success. */
  redirectUrl?: string | null | undefined;
  /**
   * Where a payer who has not paid may go back to, once the payment expired or was cancelled. Left out: the first page
   * of the site of `redirectUrl`.
   */
  cancelUrl?: string | null | undefined;
  /** Told of this payment's events as well. */
  webhookUrl?: string | null | undefined;
  /** Seconds the payer has. 1800 when it is left out. */
  expiresIn?: number | null | undefined;
  /** Any JSON object of yours, up to 16 KiB; given back as sent. */
  metadata?: Record<string, unknown> | null | undefined;
}

export interface NewRefundRequest {
  /** The payment to refund. */
  paymentId: string;
  /**
   * In the payment's currency. Its original quote says how many coins that is, whatever they are worth by now. Left
   * out: all that is left.
   */
  amount?: number | null | undefined;
  /** A note of yours. */
  reason?: string | null | undefined;
  /** Where the money goes. Left out: back to the sender, when that is an ordinary account. */
  destination?: string | null | undefined;
  /** On stellar, where the destination asks for one. */
  memo?: string | null | undefined;
  /**
   * `text` where the recipient wants a memo of digits as text, as some exchanges do. Left out: a number is an id,
   * anything else text.
   */
  memoType?: MemoType | null | undefined;
  /** The discrepancy to refund. It is refunded in full, so leave out the amount. */
  discrepancyId?: string | null | undefined;
  /** Any JSON object of yours, up to 16 KiB; given back as sent. */
  metadata?: Record<string, unknown> | null | undefined;
}

export interface NewWebhookRequest {
  /** Where events are sent: a public https address; http too in the sandbox. */
  url: string;
  /** Which events to send; `*` is all, later ones included. */
  events?: readonly WebhookEventType[] | null | undefined;
  /** A note of your own. */
  description?: string | null | undefined;
}

export interface PaymentChangesRequest {
  /** What it is for. Payers see it. */
  description?: string | null | undefined;
  /** For yourself; payers do not see it. */
  note?: string | null | undefined;
  /** Names that are set; a name with `null` is removed, and all others stay. At most 16 KiB in all. */
  metadata?: Record<string, unknown> | null | undefined;
}

export interface PaymentLinkChangesRequest {
  /** Whether payments can be made of it. */
  enabled?: boolean | null | undefined;
  /** What it is for. Payers see it. */
  description?: string | null | undefined;
  /** For yourself; payers do not see it. */
  note?: string | null | undefined;
  /** Null: any number. */
  maxUses?: number | null | undefined;
  /** Null: never. */
  expiresAt?: string | Date | null | undefined;
  /** Seconds that the payer has. */
  expiresIn?: number | null | undefined;
  /** Where the payer may go on after success. */
  redirectUrl?: string | null | undefined;
  /** Your own JSON object, as you sent it. */
  metadata?: Record<string, unknown> | null | undefined;
}

export interface ReplayRequest {
  /** From this ISO 8601 time on, UTC; a date means its beginning. */
  createdGte: string | Date;
  /** Up to this time; a date means its end. */
  createdLte: string | Date;
  /** Only these; otherwise all the webhook listens to. */
  types?: readonly EventType[] | null | undefined;
}

export interface ScheduleRequest {
  /** How often settlements are made. */
  frequency?: Frequency | null | undefined;
  /** 24-hour HH:MM in the schedule's time zone. */
  time?: string | null | undefined;
  /** IANA name, such as Europe/Berlin. */
  timezone?: string | null | undefined;
  /** 1 Monday to 7 Sunday; for weekly. */
  dayOfWeek?: number | null | undefined;
  /** For monthly; in a shorter month its last day. */
  dayOfMonth?: number | null | undefined;
  /** Settle only from this much on, in the settlement currency. */
  minimumAmount?: string | number | null | undefined;
}

export interface SettingsRequest {
  /** The coin that settlements are paid in. */
  settlementCurrency?: Cryptocurrency | null | undefined;
  /** When settlements are made. */
  settlementSchedule?: ScheduleRequest | null | undefined;
  /** How far short a payment may fall and still complete, in percent: from 0 to 0.5. */
  paymentTolerance?: string | number | null | undefined;
  /** `hold` late money for a decision, or `accept` it within 24 hours when the amount is complete. */
  latePayments?: LatePayments | null | undefined;
  /**
   * What happens to a surplus: `ask` holds it for a decision, `give_back` refunds it to its sender, `keep` credits it
   * up to `surplusKept`.
   */
  surplus?: MerchantSurplus | null | undefined;
  /** Up to how much of the price a surplus is kept, in percent: above 0 and at most 1 with `keep`, else 0. */
  surplusKept?: string | number | null | undefined;
  /** Wallets that payments may name as merchantWallet; an empty list allows any. */
  walletAllowList?: readonly string[] | null | undefined;
}

export interface SimulationRequest {
  /** What happens to the payment. */
  scenario: Scenario;
}

export interface WalletsRequest {
  /** Where settlements go on stellar. */
  stellar?: string | null | undefined;
  /** Where settlements go on ethereum. */
  ethereum?: string | null | undefined;
  /** Where settlements go on polygon. */
  polygon?: string | null | undefined;
}

export interface WebhookChangesRequest {
  /** The address that events are sent to. */
  url?: string | null | undefined;
  /** The types of events it is sent; `*` is all of them. */
  events?: readonly WebhookEventType[] | null | undefined;
  /** A note of your own. */
  description?: string | null | undefined;
  /** Disabling discards what waits to be sent. */
  status?: WebhookStatus | null | undefined;
}
