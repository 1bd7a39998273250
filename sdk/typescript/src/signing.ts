/** Request signing, and the comparison that both directions use. */

import { createHmac, timingSafeEqual } from "node:crypto";

/** Hex HMAC-SHA256 of `<timestamp>.<METHOD>.<path>.<body>`; the path is from /v1 on, without the query. */
export function requestSignature(
  secretKey: string,
  timestamp: number,
  method: string,
  path: string,
  body: string,
): string {
  return createHmac("sha256", secretKey).update(`${timestamp}.${method}.${path}.${body}`, "utf8").digest("hex");
}

/** Base64 HMAC-SHA256 of `<id>.<timestamp>.<body>`, as Standard Webhooks has it. */
export function webhookSignature(secret: Uint8Array, id: string, timestamp: string, body: Uint8Array): string {
  return createHmac("sha256", secret).update(`${id}.${timestamp}.`, "utf8").update(body).digest("base64");
}

export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one, "utf8"), Buffer.from(other, "utf8")];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Milliseconds that never repeat: a signature is accepted once, and two requests may fall into one millisecond. */
export class Clock {
  #last = 0;

  next(): number {
    this.#last = Math.max(Date.now(), this.#last + 1);
    return this.#last;
  }
}
