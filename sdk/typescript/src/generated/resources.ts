/** Resources of the API. Generated from docs/openapi.json by sdk/generator: change that, not this. */

import type { Call, ListCall } from "../calls.js";
import type { CallOptions } from "../options.js";
import { segment, type Transport } from "../transport.js";
import type { Event } from "./events.js";
import type * as models from "./models.js";

export interface PaymentsListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Created at or after this ISO 8601 time, UTC; a date means its beginning. */
  created_gte?: string | Date | undefined;
  /** Created at or before this ISO 8601 time, UTC; a date means its end. */
  created_lte?: string | Date | undefined;
  /**
   * Only payments in this status, or in one of several, separated by commas: `created`, `pending`, `underpaid`,
   * `completed`, `partially_refunded`, `refunded`, `expired`, `cancelled`.
   */
  status?: string | undefined;
  /** Only payments that are asked for on this network. */
  network?: models.Network | undefined;
  /** Only payments that are asked for in this coin. */
  cryptocurrency?: models.Cryptocurrency | undefined;
  /** Only payments priced in this currency. */
  currency?: models.Currency | undefined;
  /** Priced at least so much of `currency`. */
  amount_gte?: string | undefined;
  /** Priced at most so much of `currency`. */
  amount_lte?: string | undefined;
  /**
   * Only payments whose metadata has this value, as `metadata[order]=1007`: how to find a payment by your order's
   * number. Several names must all fit.
   */
  metadata?: Record<string, string> | undefined;
  /** Only payments made by this payment link. */
  paymentLink?: string | undefined;
}

export interface PaymentsGetParams {
  /** What the record has then too, the newest 100 of each: `discrepancies`, `refunds`, or both separated by a comma. */
  expand?: string | undefined;
}

export interface PaymentsTimelineParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
}

export interface PaymentsTransfersParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
}

export interface PaymentsDiscrepanciesParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
}

