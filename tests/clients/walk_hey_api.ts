// The README's walk-through with the client of @hey-api/openapi-ts: strict, and with nothing asserted by hand.
import {
  balanceRetrieve,
  eventsList,
  paymentsCreate,
  paymentsRetrieve,
  paymentsSimulate,
  refundsCreate,
  settlementsList,
  settlementsStatement,
} from "./hey/sdk.gen";
import { client } from "./hey/client.gen";
import type { Event } from "./hey/types.gen";

client.setConfig({
  baseUrl: process.env["BALLAST_SANDBOX_BASE_URL"] ?? "",
  auth: (scheme) =>
    (scheme.type === "http" ? process.env["BALLAST_PUBLIC_KEY"] : process.env["BALLAST_SECRET_KEY"]) ?? "",
});

async function main(): Promise<void> {
  const created = await paymentsCreate({
    headers: { "Idempotency-Key": "order-1001" },
    body: {
      amount: 19.99,
      currency: "EUR",
      cryptocurrency: "USDC",
      network: "polygon",
      merchantWallet: process.env["BALLAST_WALLET"] ?? "",
      redirectUrl: null,
      metadata: { order: 1001 },
    },
  });
  if (!created.data) throw new Error(JSON.stringify(created.error));
  const path = { payment_id: created.data.id };
  await paymentsSimulate({ path, body: { scenario: "exact" } });
  while ((await paymentsRetrieve({ path })).data?.status !== "completed") {
    await new Promise((done) => setTimeout(done, 100));
  }
  const refund = await refundsCreate({
    body: { paymentId: created.data.id, amount: 5, reason: "One mug arrived broken" },
  });
  if (!refund.data) throw new Error(JSON.stringify(refund.error));
  const balance = await balanceRetrieve();
  if (!balance.data) throw new Error(JSON.stringify(balance.error));
  let settlement = (await settlementsList()).data?.data[0];
  while (!settlement) {
    await new Promise((done) => setTimeout(done, 100));
    settlement = (await settlementsList()).data?.data[0];
  }
  const statement = await settlementsStatement({ path: { settlement_id: settlement.id } });
  if (!statement.data || typeof statement.data === "string") throw new Error(JSON.stringify(statement.error));
  const settled = statement.data.settlement;
  const events = await eventsList({ query: { limit: 100 } });
  const told = (events.data?.data ?? []).map(describe);
  console.log(JSON.stringify({ payment: created.data.id, refund: refund.data.id, settled, told }));
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

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
