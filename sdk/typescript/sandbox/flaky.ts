/** Creates payments through a proxy that spoils requests: none may be lost, and none made twice. */

import assert from "node:assert/strict";

import { Ballast } from "@ballast/sdk";

import { environment } from "./common.js";

const WORKERS = 10;
const creates = Number(environment("BALLAST_CREATES"));
const run = `run-${Date.now()}`;
let retries = 0;
const ballast = new Ballast({
  baseUrl: environment("BALLAST_FLAKY_URL"),
  // At 40 % spoiled, three tries more would lose 2.6 % of the payments.
  maxRetries: 25,
  logger: ({ event }) => (retries += Number(event === "retry")),
});

const began = new Date();
const returned = new Map<number, string>();
let next = 0;
await Promise.all(Array.from({ length: WORKERS }, work));

const orders = new Map<number, string[]>();
for await (const payment of ballast.payments.list({ created_gte: began })) {
  if (payment.metadata["run"] !== run) continue;
  const order = Number(payment.metadata["order"]);
  orders.set(order, [...(orders.get(order) ?? []), payment.id]);
}
for (let order = 0; order < creates; order++) assert.deepEqual(orders.get(order), [returned.get(order)]);
assert.equal(orders.size, creates);
assert.ok(retries > creates / 10, `${retries} retries: is the proxy in between?`);
console.log(`${creates} payments created with ${retries} retries: none lost, none twice`);

async function work(): Promise<void> {
  for (let order = next++; order < creates; order = next++) {
    const payment = await ballast.payments.create({ amount: 5, currency: "EUR", metadata: { run, order } });
    returned.set(order, payment.id);
  }
}
