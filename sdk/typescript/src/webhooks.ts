/** Verifies webhooks by Standard Webhooks, and gives their events types. */

import { ConfigurationError, WebhookVerificationError } from "./errors.js";
import type { Event } from "./generated/events.js";
import { isSame, webhookSignature } from "./signing.js";

/** Headers of Node's own server, of fetch's Request, or a plain object. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookOptions {
  /** How far the clocks may differ, and how old a request may be: 300 unless given. */
  readonly toleranceSeconds?: number;
}

const DEFAULT_TOLERANCE = 300;

/** A receiver's end of a webhook: `new Webhook(secret).verify(rawBody, headers)` returns the event, or throws. */
export class Webhook {
  readonly #secret: Uint8Array;
  readonly #tolerance: number;

  /** `secret` is `whsec_…`, as the reply that made the webhook showed it. Unless given: `BALLAST_WEBHOOK_SECRET`. */
  constructor(secret: string | undefined = process.env["BALLAST_WEBHOOK_SECRET"], options: WebhookOptions = {}) {
    this.#secret = Buffer.from((secret ?? "").replace(/^whsec_/, ""), "base64");
    if (this.#secret.length === 0) {
      throw new ConfigurationError(
        "A webhook's secret is needed: whsec_… of POST /webhooks, or BALLAST_WEBHOOK_SECRET.",
      );
    }
    this.#tolerance = options.toleranceSeconds ?? DEFAULT_TOLERANCE;
  }

  /**
   * The event of a request. `body` is the request's body as it came: JSON that was parsed and written again is other
   * JSON. Throws WebhookVerificationError unless Ballast has sent exactly this within the last minutes.
   *
   * The event may be of a type that this version does not know, and may come twice: remember its `id`.
   */
  verify(body: string | Uint8Array, headers: WebhookHeaders): Event {
    const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
    const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
      headerOf(headers, name),
    );
    if (!id || !timestamp || !signatures) {
      throw new WebhookVerificationError("headers_missing", "webhook-id, -timestamp or -signature is missing.");
    }
    if (!/^\d{1,12}$/.test(timestamp)) {
      throw new WebhookVerificationError("timestamp_invalid", "webhook-timestamp is no number of seconds.");
    }
    // While a secret is replaced, there is a signature of the old one and one of the new one.
    const expected = webhookSignature(this.#secret, id, timestamp, bytes);
    const isSigned = signatures.split(" ").some((one) => one.startsWith("v1,") && isSame(one.slice(3), expected));
    if (!isSigned) {
      throw new WebhookVerificationError(
        "signature_invalid",
        "No signature fits: another secret, or not the body as it came.",
      );
    }
    if (Math.abs(Date.now() / 1000 - Number(timestamp)) > this.#tolerance) {
      throw new WebhookVerificationError("timestamp_out_of_range", "It was signed too long ago, or a clock is wrong.");
    }
    try {
      const event = JSON.parse(new TextDecoder().decode(bytes)) as Event;
      if (typeof event.type === "string" && typeof event.id === "string") return event;
    } catch {
      // The same as an event without a type.
    }
    throw new WebhookVerificationError("body_invalid", "The body is no event.");
  }
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const key = Object.keys(headers).find((each) => each.toLowerCase() === name);
  const value = key === undefined ? undefined : headers[key];
  return typeof value === "string" || value === undefined ? value : value[0];
}