/** Request payments, and see what arrived. */
export class PaymentsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create a payment.
   *
   * Quotes the price in the coin, reserves an address that belongs to this payment alone, and replies with a page for
   * the payer at `url`. Without `cryptocurrency`, `network` and `merchantWallet` the payer chooses coin and network
   * there. Send an `Idempotency-Key`, so that a request sent twice makes one payment.
   *
   * Scope: `payments:write`.
   */
  create(params: models.NewPaymentRequest, options?: CallOptions): Call<models.Payment> {
    return this.#transport.call({ method: "POST", path: "/payments", body: params }, options);
  }

  /**
   * List payments.
   *
   * Newest first.
   *
   * Scope: `payments:read`.
   */
  list(params?: PaymentsListParams, options?: CallOptions): ListCall<models.Payment> {
    return this.#transport.list({ method: "GET", path: "/payments", query: params }, options);
  }

  /**
   * Get a payment.
   *
   * The payment as it is now. Deliver goods when `status` is `completed`.
   *
   * Scope: `payments:read`.
   */
  get(paymentId: string, params?: PaymentsGetParams, options?: CallOptions): Call<models.Payment> {
    return this.#transport.call({ method: "GET", path: `/payments/${segment(paymentId)}`, query: params }, options);
  }

  /**
   * Update a payment.
   *
   * Changes the description, the note and single names of the metadata, at any time, also once the payment is over. A
   * change is told by `payment.updated`. Price, coin and wallet stay.
   *
   * Scope: `payments:write`.
   */
  update(paymentId: string, params: models.PaymentChangesRequest = {}, options?: CallOptions): Call<models.Payment> {
    return this.#transport.call({ method: "PATCH", path: `/payments/${segment(paymentId)}`, body: params }, options);
  }

  /**
   * Cancel a payment.
   *
   * Ends a payment that nothing was sent for yet. Money that comes later waits for a decision.
   *
   * Scope: `payments:write`.
   */
  cancel(paymentId: string, options?: CallOptions): Call<models.Payment> {
    return this.#transport.call({ method: "POST", path: `/payments/${segment(paymentId)}/cancel` }, options);
  }

  /**
   * Close an underpaid payment early.
   *
   * Ends the time of a payment that has received too little. What came waits as a discrepancy, which you accept or
   * refund; what is sent later is late. Refused while more has been seen and is not confirmed.
   *
   * Scope: `decisions:write`.
   */
  close(paymentId: string, options?: CallOptions): Call<models.Payment> {
    return this.#transport.call({ method: "POST", path: `/payments/${segment(paymentId)}/close` }, options);
  }

  /**
   * Explain an on-chain transaction.
   *
   * For a payer who says that they paid: looks the transaction up on the payment's network, and says of every transfer
   * in it why it counts for the payment or does not. It credits nothing.
   *
   * Scope: `payments:read`.
   */
  claim(paymentId: string, params: models.ClaimRequest, options?: CallOptions): Call<models.Claim> {
    return this.#transport.call(
      { method: "POST", path: `/payments/${segment(paymentId)}/claim`, body: params },
      options,
    );
  }

  /**
   * Simulate a payment.
   *
   * Plays a payer on the simulated network of the sandbox: one who pays exactly, too little, late or otherwise. In
   * production there is nothing to act out.
   *
   * Scope: `payments:write`.
   */
  simulate(paymentId: string, params: models.SimulationRequest, options?: CallOptions): Call<models.Simulation> {
    return this.#transport.call(
      { method: "POST", path: `/payments/${segment(paymentId)}/simulate`, body: params },
      options,
    );
  }

  /**
   * Get the timeline of a payment.
   *
   * Its events, each with the status and the amount received as they were then.
   *
   * Scope: `payments:read`.
   */
  timeline(paymentId: string, params?: PaymentsTimelineParams, options?: CallOptions): ListCall<models.TimelineEntry> {
    return this.#transport.list(
      { method: "GET", path: `/payments/${segment(paymentId)}/timeline`, query: params },
      options,
    );
  }

  /**
   * List a payment's transfers.
   *
   * Whether they count or not, newest first. The payment's own record has the first hundred.
   *
   * Scope: `payments:read`.
   */
  transfers(
    paymentId: string,
    params?: PaymentsTransfersParams,
    options?: CallOptions,
  ): ListCall<models.PaymentTransfer> {
    return this.#transport.list(
      { method: "GET", path: `/payments/${segment(paymentId)}/transfers`, query: params },
      options,
    );
  }

  /**
   * List a payment's discrepancies.
   *
   * Money that came late, short, in surplus or on the wrong network.
   *
   * Scope: `payments:read`.
   */
  discrepancies(
    paymentId: string,
    params?: PaymentsDiscrepanciesParams,
    options?: CallOptions,
  ): ListCall<models.Discrepancy> {
    return this.#transport.list(
      { method: "GET", path: `/payments/${segment(paymentId)}/discrepancies`, query: params },
      options,
    );
  }

  /**
   * Accept a discrepancy.
   *
   * Accepts the money of one discrepancy. Short and late money then counts for its payment, which it may complete; the
   * rest is extra. To give it back instead, create a refund.
   *
   * Scope: `decisions:write`.
   */
  acceptDiscrepancy(
    paymentId: string,
    discrepancyId: string,
    params: models.AcceptanceRequest = {},
    options?: CallOptions,
  ): Call<models.Discrepancy> {
    return this.#transport.call(
      {
        method: "POST",
        path: `/payments/${segment(paymentId)}/discrepancies/${segment(discrepancyId)}/accept`,
        body: params,
      },
      options,
    );
  }
}

export interface DiscrepanciesListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Created at or after this ISO 8601 time, UTC; a date means its beginning. */
  created_gte?: string | Date | undefined;
  /** Created at or before this ISO 8601 time, UTC; a date means its end. */
  created_lte?: string | Date | undefined;
  /** Only those in this status; `open` waits for you. */
  status?: models.DiscrepancyStatus | undefined;
  /** Only those of this kind. */
  kind?: models.DiscrepancyKind | undefined;
}

/** Money that waits for your decision, over all payments. */
export class DiscrepanciesResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * List all discrepancies.
   *
   * Money that came late, short, in surplus, in another coin or on the wrong network, over all payments, newest first.
   * With `status=open` it is what waits for your decision.
   *
   * Scope: `payments:read`.
   */
  list(params?: DiscrepanciesListParams, options?: CallOptions): ListCall<models.Discrepancy> {
    return this.#transport.list({ method: "GET", path: "/discrepancies", query: params }, options);
  }
}

