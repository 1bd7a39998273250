import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";
import { inspect } from "node:util";

import { ApiStatusError, Ballast, ConfigurationError, VERSION, type LogEntry } from "@ballast/sdk";

import { KEYS, against, refusal } from "./server.js";

test("a POST carries keys, a key of its own, and who sends it", async () => {
  const appInfo = { name: "Shop", version: "2.1", url: "https://shop.example" };
  await against(
    [{ status: 201, body: { id: "pay_1", status: "made_up_later", ofLater: 1 } }],
    async (client, received) => {
      const created = await client.payments.create({ amount: 5, currency: "EUR" });
      assert.deepEqual(created, { id: "pay_1", status: "made_up_later", ofLater: 1 });
      await client.payments.create({ amount: 5, currency: "EUR" });
      await client.payments.create({ amount: 5, currency: "EUR" }, { idempotencyKey: "order-7" });
      const [first, second, third] = received.map((one) => one.headers);
      assert.equal(received[0]?.method, "POST");
      assert.equal(received[0]?.url, "/sandbox/v1/payments");
      assert.equal(received[0]?.body, '{"amount":5,"currency":"EUR"}');
      assert.equal(first?.["authorization"], "Bearer pk_test_1");
      assert.equal(first?.["x-api-secret"], "sk_test_kept");
      assert.match(String(first?.["idempotency-key"]), /^[0-9a-f-]{36}$/);
      assert.notEqual(first?.["idempotency-key"], second?.["idempotency-key"]);
      assert.equal(third?.["idempotency-key"], "order-7");
      assert.match(String(first?.["ballast-version"]), /^\d{4}-\d\d-\d\d$/);
      assert.equal(
        first?.["user-agent"],
        `ballast-typescript/${VERSION} node/${process.versions.node} Shop/2.1 (https://shop.example)`,
      );
    },
    { appInfo },
  );
});

/** Only its types are checked: a quote needs an amount and a currency. */
export function quotesWithoutAPrice(client: Ballast): void {
  // @ts-expect-error
  void client.quote.get();
  // @ts-expect-error
  void client.quote.get({ amount: "25.50" });
}

test("a GET has its query, and no key of idempotency", async () => {
  await against([{ body: { data: [], hasMore: false, totalCount: 0 } }], async (client, received) => {
    await client.payments.list({
      status: "completed",
      created_gte: new Date("2027-01-31T09:30:00Z"),
      paymentLink: undefined,
      metadata: { order: "1007" },
    });
    const asked = new URLSearchParams(received[0]?.url.split("?")[1]);
    assert.deepEqual(Object.fromEntries(asked), {
      status: "completed",
      created_gte: "2027-01-31T09:30:00.000Z",
      "metadata[order]": "1007",
    });
    assert.equal(received[0]?.headers["idempotency-key"], undefined);
  });
});

const ADDRESSES: [string, string, string][] = [
  ["pk_live_1", "", "/v1/balance"],
  ["pk_test_1", "/", "/sandbox/v1/balance"],
  ["pk_test_1", "/v1", "/sandbox/v1/balance"],
  ["pk_live_1", "/sandbox/v1/", "/v1/balance"],
  ["pk_live_1", "/pay", "/pay/v1/balance"],
];

test("the public key says which environment", async () => {
  await against([{}], async (_, received, url) => {
    for (const [publicKey, path, asked] of ADDRESSES) {
      await new Ballast({ ...KEYS, publicKey, baseUrl: url + path }).balance.get();
      assert.equal(received.at(-1)?.url, asked);
    }
  });
});

test("what a client needs is found in the environment, or said", () => {
  const names = ["BALLAST_URL", "BALLAST_PUBLIC_KEY", "BALLAST_SECRET_KEY"];
  for (const name of names) delete process.env[name];
  assert.throws(() => new Ballast(), /publicKey is missing: .*BALLAST_PUBLIC_KEY/);
  assert.throws(() => new Ballast({ ...KEYS, baseUrl: "nowhere" }), ConfigurationError);
  for (const name of names) process.env[name] = "https://pay.example.com";
  assert.ok(new Ballast());
  for (const name of names) delete process.env[name];
});

test("an id cannot become another path", async () => {
  await against([{}], async (client, received) => {
    for (const id of ["", ".", ".."]) assert.throws(() => client.payments.get(id), ConfigurationError);
    await client.payments.get("../merchant?x=1#");
    assert.equal(received[0]?.url, "/sandbox/v1/payments/..%2Fmerchant%3Fx%3D1%23");
    assert.equal(received.length, 1);
  });
});

test("a key that cannot be sent is said at once", async () => {
  await against([{}], async (client, received) => {
    for (const idempotencyKey of ["", "Bestellung für 7", " 7", "7".repeat(256)]) {
      await assert.rejects(client.payments.cancel("pay_1", { idempotencyKey }), ConfigurationError);
    }
    await client.payments.cancel("pay_1", { idempotencyKey: "7".repeat(255) });
    assert.equal(received.length, 1);
  });
});

