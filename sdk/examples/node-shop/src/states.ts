/** What an order is, from what the API says of its payments. No other code decides that. */

import type { Payment, PaymentStatus } from "@ballast/sdk";

export type OrderState =
  | "awaiting"
  | "confirming"
  | "short"
  | "paid"
  | "partly_refunded"
  | "refunded"
  | "expired"
  | "cancelled";

const STATES: Readonly<Record<PaymentStatus, OrderState>> = {
  created: "awaiting",
  pending: "confirming",
  underpaid: "short",
  completed: "paid",
  partially_refunded: "partly_refunded",
  refunded: "refunded",
  expired: "expired",
  cancelled: "cancelled",
};

/** What the payer is told. */
export const WORDS: Readonly<Record<OrderState, string>> = {
  awaiting: "We wait for your payment.",
  confirming: "Your payment was seen. The network confirms it.",
  short: "A part of the price is missing. Please send the rest.",
  paid: "Paid. Your goods are on their way.",
  partly_refunded: "A part was refunded.",
  refunded: "Refunded.",
  expired: "The time to pay is over. If you have sent coins, we look into it.",
  cancelled: "Cancelled. If you have sent coins, we look into it.",
};

const PAID: ReadonlySet<OrderState> = new Set(["paid", "partly_refunded", "refunded"]);
const OVER: ReadonlySet<OrderState> = new Set(["expired", "cancelled"]);
/** Reasons that a payment has for its past: nobody must decide about them. */
const PASSED: ReadonlySet<string> = new Set(["reversed", "token_fee"]);

export function stateOf(payment: Payment): OrderState {
  if (payment.status === "underpaid" && payment.closedAt !== null) return "expired"; // nothing more is awaited
  const isGivenBack = payment.status === "partially_refunded" || payment.status === "refunded";
  if (isGivenBack && payment.completedAt === null) return "expired"; // too little came: it was never paid
  // A status of later than this program waits for a person: nothing is handed out.
  return (STATES as Record<string, OrderState | undefined>)[payment.status] ?? "confirming";
}

/** Whether a person must decide about this reason. */
function waits(reason: string, payment: Payment): boolean {
  if (reason === "underpaid") return OVER.has(stateOf(payment)) && payment.status !== "refunded";
  return !PASSED.has(reason);
}

export interface Verdict {
  readonly state: OrderState;
  /** For which a person of the shop must look. */
  readonly attention: readonly string[];
  readonly mayPay: boolean;
  readonly mayPayAgain: boolean;
}

/** What becomes of an order with these payments, the first attempt first. */
export function judge(payments: readonly Payment[], isDelivered: boolean): Verdict {
  const states = payments.map(stateOf);
  const paid = states.filter((state) => PAID.has(state));
  const state = paid[0] ?? states.at(-1) ?? "awaiting";
  const attention = new Set<string>(
    payments.flatMap((payment) => payment.statusReasons.filter((reason) => waits(reason, payment))),
  );
  if (paid.length > 1) attention.add("paid_twice");
  if (isDelivered && paid.length === 0) attention.add("taken_back");
  // Nobody looked while it was paid: what is handed out now, a person decides.
  if (state === "partly_refunded" && !isDelivered) attention.add("not_delivered");
  return {
    state,
    attention: [...attention].sort(),
    mayPay: state === "awaiting" || state === "short",
    mayPayAgain: OVER.has(state),
  };
}