export interface QuoteGetParams {
  /** The price, in the currency. */
  amount: string;
  /** ISO 4217 code of the price's currency. */
  currency: models.Currency;
  /** Only this coin. */
  cryptocurrency?: models.Cryptocurrency | undefined;
  /** Only this network. */
  network?: models.Network | undefined;
}

/** What a price comes to in each coin, without a payment. */
export class QuoteResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Get a quote.
   *
   * What a price comes to in each coin on each network now, with about what the payer's wallet pays the network and how
   * long it takes. Nothing is stored or held: a payment is quoted when it is created.
   *
   * Scope: `payments:read`.
   */
  get(params: QuoteGetParams, options?: CallOptions): Call<models.Quote> {
    return this.#transport.call({ method: "GET", path: "/quote", query: params }, options);
  }
}

export interface PaymentLinksListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Created at or after this ISO 8601 time, UTC; a date means its beginning. */
  created_gte?: string | Date | undefined;
  /** Created at or before this ISO 8601 time, UTC; a date means its end. */
  created_lte?: string | Date | undefined;
}

/** Pages on which payers make payments, as often as you allow. */
export class PaymentLinksResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create a payment link.
   *
   * Makes a page on which payers choose the coin and the network, and pay as often as you allow.
   *
   * Scope: `payments:write`.
   */
  create(params: models.NewPaymentLinkRequest, options?: CallOptions): Call<models.PaymentLink> {
    return this.#transport.call({ method: "POST", path: "/payment-links", body: params }, options);
  }

  /**
   * List payment links.
   *
   * Newest first.
   *
   * Scope: `payments:read`.
   */
  list(params?: PaymentLinksListParams, options?: CallOptions): ListCall<models.PaymentLink> {
    return this.#transport.list({ method: "GET", path: "/payment-links", query: params }, options);
  }

  /**
   * Get a payment link.
   *
   * The link, with how many of its uses are taken.
   *
   * Scope: `payments:read`.
   */
  get(linkId: string, options?: CallOptions): Call<models.PaymentLink> {
    return this.#transport.call({ method: "GET", path: `/payment-links/${segment(linkId)}` }, options);
  }

  /**
   * Update a payment link.
   *
   * Changes what is given, and leaves the rest. Prices, coins and wallets stay: the link may be printed.
   *
   * Scope: `payments:write`.
   */
  update(
    linkId: string,
    params: models.PaymentLinkChangesRequest = {},
    options?: CallOptions,
  ): Call<models.PaymentLink> {
    return this.#transport.call({ method: "PATCH", path: `/payment-links/${segment(linkId)}`, body: params }, options);
  }
}

export interface RefundsListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Created at or after this ISO 8601 time, UTC; a date means its beginning. */
  created_gte?: string | Date | undefined;
  /** Created at or before this ISO 8601 time, UTC; a date means its end. */
  created_lte?: string | Date | undefined;
  /** Only refunds of this payment. */
  paymentId?: string | undefined;
  /** Only refunds in this status. */
  status?: models.RefundStatus | undefined;
}

/** Refund payments. */
export class RefundsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create a refund.
   *
   * Gives money of a payment back, in full or in part. The money is reserved at once and sent as soon as the refund has
   * an address. Send an `Idempotency-Key`, so that a request sent twice refunds once.
   *
   * Scope: `refunds:write`.
   */
  create(params: models.NewRefundRequest, options?: CallOptions): Call<models.Refund> {
    return this.#transport.call({ method: "POST", path: "/refunds", body: params }, options);
  }

  /**
   * List refunds.
   *
   * Newest first.
   *
   * Scope: `refunds:read`.
   */
  list(params?: RefundsListParams, options?: CallOptions): ListCall<models.Refund> {
    return this.#transport.list({ method: "GET", path: "/refunds", query: params }, options);
  }

  /**
   * Get a refund.
   *
   * The refund as it is now.
   *
   * Scope: `refunds:read`.
   */
  get(refundId: string, options?: CallOptions): Call<models.Refund> {
    return this.#transport.call({ method: "GET", path: `/refunds/${segment(refundId)}` }, options);
  }

  /**
   * Cancel a refund.
   *
   * Possible until the refund is signed. Its money goes back where it was.
   *
   * Scope: `refunds:write`.
   */
  cancel(refundId: string, options?: CallOptions): Call<models.Refund> {
    return this.#transport.call({ method: "POST", path: `/refunds/${segment(refundId)}/cancel` }, options);
  }

  /**
   * Give a refund its address.
   *
   * For a refund whose status is `requires_action`: nobody can tell from the incoming transfer where the money is to
   * go.
   *
   * Scope: `refunds:write`.
   */
  giveDestination(refundId: string, params: models.DestinationRequest, options?: CallOptions): Call<models.Refund> {
    return this.#transport.call(
      { method: "POST", path: `/refunds/${segment(refundId)}/destination`, body: params },
      options,
    );
  }
}

