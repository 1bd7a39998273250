import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import test from "node:test";

import {
  ApiConnectionError,
  ApiStatusError,
  ApiTimeoutError,
  AuthenticationError,
  IdempotencyError,
  InvalidRequestError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ServerError,
} from "@ballast/sdk";

import { against, refusal, withoutWaiting, type Answer } from "./server.js";

async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

const MADE: Answer = { status: 201, body: { id: "pay_1" } };

const PASSING: [string, Answer][] = [
  ["the first request still runs", refusal(409, "idempotency_error", "idempotency_key_in_use", { "retry-after": "2" })],
  ["too many requests", refusal(429, "rate_limit_error", "rate_limit_exceeded", { "retry-after": "2" })],
  ["the service is away", refusal(503, "api_error", "service_unavailable", { "retry-after": "2" })],
  ["the connection ends", { cut: "before" }],
  ["the reply is cut", { status: 201, body: { id: "pay_1".repeat(99) }, cut: "middle" }],
  ["a proxy has no answer", { status: 502, headers: { "content-type": "text/html" }, body: "<h1>Bad gateway" }],
];

for (const [name, answer] of PASSING) {
  test(`a request is sent again with the same key: ${name}`, async () => {
    const waits = await withoutWaiting(() =>
      against([answer, answer, MADE], async (client, received) => {
        assert.equal((await client.payments.create({ amount: 5, currency: "EUR" })).id, "pay_1");
        assert.equal(received.length, 3);
        assert.equal(new Set(received.map((one) => one.headers["idempotency-key"])).size, 1);
        assert.equal(new Set(received.map((one) => one.body)).size, 1);
      }),
    );
    assert.equal(waits.length, 2);
    const [first, second] = waits as [number, number];
    if (answer.headers?.["retry-after"]) assert.deepEqual([first, second], [2000, 2000]);
    else assert.ok(first >= 250 && first <= 500 && second >= 500 && second <= 1000, String(waits));
  });
}

const CLASSES: [Answer, typeof ApiStatusError][] = [
  [refusal(400, "invalid_request_error", "missing_parameter"), InvalidRequestError],
  [refusal(401, "authentication_error", "key_invalid"), AuthenticationError],
  [refusal(403, "permission_error", "insufficient_scope"), PermissionDeniedError],
  [refusal(404, "not_found_error", "resource_missing"), NotFoundError],
  [refusal(400, "idempotency_error", "idempotency_key_reused"), IdempotencyError],
  [refusal(429, "rate_limit_error", "too_many_bad_keys", { "retry-after": "60" }), RateLimitError],
  [refusal(503, "api_error", "service_unavailable", { "retry-after": "61" }), ServerError],
  [refusal(500, "api_error", "internal_error"), ServerError],
  [refusal(418, "error_of_later", "made_up_later"), ApiStatusError],
];

for (const [answer, kind] of CLASSES) {
  const { type, code } = (answer.body as { error: { type: string; code: string } }).error;
  test(`${type} ${code} is an error at once`, async () => {
    await against([answer], async (client, received) => {
      const error: unknown = await client.payments
        .create({ amount: 5, currency: "EUR" })
        .catch((found: unknown) => found);
      assert.ok(error instanceof kind && error.constructor === kind);
      assert.deepEqual(
        [error.status, error.type, error.code, error.message, error.param, error.requestId],
        [answer.status, type, code, "Said why.", "amount", "req_1"],
      );
      assert.equal(error.name, kind.name);
      const asked = answer.headers?.["retry-after"];
      assert.equal(error.retryAfter, asked === undefined ? null : Number(asked));
      assert.equal(received.length, 1);
    });
  });
}

test("several faults are listed", async () => {
  const errors = [{ param: "amount", code: "missing_parameter", message: "Missing." }];
  const body = {
    error: { type: "invalid_request_error", code: "missing_parameter", message: "Two.", requestId: "r", errors },
  };
  await against([{ status: 400, body }], async (client) => {
    await assert.rejects(client.refunds.create({ paymentId: "pay_1" }), { errors });
  });
});

test("retries end, and can be forbidden", async () => {
  await withoutWaiting(() =>
    against([refusal(503, "api_error", "service_unavailable")], async (client, received) => {
      await assert.rejects(client.balance.get(), ServerError);
      assert.equal(received.length, 4);
      await assert.rejects(client.balance.get({}, { maxRetries: 0 }), ServerError);
      assert.equal(received.length, 5);
    }),
  );
});

test("a reply that does not come is an ApiTimeoutError, and nobody there an ApiConnectionError", async () => {
  await against([{ silent: true }], async (client, received) => {
    await assert.rejects(client.balance.get({}, { timeout: 20, maxRetries: 0 }), ApiTimeoutError);
    await withoutWaiting(() =>
      assert.rejects(client.balance.get({}, { timeout: 20, maxRetries: 1 }), ApiConnectionError),
    );
    assert.ok(received.length <= 3);
  });
  await against(
    [{}],
    (client) => assert.rejects(client.balance.get(), { name: "ApiConnectionError", message: /ECONNREFUSED/ }),
    { baseUrl: `http://127.0.0.1:${await closedPort()}`, maxRetries: 0 },
  );
});

test("a signal ends the call and its retries, with its own reason", async () => {
  await against([{ silent: true }], async (client, received) => {
    const stopped = new AbortController();
    const call = client.balance.get({}, { signal: stopped.signal });
    while (received.length === 0) await new Promise(setImmediate);
    stopped.abort(new Error("the shopper left"));
    await assert.rejects(call, /the shopper left/);
    assert.equal(received.length, 1);
    await assert.rejects(client.balance.get({}, { signal: stopped.signal }), /the shopper left/);
    assert.equal(received.length, 1);
  });
  await against(
    [refusal(503, "api_error", "service_unavailable", { "retry-after": "30" })],
    async (client, received) => {
      const stopped = new AbortController();
      const call = client.balance.get({}, { signal: stopped.signal });
      setTimeout(() => stopped.abort(new Error("the shopper left")), 50);
      await assert.rejects(call, /the shopper left/);
      assert.equal(received.length, 1);
    },
  );
});
