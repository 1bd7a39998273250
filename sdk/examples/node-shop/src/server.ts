/** A shop that takes stablecoins, on Node's own server. */

import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

import { ApiConnectionError, ApiStatusError, Ballast, Webhook, WebhookVerificationError } from "@ballast/sdk";

import { Orders } from "./orders.js";
import { PRODUCTS, type Cart } from "./products.js";
import { SCRIPT, STYLE, cartPage, messagePage, orderPage, shelf } from "./pages.js";

const port = Number(process.env["PORT"] ?? 3000);
const shopUrl = process.env["SHOP_URL"] ?? `http://localhost:${port}`;
const ballastUrl = new URL(process.env["BALLAST_URL"] ?? "").origin;
const LARGEST_BODY = 1024 * 1024;

// Pages wait for Ballast: better a message after a few seconds than a page that never comes.
const ballast = new Ballast({ timeout: 5_000, maxRetries: 2, appInfo: { name: "node-shop" } });
const webhook = new Webhook();
const orders = new Orders(`${process.env["SHOP_DATA"] ?? "data"}/orders.json`, ballast, shopUrl);

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.error(error);
    const isAway = error instanceof ApiConnectionError || error instanceof ApiStatusError;
    if (response.headersSent) return void response.destroy();
    const text = isAway
      ? "Paying does not work just now. Nothing was charged. Please try again."
      : "Something went wrong.";
    send(response, isAway ? 503 : 500, messagePage("Sorry", text));
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", shopUrl);
  const number = /^\/orders\/([0-9a-f]{24})(?:\/pay)?$/.exec(pathname)?.[1];
  const order = number === undefined ? undefined : orders.find(number);
  switch (`${request.method} ${number === undefined ? pathname : pathname.replace(number, ":number")}`) {
    case "GET /":
      return send(response, 200, shelf());
    case "GET /shop.css":
      return send(response, 200, STYLE, "text/css");
    case "GET /shop.js":
      return send(response, 200, SCRIPT, "text/javascript");
    case "GET /cart":
      return send(response, 200, cartPage(cartOf(request), newNumber()));
    case "POST /cart": {
      const cart = new Map(cartOf(request));
      const product = new URLSearchParams((await bodyOf(request)).toString()).get("product") ?? "";
      if (PRODUCTS.has(product)) cart.set(product, Math.min(99, (cart.get(product) ?? 0) + 1));
      const text = [...cart].map((line) => line.join(".")).join("_");
      return redirect(response, "/cart", { "Set-Cookie": `cart=${text}; Path=/; HttpOnly; SameSite=Lax` });
    }
    case "POST /orders": {
      const form = new URLSearchParams((await bodyOf(request)).toString());
      const asked = form.get("number") ?? "";
      const cart = cartOf(request);
      if (!/^[0-9a-f]{24}$/.test(asked) || (cart.size === 0 && !orders.find(asked))) return redirect(response, "/cart");
      const placed = await orders.place(asked, cart);
      const page =
        form.get("how") === "dialog" ? `/orders/${asked}` : (placed.payments.at(-1)?.url ?? `/orders/${asked}`);
      return redirect(response, page, { "Set-Cookie": "cart=; Path=/; Max-Age=0" });
    }
    case "GET /orders/:number":
      if (!order) break;
      // While Ballast is away, the page shows what was known last.
      await orders.refresh(order).catch((error: unknown) => console.error(error));
      return send(response, 200, orderPage(order, orders.verdict(order), ballastUrl));
    case "POST /orders/:number/pay":
      if (!order) break;
      return redirect(response, (await orders.payAgain(order)).payments.at(-1)?.url ?? `/orders/${order.number}`);
    case "POST /webhooks/ballast":
      return send(response, await receive(await bodyOf(request), request), "");
  }
  return send(response, 404, messagePage("Not found", "There is no such page."));
}

/** The status to reply with. What cannot be read from the API now fails, so that Ballast sends the event again. */
async function receive(body: Buffer, request: IncomingMessage): Promise<number> {
  try {
    const event = webhook.verify(body, request.headers);
    const { metadata } = event.data.object as { metadata?: Record<string, unknown> };
    const order = orders.find(String(metadata?.["order"]));
    if (order) await orders.refresh(order);
    return 204;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return 400;
    throw error;
  }
}

function cartOf(request: IncomingMessage): Cart {
  const text = /(?:^|; )cart=([a-z0-9._]*)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
  const lines = text.split("_").map((line) => line.split("."));
  return new Map(
    lines
      .map(([id, count]) => [id ?? "", Number(count)] as const)
      .filter(([id, count]) => PRODUCTS.has(id) && Number.isInteger(count) && count > 0 && count < 100),
  );
}

/** Nobody guesses it: whoever knows the address of an order may see it. */
function newNumber(): string {
  return randomBytes(12).toString("hex");
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw new Error("The body is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, status: number, text: string, type = "text/html"): void {
  response.writeHead(status, {
    "Content-Type": `${type}; charset=utf-8`,
    "Cache-Control": "no-store",
    "Content-Security-Policy": `default-src 'self'; script-src 'self' ${ballastUrl}; frame-src ${ballastUrl}; form-action 'self' ${ballastUrl}`,
    "X-Content-Type-Options": "nosniff",
  });
  response.end(text);
}

function redirect(response: ServerResponse, location: string, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(303, { Location: location, ...headers }).end();
}

server.listen(port, "127.0.0.1", () => console.log(`The shop is open at ${shopUrl}`));