export interface SettlementsListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Only settlements in this status. */
  status?: models.SettlementStatus | undefined;
  /** Created at or after this ISO 8601 date or time, UTC; a date means its beginning. */
  startDate?: string | Date | undefined;
  /** Created at or before this ISO 8601 date or time, UTC; a date means its end. */
  endDate?: string | Date | undefined;
}

export interface SettlementsDownloadStatementParams {
  format: "csv";
}

/** Payouts to your wallets, with their statements. */
export class SettlementsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * List settlements.
   *
   * Newest first.
   *
   * Scope: `settlements:read`.
   */
  list(params?: SettlementsListParams, options?: CallOptions): ListCall<models.Settlement> {
    return this.#transport.list({ method: "GET", path: "/settlements", query: params }, options);
  }

  /**
   * Preview the next settlements.
   *
   * What would be settled if the next run were now, and what would be left for a later one.
   *
   * Scope: `settlements:read`.
   */
  upcoming(options?: CallOptions): Call<models.NextSettlements> {
    return this.#transport.call({ method: "GET", path: "/settlements/next" }, options);
  }

  /**
   * Get a settlement.
   *
   * The settlement as it is now.
   *
   * Scope: `settlements:read`.
   */
  get(settlementId: string, options?: CallOptions): Call<models.Settlement> {
    return this.#transport.call({ method: "GET", path: `/settlements/${segment(settlementId)}` }, options);
  }

  /**
   * Get the statement of a settlement.
   *
   * Every payment, refund and fee that the settlement is made of; they add up to its amount. `format` chooses a file
   * for bookkeeping instead.
   *
   * Scope: `settlements:read`.
   */
  statement(settlementId: string, options?: CallOptions): Call<models.Statement> {
    return this.#transport.call({ method: "GET", path: `/settlements/${segment(settlementId)}/statement` }, options);
  }

  /** Get the statement of a settlement, as a file. */
  downloadStatement(
    settlementId: string,
    params: SettlementsDownloadStatementParams,
    options?: CallOptions,
  ): Call<Uint8Array> {
    return this.#transport.call(
      { method: "GET", path: `/settlements/${segment(settlementId)}/statement`, query: params, isFile: true },
      options,
    );
  }
}

export interface StatementsListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `month` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
}

export interface StatementsGetParams {
  /** Values balances and entries, beside your settlement currency. Unless given, that of invoices. */
  currency?: models.Currency | undefined;
}

export interface StatementsDownloadParams {
  format: "csv" | "pdf";
  /** Values balances and entries, beside your settlement currency. Unless given, that of invoices. */
  currency?: models.Currency | undefined;
}

/** What changed your money in a month, settled or not. */
export class StatementsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * List monthly statements.
   *
   * Every month since the merchant was opened, the one that runs first.
   *
   * Scope: `settlements:read`.
   */
  list(params?: StatementsListParams, options?: CallOptions): ListCall<models.Month> {
    return this.#transport.list({ method: "GET", path: "/statements", query: params }, options, "month");
  }

  /**
   * Get a monthly statement.
   *
   * Everything that changed your money in a month, settled or not: for each account and coin opening balance, entries
   * and closing balance, which is the next month's opening balance. `format` chooses a file instead; the PDF has 2,000
   * entries at most.
   *
   * Scope: `settlements:read`.
   */
  get(month: string, params?: StatementsGetParams, options?: CallOptions): Call<models.MonthlyStatement> {
    return this.#transport.call({ method: "GET", path: `/statements/${segment(month)}`, query: params }, options);
  }

  /** Get a monthly statement, as a file. */
  download(month: string, params: StatementsDownloadParams, options?: CallOptions): Call<Uint8Array> {
    return this.#transport.call(
      { method: "GET", path: `/statements/${segment(month)}`, query: params, isFile: true },
      options,
    );
  }
}

