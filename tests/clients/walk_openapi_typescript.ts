// The README's walk-through with the types of openapi-typescript: strict, and with nothing asserted by hand.
import createClient from "openapi-fetch";
import type { components, paths, webhooks } from "./schema";

type Event = components["schemas"]["Event"];

const base = process.env["BALLAST_SANDBOX_BASE_URL"] ?? "";
const headers = { Authorization: `Bearer ${process.env["BALLAST_PUBLIC_KEY"]}`, "X-Api-Secret": `${process.env["BALLAST_SECRET_KEY"]}` };
const api = createClient<paths>({ baseUrl: base, headers });

async function main(): Promise<void> {
  const created = await api.POST("/payments", {
    params: { header: { "Idempotency-Key": "order-1001" } },
    body: { amount: 19.99, currency: "EUR", cryptocurrency: "USDC", network: "polygon", merchantWallet: process.env["BALLAST_WALLET"] ?? "", redirectUrl: null, metadata: { order: 1001 } },
  });
  if (!created.data) throw new Error(created.error.error.message);
  const id: string = created.data.id;
  await api.POST("/payments/{payment_id}/simulate", { params: { path: { payment_id: id } }, body: { scenario: "exact" } });
  for (;;) {
    const shown = await api.GET("/payments/{payment_id}", { params: { path: { payment_id: id } } });
    if (shown.data?.status === "completed") break;
    await new Promise((done) => setTimeout(done, 100));
  }
  const refund = await api.POST("/refunds", { body: { paymentId: id, amount: 5, reason: "One mug arrived broken" } });
  if (!refund.data) throw new Error(refund.error.error.message);
  const balance = await api.GET("/balance");
  if (!balance.data) throw new Error(balance.error.error.message);
  let settlement = (await api.GET("/settlements")).data?.data[0];
  while (!settlement) {
    await new Promise((done) => setTimeout(done, 100));
    settlement = (await api.GET("/settlements")).data?.data[0];
  }
  const statement = await api.GET("/settlements/{settlement_id}/statement", { params: { path: { settlement_id: settlement.id } } });
  if (!statement.data || typeof statement.data === "string") throw new Error("no statement");
  const settled = statement.data.settlement;
  const events = await api.GET("/events", { params: { query: { limit: 100 } } });
  const told = (events.data?.data ?? []).map(describe);
  console.log(JSON.stringify({ payment: id, refund: refund.data.id, settled, told }));
}

function describe(event: Event): string {
  switch (event.type) {
    case "payment.completed":
      return `${event.type} ${event.data.object.cryptoAmount}`;
    case "refund.created":
      return `${event.type} ${event.data.object.paymentId}`;
    default:
      return event.type;
  }
}

export type Completed = webhooks["payment.completed"]["post"];
main().catch((error: unknown) => { console.error(error); process.exit(1); });
