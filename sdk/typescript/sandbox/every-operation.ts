/** Calls every operation of a real sandbox once, with the installed package. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import {
  AuthenticationError,
  Ballast,
  IdempotencyError,
  InvalidRequestError,
  NotFoundError,
  Webhook,
  type Discrepancy,
  type Event,
  type Payment,
  type Scenario,
  type models,
} from "@ballast/sdk";

import { environment, eventually } from "./common.js";
import { Counter } from "./operations.js";

const counter = new Counter(environment("BALLAST_OPERATIONS"));
const ballast = new Ballast({ fetch: counter.fetch, appInfo: { name: "check" } });
const wallet = environment("BALLAST_WALLET");
/** Of the simulated network. Nobody has its key. */
const STELLAR_WALLET = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN";
const onPolygon = { cryptocurrency: "USDC", network: "polygon", merchantWallet: wallet } as const;

const received: Event[] = [];
let webhookSecrets: string[] = [environment("BALLAST_WEBHOOK_SECRET")];
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const found = webhookSecrets.map((secret) => verified(secret, Buffer.concat(chunks), request.headers));
  const event = found.find((one) => one !== null);
  if (event) received.push(event);
  response.writeHead(event ? 204 : 400).end();
});

function verified(secret: string, body: Buffer, headers: NodeJS.Dict<string | string[]>): Event | null {
  try {
    return new Webhook(secret).verify(body, headers);
  } catch {
    return null;
  }
}

await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
try {
  await walk();
} finally {
  receiver.closeAllConnections();
  receiver.close();
}
console.log(`${counter.finish()} operations called, ${received.length} webhooks verified`);

async function walk(): Promise<void> {
  const began = new Date();
  const merchant = await ballast.merchant.get();
  assert.equal((await ballast.merchant.updateSettings({ latePayments: "hold" })).id, merchant.id);
  assert.equal((await ballast.balance.get()).environment, "sandbox");
  assert.ok((await new Ballast({ signRequests: true }).balance.get()).object);

  const webhook = await receiveWebhooks();
  const paid = await pay();
  await refund(paid);
  await decide();
  await refundToExchange();
  await link();
  await settle();
  await lookBack(webhook, paid, began);
  await refuse();
}

async function create(): Promise<Payment> {
  return await ballast.payments.create({ amount: 25.5, currency: "EUR", ...onPolygon, webhookUrl: address });
}

/** A payment to which `scenario` happened, once `isThere` is true of it. */
async function acted(payment: Payment, scenario: Scenario, isThere: (payment: Payment) => boolean): Promise<Payment> {
  const simulation = await ballast.payments.simulate(payment.id, { scenario });
  assert.equal(simulation.payment.id, payment.id);
  return await eventually(scenario, async () => {
    const now = await ballast.payments.get(payment.id);
    return isThere(now) ? now : null;
  });
}

async function receiveWebhooks(): Promise<models.WebhookEndpoint> {
  const made = await ballast.webhooks.create({ url: address, events: ["payment.created", "payment.completed"] });
  webhookSecrets.push(made.secret);
  assert.equal((await ballast.webhooks.get(made.id)).url, address);
  const first = await ballast.webhooks.test(made.id);
  await eventually("webhook.test", async () => received.find((event) => event.type === "webhook.test"));
  assert.equal((await ballast.deliveries.get(first.id)).id, first.id);
  assert.equal((await ballast.webhooks.update(made.id, { description: "Of a check" })).description, "Of a check");
  webhookSecrets.push((await ballast.webhooks.rotate(made.id)).secret);
  webhookSecrets.push((await ballast.webhooks.rotateAccountSecret()).secret);
  assert.ok((await ballast.webhooks.list()).data.some((one) => one.id === made.id));
  return made;
}

async function pay(): Promise<Payment> {
  const idempotencyKey = `check-${Date.now()}`;
  const order = {
    amount: 25.5,
    currency: "EUR",
    ...onPolygon,
    webhookUrl: address,
    metadata: { order: 1007 },
  } as const;
  const first = await ballast.payments.create(order, { idempotencyKey }).withResponse();
  const again = await ballast.payments.create(order, { idempotencyKey }).withResponse();
  assert.deepEqual([first.replayed, again.replayed, again.data.id], [false, true, first.data.id]);
  await assert.rejects(
    ballast.payments.create({ ...order, amount: 26 }, { idempotencyKey }),
    (error) => error instanceof IdempotencyError && error.code === "idempotency_key_reused",
  );
  const paid = await acted(first.data, "exact", (payment) => payment.status === "completed");
  const noted = await ballast.payments.update(paid.id, { note: "Of a check", metadata: { packed: true } });
  assert.deepEqual([noted.note, noted.metadata], ["Of a check", { order: 1007, packed: true }]);
  assert.equal((await ballast.payments.list({ metadata: { order: "1007" }, limit: 1 })).data[0]?.id, paid.id);
  assert.equal((await ballast.quote.get({ amount: "25.50", currency: "EUR" })).options.length, 9);
  assert.deepEqual((await ballast.discrepancies.list({ status: "refunded" })).data, []);
  const completed = await eventually("payment.completed", async () =>
    received.find((event) => event.type === "payment.completed" && event.data.object.id === paid.id),
  );
  if (completed.type === "payment.completed") assert.equal(completed.data.object.amountReceived, paid.amountReceived);
  const transfers = await ballast.payments.transfers(paid.id);
  const transactionHash = transfers.data[0]?.hash ?? "";
  assert.equal((await ballast.payments.claim(paid.id, { transactionHash })).status, "credited");
  const told: string[] = [];
  for await (const entry of ballast.payments.timeline(paid.id, { limit: 1 })) told.push(entry.type);
  assert.ok(told.includes("payment.created") && told.includes("payment.completed"), String(told));
  assert.equal((await ballast.payments.cancel((await create()).id)).status, "cancelled");
  return paid;
}