export interface InvoicesListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Created at or after this ISO 8601 time, UTC; a date means its beginning. */
  created_gte?: string | Date | undefined;
  /** Created at or before this ISO 8601 time, UTC; a date means its end. */
  created_lte?: string | Date | undefined;
  /** Only this kind. */
  kind?: models.InvoiceKind | undefined;
}

export interface InvoicesDownloadParams {
  format: "csv" | "pdf";
}

/** Monthly invoices for fees, and credit notes. They never change. */
export class InvoicesResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * List invoices.
   *
   * Invoices for fees, and credit notes for returned fees. Newest first.
   *
   * Scope: `settlements:read`.
   */
  list(params?: InvoicesListParams, options?: CallOptions): ListCall<models.Invoice> {
    return this.#transport.list({ method: "GET", path: "/invoices", query: params }, options);
  }

  /**
   * Get an invoice.
   *
   * An invoice or credit note, as it was issued. `format` chooses a file instead.
   *
   * Scope: `settlements:read`.
   */
  get(invoiceId: string, options?: CallOptions): Call<models.Invoice> {
    return this.#transport.call({ method: "GET", path: `/invoices/${segment(invoiceId)}` }, options);
  }

  /** Get an invoice, as a file. */
  download(invoiceId: string, params: InvoicesDownloadParams, options?: CallOptions): Call<Uint8Array> {
    return this.#transport.call(
      { method: "GET", path: `/invoices/${segment(invoiceId)}`, query: params, isFile: true },
      options,
    );
  }
}

export interface WebhooksListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
}

/** The addresses that receive events, and each event as it is sent. */
export class WebhooksResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Create a webhook.
   *
   * Registers an address of yours for events. The reply holds the `secret` that signs what is sent there; it is shown
   * this once.
   *
   * Scope: `webhooks:write`.
   */
  create(params: models.NewWebhookRequest, options?: CallOptions): Call<models.WebhookEndpointWithSecret> {
    return this.#transport.call({ method: "POST", path: "/webhooks", body: params }, options);
  }

  /**
   * List webhooks.
   *
   * Newest first, without their secrets.
   *
   * Scope: `webhooks:read`.
   */
  list(params?: WebhooksListParams, options?: CallOptions): ListCall<models.WebhookEndpoint> {
    return this.#transport.list({ method: "GET", path: "/webhooks", query: params }, options);
  }

  /**
   * Rotate the account's signing secret.
   *
   * It signs what is sent to the `webhookUrl` of payments. The one before signs as well for another 24 hours.
   *
   * Scope: `webhooks:write`.
   */
  rotateAccountSecret(options?: CallOptions): Call<models.AccountSecret> {
    return this.#transport.call({ method: "POST", path: "/webhooks/signing-secret/rotate" }, options);
  }

  /**
   * Get a webhook.
   *
   * The webhook, without its secret.
   *
   * Scope: `webhooks:read`.
   */
  get(webhookId: string, options?: CallOptions): Call<models.WebhookEndpoint> {
    return this.#transport.call({ method: "GET", path: `/webhooks/${segment(webhookId)}` }, options);
  }

  /**
   * Update a webhook.
   *
   * Changes what is given, and leaves the rest. `status` disables it, or enables it again.
   *
   * Scope: `webhooks:write`.
   */
  update(
    webhookId: string,
    params: models.WebhookChangesRequest = {},
    options?: CallOptions,
  ): Call<models.WebhookEndpoint> {
    return this.#transport.call({ method: "PATCH", path: `/webhooks/${segment(webhookId)}`, body: params }, options);
  }

  /**
   * Delete a webhook.
   *
   * For good. Its deliveries can still be looked up.
   *
   * Scope: `webhooks:write`.
   */
  delete(webhookId: string, options?: CallOptions): Call<models.DeletedWebhook> {
    return this.#transport.call({ method: "DELETE", path: `/webhooks/${segment(webhookId)}` }, options);
  }

  /**
   * Send a test event.
   *
   * Sends `webhook.test` only to this webhook. The reply is the delivery; its attempt shows up a moment later.
   *
   * Scope: `webhooks:write`.
   */
  test(webhookId: string, options?: CallOptions): Call<models.Delivery> {
    return this.#transport.call({ method: "POST", path: `/webhooks/${segment(webhookId)}/test` }, options);
  }

  /**
   * Rotate a webhook's signing secret.
   *
   * The one before signs as well for another 24 hours.
   *
   * Scope: `webhooks:write`.
   */
  rotate(webhookId: string, options?: CallOptions): Call<models.WebhookEndpointWithSecret> {
    return this.#transport.call({ method: "POST", path: `/webhooks/${segment(webhookId)}/rotate` }, options);
  }

  /**
   * Replay events.
   *
   * Also those that arrived before, and those that happened while the webhook was disabled or not yet registered; at
   * most 10,000.
   *
   * Scope: `webhooks:write`.
   */
  replay(webhookId: string, params: models.ReplayRequest, options?: CallOptions): Call<models.Replay> {
    return this.#transport.call(
      { method: "POST", path: `/webhooks/${segment(webhookId)}/replay`, body: params },
      options,
    );
  }
}