test("requests are signed as docs/api.md says, each once", async () => {
  await against(
    [{}],
    async (client, received) => {
      await client.payments.create({ amount: 5, currency: "EUR" });
      await Promise.all([1, 2, 3].map(() => client.balance.get({ at: "2027-01-31" })));
      for (const { method, headers, body } of received) {
        const path = method === "POST" ? "/v1/payments" : "/v1/balance";
        const text = `${headers["x-service-timestamp"]}.${method}.${path}.${body}`;
        const signature = createHmac("sha256", "sk_test_kept").update(text).digest("hex");
        assert.equal(headers["x-service-signature"], signature);
      }
      assert.equal(new Set(received.map((one) => one.headers["x-service-timestamp"])).size, 4);
    },
    { signRequests: true },
  );
});

test("withResponse has what stands around the record", async () => {
  const headers = { "X-Request-Id": "req_9", "Idempotent-Replayed": "true", "RateLimit-Remaining": "98" };
  await against([{ headers, body: { id: "pay_1" } }], async (client) => {
    const reply = await client.payments.cancel("pay_1").withResponse();
    assert.deepEqual([reply.data.id, reply.status, reply.requestId, reply.replayed], ["pay_1", 200, "req_9", true]);
    assert.equal(reply.headers.get("ratelimit-remaining"), "98");
  });
});

test("a file comes as its bytes", async () => {
  const file = { headers: { "content-type": "application/pdf" }, body: "%PDF-1.7" };
  await against([file], async (client, received) => {
    const bytes = await client.invoices.download("inv_1", { format: "pdf" });
    assert.equal(Buffer.from(bytes).toString(), "%PDF-1.7");
    assert.equal(received[0]?.url, "/sandbox/v1/invoices/inv_1?format=pdf");
  });
});

test("iterating over a list fetches what follows, and awaiting it one page", async () => {
  const page = (ids: string[], hasMore: boolean) => ({
    body: { data: ids.map((id) => ({ id, month: `m${id}` })), hasMore, totalCount: 3 },
  });
  await against([page(["a", "b"], true), page(["c"], false)], async (client, received) => {
    const ids: string[] = [];
    for await (const payment of client.payments.list({ status: "created" })) ids.push(payment.id);
    assert.deepEqual(ids, ["a", "b", "c"]);
    assert.deepEqual(
      received.map((one) => one.url.split("?")[1]),
      ["limit=100&status=created", "limit=100&status=created&starting_after=b"],
    );
  });
  await against([page(["a", "b"], true), page(["c"], false)], async (client, received) => {
    const first = await client.statements.list({ limit: 2 });
    assert.deepEqual([first.data.length, first.hasMore, first.totalCount, received.length], [2, true, 3, 1]);
    const second = await first.nextPage();
    assert.equal(received[1]?.url, "/sandbox/v1/statements?limit=2&starting_after=mb");
    assert.equal(await second?.nextPage(), null);
  });
});

test("a list that ends before a record goes on to newer ones", async () => {
  const page = (id: string, hasMore: boolean) => ({ body: { data: [{ id }], hasMore, totalCount: 3 } });
  await against([page("b", true), page("c", false)], async (client, received) => {
    const first = await client.payments.list({ ending_before: "a" });
    await first.nextPage();
    assert.equal(received[1]?.url, "/sandbox/v1/payments?ending_before=b");
  });
});

test("a redirect is not followed, because the keys would go along", async () => {
  await against([{ status: 302, headers: { location: "/elsewhere" } }], async (client, received) => {
    await assert.rejects(client.balance.get(), (error: ApiStatusError) => error.code === "http_302");
    assert.equal(received.length, 1);
  });
});

test("a page in place of JSON is an error", async () => {
  await against([{ headers: { "content-type": "text/html" }, body: "<p>Welcome" }], async (client) => {
    await assert.rejects(client.balance.get(), /is the URL right/);
  });
});

test("neither a log nor a print of the client or of an error shows a secret", async () => {
  const entries: LogEntry[] = [];
  await against(
    [
      refusal(503, "api_error", "service_unavailable", { "retry-after": "0" }),
      refusal(404, "not_found_error", "resource_missing"),
    ],
    async (client) => {
      const error = await client.payments
        .create({ amount: 5, currency: "EUR", metadata: { note: "sk_private" } })
        .catch((found: unknown) => found);
      assert.ok(error instanceof ApiStatusError);
      const shown =
        inspect([client, error, entries], { depth: 9, showHidden: true }) + JSON.stringify([client, error, entries]);
      assert.doesNotMatch(shown, /sk_test|sk_private|pk_test|currency/);
    },
    { logger: (entry) => entries.push(entry) },
  );
  const told = entries.map(({ event, attempt, code }) => [event, attempt, code]);
  assert.deepEqual(told, [
    ["request", 1, undefined],
    ["retry", 1, "service_unavailable"],
    ["request", 2, undefined],
    ["failure", 2, "resource_missing"],
  ]);
});

test("a log hears that an operation will end", async () => {
  const entries: LogEntry[] = [];
  await against(
    [{ headers: { Deprecation: "@1795910400" } }],
    async (client) => {
      await client.balance.get();
      assert.equal(entries.at(-1)?.deprecation, "@1795910400");
    },
    { logger: (entry) => entries.push(entry) },
  );
});

test("the package can be required, and has one version", () => {
  const required = createRequire(import.meta.url)("@ballast/sdk") as typeof import("@ballast/sdk", {
    with: { "resolution-mode": "require" }
  });
  assert.equal(typeof required.Ballast, "function");
  const written = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  assert.deepEqual([VERSION, required.VERSION], [written.version, written.version]);
});
