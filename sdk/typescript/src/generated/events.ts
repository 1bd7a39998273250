/** Events of the API. Generated from docs/openapi.json by sdk/generator: change that, not this. */

import type * as models from "./models.js";

/** What events have in common. */
export interface EventOf<Type extends string, Item> {
  /** Also the `webhook-id` of every delivery of it. */
  id: string;
  object: "event";
  type: Type;
  apiVersion: models.Open<"v1">;
  createdAt: string;
  environment: models.Open<models.Environment>;
  /** Of the record; it only grows. Keep the record with the highest one. */
  version: number;
  data: {
    /** The whole record as it was at this version. */
    object: Item;
  };
}

/** A payment was created. */
export interface PaymentCreatedEvent extends EventOf<"payment.created", models.Payment> {}

/** Money for a payment was seen on its network and waits for confirmations. */
export interface PaymentPendingEvent extends EventOf<"payment.pending", models.Payment> {}

/** Money is confirmed, and it is less than was due; the rest may still come. */
export interface PaymentUnderpaidEvent extends EventOf<"payment.underpaid", models.Payment> {}

/** Enough is confirmed. Deliver goods on this event. */
export interface PaymentCompletedEvent extends EventOf<"payment.completed", models.Payment> {}

/** More than was due is confirmed; the surplus waits for a decision. */
export interface PaymentOverpaidEvent extends EventOf<"payment.overpaid", models.Payment> {}

/** The time to pay ended, and nothing had arrived. */
export interface PaymentExpiredEvent extends EventOf<"payment.expired", models.Payment> {}

/** Money that arrived after the time to pay is confirmed. It waits for a decision. */
export interface PaymentLateEvent extends EventOf<"payment.late", models.Payment> {}

/** The payment was cancelled before anything was paid. */
export interface PaymentCancelledEvent extends EventOf<"payment.cancelled", models.Payment> {}

/** A reorganisation of the network undid a transfer; the payment went back. */
export interface PaymentReversedEvent extends EventOf<"payment.reversed", models.Payment> {}

/** Money was refunded to the payer, in part or in full. */
export interface PaymentRefundedEvent extends EventOf<"payment.refunded", models.Payment> {}

/**
 * A payment changed and no other event says so: more was received, money was reserved for a refund or came back from
 * one, the time of an underpaid payment ended, a reason was added or removed, or somebody changed its description, note
 * or metadata.
 */
export interface PaymentUpdatedEvent extends EventOf<"payment.updated", models.Payment> {}

/**
 * Coins that were paid are missing on the network. The part of your balance that came from them is held until it is
 * decided who bears the loss.
 */
export interface PaymentCoinsMissingEvent extends EventOf<"payment.coins_missing", models.Payment> {}

/** Missing coins are back, or the operator has covered them. The money that was held is settled again. */
export interface PaymentCoinsRestoredEvent extends EventOf<"payment.coins_restored", models.Payment> {}

/** Missing coins are lost. They are taken off your balance. */
export interface PaymentCoinsLostEvent extends EventOf<"payment.coins_lost", models.Payment> {}

/** A refund was created, and its money is reserved. */
export interface RefundCreatedEvent extends EventOf<"refund.created", models.Refund> {}

/** A refund needs an address: give one, or send its `claimUrl` to the payer. */
export interface RefundRequiresActionEvent extends EventOf<"refund.requires_action", models.Refund> {}

/** A refund has an address now and waits to be sent. */
export interface RefundPendingEvent extends EventOf<"refund.pending", models.Refund> {}

/** A refund was signed and is on its way. */
export interface RefundProcessingEvent extends EventOf<"refund.processing", models.Refund> {}

/** A refund is final on its network. */
export interface RefundCompletedEvent extends EventOf<"refund.completed", models.Refund> {}

/** A refund could not be paid; its money is back where it was. */
export interface RefundFailedEvent extends EventOf<"refund.failed", models.Refund> {}

/** A refund was cancelled before it was sent; its money is back where it was. */
export interface RefundCancelledEvent extends EventOf<"refund.cancelled", models.Refund> {}

/** A settlement was made and its money is reserved. */
export interface SettlementCreatedEvent extends EventOf<"settlement.created", models.Settlement> {}

/** A settlement is final on its network. */
export interface SettlementCompletedEvent extends EventOf<"settlement.completed", models.Settlement> {}

/** A settlement could not be paid; its money will be in a later one. */
export interface SettlementFailedEvent extends EventOf<"settlement.failed", models.Settlement> {}

/** A test of this webhook was requested. */
export interface WebhookTestEvent extends EventOf<"webhook.test", models.WebhookEndpoint> {}

declare const UNKNOWN: unique symbol;

/**
 * At run time any other text. The compiler is told of a single one, because `string` would fit every comparison: so a
 * comparison of `type` with a known one leaves exactly that event, and the default of a switch exactly this.
 */
export type UnknownEventType = "(another)" & { readonly [UNKNOWN]: true };

/** An event of a type that this version does not know. */
export interface UnknownEvent extends EventOf<UnknownEventType, Record<string, unknown>> {}

export type KnownEvent =
  | PaymentCreatedEvent
  | PaymentPendingEvent
  | PaymentUnderpaidEvent
  | PaymentCompletedEvent
  | PaymentOverpaidEvent
  | PaymentExpiredEvent
  | PaymentLateEvent
  | PaymentCancelledEvent
  | PaymentReversedEvent
  | PaymentRefundedEvent
  | PaymentUpdatedEvent
  | PaymentCoinsMissingEvent
  | PaymentCoinsRestoredEvent
  | PaymentCoinsLostEvent
  | RefundCreatedEvent
  | RefundRequiresActionEvent
  | RefundPendingEvent
  | RefundProcessingEvent
  | RefundCompletedEvent
  | RefundFailedEvent
  | RefundCancelledEvent
  | SettlementCreatedEvent
  | SettlementCompletedEvent
  | SettlementFailedEvent
  | WebhookTestEvent;

/** Told apart by `type`. */
export type Event = KnownEvent | UnknownEvent;