export interface EventsListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Created at or after this ISO 8601 time, UTC; a date means its beginning. */
  created_gte?: string | Date | undefined;
  /** Created at or before this ISO 8601 time, UTC; a date means its end. */
  created_lte?: string | Date | undefined;
  /** Only events of this type. */
  type?: models.EventType | undefined;
}

/** Everything that happened, whether or not a webhook was sent it. */
export class EventsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * List events.
   *
   * Everything that happened, whether or not any webhook was sent it. Newest first.
   *
   * Scope: `webhooks:read`.
   */
  list(params?: EventsListParams, options?: CallOptions): ListCall<Event> {
    return this.#transport.list({ method: "GET", path: "/events", query: params }, options);
  }

  /**
   * Get an event.
   *
   * The event, with its record as it was then.
   *
   * Scope: `webhooks:read`.
   */
  get(eventId: string, options?: CallOptions): Call<Event> {
    return this.#transport.call({ method: "GET", path: `/events/${segment(eventId)}` }, options);
  }
}

export interface DeliveriesListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Created at or after this ISO 8601 time, UTC; a date means its beginning. */
  created_gte?: string | Date | undefined;
  /** Created at or before this ISO 8601 time, UTC; a date means its end. */
  created_lte?: string | Date | undefined;
  /** Only those to this webhook. */
  endpoint?: string | undefined;
  /** Only those of this event. */
  event?: string | undefined;
  /** Only those in this status. */
  status?: models.DeliveryStatus | undefined;
}

/** Where each event was sent, and the result of each attempt. */
export class DeliveriesResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * List deliveries.
   *
   * Newest first.
   *
   * Scope: `webhooks:read`.
   */
  list(params?: DeliveriesListParams, options?: CallOptions): ListCall<models.Delivery> {
    return this.#transport.list({ method: "GET", path: "/deliveries", query: params }, options);
  }

  /**
   * Get a delivery.
   *
   * The delivery with its attempts.
   *
   * Scope: `webhooks:read`.
   */
  get(deliveryId: string, options?: CallOptions): Call<models.Delivery> {
    return this.#transport.call({ method: "GET", path: `/deliveries/${segment(deliveryId)}` }, options);
  }

  /**
   * Send a delivery again.
   *
   * Sends it at once. A delivery that has ended gets all its attempts again.
   *
   * Scope: `webhooks:write`.
   */
  redeliver(deliveryId: string, options?: CallOptions): Call<models.Delivery> {
    return this.#transport.call({ method: "POST", path: `/deliveries/${segment(deliveryId)}/redeliver` }, options);
  }
}