async function refund(payment: Payment): Promise<void> {
  const made = await ballast.refunds.create({ paymentId: payment.id, amount: 5, reason: "One mug arrived broken" });
  assert.equal((await ballast.refunds.get(made.id)).amount, 5);
  const listed = await ballast.refunds.list({ paymentId: payment.id });
  assert.deepEqual([listed.totalCount, listed.data[0]?.id], [1, made.id]);
}

async function decide(): Promise<void> {
  const short = await acted(await create(), "underpaid", (payment) => payment.status === "underpaid");
  await ballast.payments.close(short.id);
  const found: Discrepancy = await eventually("a discrepancy", async () => {
    return (await ballast.payments.discrepancies(short.id)).data[0];
  });
  assert.equal((await ballast.payments.acceptDiscrepancy(short.id, found.id)).status, "accepted");
}

async function refundToExchange(): Promise<void> {
  const stellar = { network: "stellar", cryptocurrency: "USDC", merchantWallet: STELLAR_WALLET } as const;
  const made = await ballast.payments.create({ amount: 9, currency: "EUR", ...stellar });
  const paid = await acted(made, "from_exchange", (payment) => payment.status === "completed");
  const waiting = await ballast.refunds.create({ paymentId: paid.id, amount: 4 });
  const asking = await eventually("requires_action", async () => {
    const now = await ballast.refunds.get(waiting.id);
    return now.status === "requires_action" ? now : null;
  });
  const given = await ballast.refunds.giveDestination(asking.id, { destination: STELLAR_WALLET });
  assert.equal(given.destination, STELLAR_WALLET);
  const other = await ballast.refunds.create({ paymentId: paid.id, amount: 4 });
  assert.equal((await ballast.refunds.cancel(other.id)).status, "cancelled");
}

async function link(): Promise<void> {
  const made = await ballast.paymentLinks.create({
    description: "A mug",
    currency: "EUR",
    amount: 12,
    merchantWallets: { polygon: wallet },
  });
  assert.equal((await ballast.paymentLinks.update(made.id, { enabled: false })).status, "disabled");
  assert.equal((await ballast.paymentLinks.get(made.id)).description, "A mug");
  const ids: string[] = [];
  for await (const each of ballast.paymentLinks.list()) ids.push(each.id);
  assert.ok(ids.includes(made.id));
}

async function settle(): Promise<void> {
  const upcoming = await ballast.settlements.upcoming();
  assert.equal(upcoming.environment, "sandbox");
  const manage = ["-m", "config.embedded", "manage", "run_settlements", "--now", "--env", "sandbox"];
  execFileSync(environment("PYTHON"), manage, { cwd: environment("BALLAST_ROOT"), stdio: "ignore" });
  const settlement = await eventually("a settlement", async () => (await ballast.settlements.list()).data[0]);
  assert.equal((await ballast.settlements.get(settlement.id)).id, settlement.id);
  assert.equal((await ballast.settlements.statement(settlement.id)).settlement, settlement.id);
  const csv = await ballast.settlements.downloadStatement(settlement.id, { format: "csv" });
  assert.match(Buffer.from(csv).toString("utf8"), /statement_version/);
}

async function lookBack(webhook: models.WebhookEndpoint, paid: Payment, began: Date): Promise<void> {
  const months = await ballast.statements.list();
  const month = months.data[0]?.month ?? "";
  assert.equal((await ballast.statements.get(month)).month, month);
  const pdf = await ballast.statements.download(month, { format: "pdf" });
  assert.equal(Buffer.from(pdf.subarray(0, 5)).toString(), "%PDF-");
  assert.equal((await ballast.invoices.list()).totalCount, 0);
  await assert.rejects(ballast.invoices.get("inv_0"), NotFoundError);

  const events = await ballast.events.list({ type: "payment.completed", created_gte: began });
  const event = events.data.find((one) => one.type === "payment.completed" && one.data.object.id === paid.id);
  assert.ok(event);
  assert.equal((await ballast.events.get(event.id)).type, "payment.completed");
  const replay = { createdGte: began, createdLte: new Date(), types: ["payment.completed"] } as const;
  assert.ok((await ballast.webhooks.replay(webhook.id, replay)).deliveryCount >= 1);
  const deliveries = await ballast.deliveries.list({ endpoint: webhook.id, status: "delivered" });
  const delivery = deliveries.data[0]?.id ?? "";
  assert.equal((await ballast.deliveries.redeliver(delivery)).id, delivery);
  const logged = await eventually("a request", async () => {
    return (await ballast.requests.list({ method: "POST", path: `${delivery}/redeliver` })).data[0];
  });
  assert.equal(logged.statusCode, 200);
  const ids = new Set<string>();
  for await (const payment of ballast.payments.list({ created_gte: began, limit: 2 })) ids.add(payment.id);
  assert.equal(ids.size, (await ballast.payments.list({ created_gte: began })).totalCount);
  assert.equal((await ballast.webhooks.delete(webhook.id)).deleted, true);
}

async function refuse(): Promise<void> {
  const wrong = new Ballast({ secretKey: environment("BALLAST_SECRET_KEY").slice(0, -1) + "!" });
  await assert.rejects(wrong.balance.get(), AuthenticationError);
  await assert.rejects(
    ballast.payments.create({ amount: -1, currency: "EUR", expiresIn: 1 }),
    (error) => error instanceof InvalidRequestError && error.errors.length === 2 && error.requestId !== null,
  );
}
