import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import test from "node:test";

import {
  ConfigurationError,
  Webhook,
  WebhookVerificationError,
  type Event,
  type WebhookFault,
  type models,
} from "@ballast/sdk";

const KEY = Buffer.from("twenty-four bytes of key");
const SECRET = `whsec_${KEY.toString("base64")}`;
const NOW = Math.floor(Date.now() / 1000);

function sent(body: string, { at = NOW, key = KEY, id = "evt_1" } = {}): Record<string, string> {
  const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(at), "webhook-signature": `v1,${signature}` };
}

const BODY = JSON.stringify({
  id: "evt_1",
  type: "payment.completed",
  data: { object: { id: "pay_1", cryptoAmount: "5.000000" } },
});

/** Compiles only if comparing `type` leaves exactly the events of it. */
function told(event: Event): string {
  switch (event.type) {
    case "payment.completed": {
      const payment: models.Payment = event.data.object;
      return payment.cryptoAmount;
    }
    case "refund.created":
      return event.data.object.paymentId;
    case "webhook.test": {
      const webhook: models.WebhookEndpoint = event.data.object;
      return webhook.url;
    }
    default:
      return event.type;
  }
}

test("an event that was signed has its type", () => {
  const headers = sent(BODY);
  const event = new Webhook(SECRET).verify(BODY, headers);
  assert.equal(told(event), "5.000000");
  assert.equal(told(new Webhook(SECRET).verify(Buffer.from(BODY), new Headers(headers))), "5.000000");
  const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
  assert.equal(told(new Webhook(SECRET.slice(6)).verify(BODY, shouted)), "5.000000");
});

test("an event of later passes", () => {
  const body = JSON.stringify({ id: "evt_1", type: "payout.paused", ofLater: true, data: { object: { id: "x_1" } } });
  assert.equal(told(new Webhook(SECRET).verify(body, sent(body))), "payout.paused");
});

test("one of several signatures is enough, as while a secret is replaced", () => {
  const headers = sent(BODY);
  const other = sent(BODY, { key: Buffer.from("another key") })["webhook-signature"];
  headers["webhook-signature"] = `${other} v1a,ed25519 ${headers["webhook-signature"]}`;
  assert.ok(new Webhook(SECRET).verify(BODY, headers));
});

const WRONG: [WebhookFault, string, Record<string, string>][] = [
  ["headers_missing", BODY, {}],
  ["timestamp_invalid", BODY, { ...sent(BODY), "webhook-timestamp": "soon" }],
  ["timestamp_out_of_range", BODY, sent(BODY, { at: NOW - 310 })],
  ["timestamp_out_of_range", BODY, sent(BODY, { at: NOW + 310 })],
  ["signature_invalid", BODY.replace("5.000000", "6.000000"), sent(BODY)],
  ["signature_invalid", BODY, sent(BODY, { key: Buffer.from("another key") })],
  ["signature_invalid", BODY, { ...sent(BODY), "webhook-id": "evt_2" }],
  ["signature_invalid", BODY, { ...sent(BODY), "webhook-signature": "v1," }],
  ["body_invalid", "[]", sent("[]")],
  ["body_invalid", "no JSON", sent("no JSON")],
];

test("whatever else is refused, with its reason", () => {
  for (const [reason, body, headers] of WRONG) {
    assert.throws(
      () => new Webhook(SECRET).verify(body, headers),
      (error) => error instanceof WebhookVerificationError && error.reason === reason,
      reason,
    );
  }
  assert.throws(() => new Webhook(""), ConfigurationError);
  assert.ok(new Webhook(SECRET, { toleranceSeconds: 400 }).verify(BODY, sent(BODY, { at: NOW - 310 })));
});