export interface RequestsListParams {
  /** How many records, 1 to 100. */
  limit?: number | undefined;
  /** The `id` of the last record of the page before. */
  starting_after?: string | undefined;
  /** The `id` of the first record of the page after: the page before it, newest first as well. */
  ending_before?: string | undefined;
  /** Created at or after this ISO 8601 time, UTC; a date means its beginning. */
  created_gte?: string | Date | undefined;
  /** Created at or before this ISO 8601 time, UTC; a date means its end. */
  created_lte?: string | Date | undefined;
  /** Only those answered so; `error` is 4xx and 5xx. */
  status?: models.RequestStatus | undefined;
  /** Only those with this method. */
  method?: models.RequestMethod | undefined;
  /** Only those whose path contains this. */
  path?: string | undefined;
  /** Only those with this public key. */
  key?: string | undefined;
  /** Only the one with this `X-Request-Id`, as an error has it. */
  request_id?: string | undefined;
}

/** What your keys asked the API for, and how it was answered. */
export class RequestsResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * List requests.
   *
   * The requests that your keys made, newest first, without their bodies. They appear within a second and are kept for
   * as long as the service's operator chooses. With `path`, `method`, `key` or `status=2xx` the newest 20,000 requests
   * before `created_lte` are looked through. Reading this list is logged only where it is refused.
   *
   * Scope: `requests:read`.
   */
  list(params?: RequestsListParams, options?: CallOptions): ListCall<models.RequestLogEntry> {
    return this.#transport.list({ method: "GET", path: "/requests", query: params }, options);
  }
}

/** The account and its settings. */
export class MerchantResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Get the merchant.
   *
   * The account that the keys belong to, and its settings.
   *
   * Scope: `merchant:read`.
   */
  get(options?: CallOptions): Call<models.Merchant> {
    return this.#transport.call({ method: "GET", path: "/merchant" }, options);
  }

  /**
   * Update settings.
   *
   * Changes what is given, and leaves the rest.
   *
   * Scope: `merchant:write`.
   */
  updateSettings(params: models.SettingsRequest = {}, options?: CallOptions): Call<models.Merchant> {
    return this.#transport.call({ method: "PATCH", path: "/merchant/settings", body: params }, options);
  }
}

export interface BalanceGetParams {
  /** The balance as it was at this ISO 8601 time, UTC; a date means its end. Left out, as it is now. */
  at?: string | Date | undefined;
}

/** Your money, and what waits for a decision. */
export class BalanceResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Get the balance.
   *
   * By coin and network, as it is now or as it was at an instant.
   *
   * Scope: `merchant:read`.
   */
  get(params?: BalanceGetParams, options?: CallOptions): Call<models.Balance> {
    return this.#transport.call({ method: "GET", path: "/balance", query: params }, options);
  }
}

/** Every resource, by its name. */
export class Resources {
  readonly payments: PaymentsResource;
  readonly discrepancies: DiscrepanciesResource;
  readonly quote: QuoteResource;
  readonly paymentLinks: PaymentLinksResource;
  readonly refunds: RefundsResource;
  readonly settlements: SettlementsResource;
  readonly statements: StatementsResource;
  readonly invoices: InvoicesResource;
  readonly webhooks: WebhooksResource;
  readonly events: EventsResource;
  readonly deliveries: DeliveriesResource;
  readonly requests: RequestsResource;
  readonly merchant: MerchantResource;
  readonly balance: BalanceResource;

  constructor(transport: Transport) {
    this.payments = new PaymentsResource(transport);
    this.discrepancies = new DiscrepanciesResource(transport);
    this.quote = new QuoteResource(transport);
    this.paymentLinks = new PaymentLinksResource(transport);
    this.refunds = new RefundsResource(transport);
    this.settlements = new SettlementsResource(transport);
    this.statements = new StatementsResource(transport);
    this.invoices = new InvoicesResource(transport);
    this.webhooks = new WebhooksResource(transport);
    this.events = new EventsResource(transport);
    this.deliveries = new DeliveriesResource(transport);
    this.requests = new RequestsResource(transport);
    this.merchant = new MerchantResource(transport);
    this.balance = new BalanceResource(transport);
  }
}
