/** The shop's pages. */

import type { Order } from "./orders.js";
import { PRODUCTS, price, totalCents, type Cart } from "./products.js";
import { WORDS, type Verdict } from "./states.js";

export function shelf(): string {
  const products = [...PRODUCTS].map(
    ([id, { name, cents }]) => `
      <li>
        <span>${escaped(name)}</span> <b>${price(cents)}</b>
        <form method="post" action="/cart">
          <input type="hidden" name="product" value="${escaped(id)}" />
          <button>Add to cart</button>
        </form>
      </li>`,
  );
  return page("Harbour Coffee", `<ul>${products.join("")}</ul><p><a href="/cart">Cart</a></p>`);
}

/** `number` is that of the order which the form makes. */
export function cartPage(cart: Cart, number: string): string {
  if (cart.size === 0) return page("Cart", `<p>It is empty.</p><p><a href="/">Go on shopping</a></p>`);
  return page(
    "Cart",
    `<ul>${lines([...cart])}</ul>
    <p>Together <b>${price(totalCents(cart))}</b></p>
    <form method="post" action="/orders">
      <input type="hidden" name="number" value="${escaped(number)}" />
      <button name="how" value="redirect">Pay on the next page</button>
      <button name="how" value="dialog">Pay here</button>
    </form>`,
  );
}

export function orderPage(order: Order, verdict: Verdict, ballastUrl: string): string {
  const payment = order.payments.at(-1);
  const due =
    payment && verdict.state === "short"
      ? `<p>Missing: <b>${escaped(payment.amountDue)} ${escaped(payment.cryptocurrency)}</b></p>`
      : "";
  const pay =
    payment && verdict.mayPay ? `<p><a class="button" href="${escaped(payment.url)}" data-ballast>Pay now</a></p>` : "";
  const again = verdict.mayPayAgain
    ? `<form method="post" action="/orders/${escaped(order.number)}/pay"><button>Pay again</button></form>`
    : "";
  const data = {
    order: order.number,
    payment: payment?.id ?? "",
    state: verdict.state,
    attention: verdict.attention.join(" "),
    delivered: String(order.delivered),
  };
  return page(
    "Your order",
    `<p class="number">${escaped(order.number)}</p>
    <ul>${lines(order.items)}</ul>
    <p>Together <b>${price(order.cents)}</b></p>
    <p role="status">${WORDS[verdict.state]}</p>${due}${pay}${again}
    <script src="${escaped(ballastUrl)}/pay.js" defer></script>
    <script src="/shop.js" defer></script>`,
    data,
  );
}

export function messagePage(title: string, text: string): string {
  return page(title, `<p>${escaped(text)}</p><p><a href="/">Go on shopping</a></p>`);
}

/** What the payer sees after the dialog comes from the API again, and not from the dialog. */
export const SCRIPT = `for (const name of ["ballast:paid", "ballast:close"]) document.addEventListener(name, () => location.reload());\n`;

export const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
ul { list-style: none; padding: 0; }
li { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; padding: 0.75rem 0; border-bottom: 1px solid #ddd; }
li span { flex: 1; }
.number { color: #666; overflow-wrap: anywhere; }
button, .button { font: inherit; padding: 0.6rem 1rem; border: 0; border-radius: 0.4rem; background: #14532d; color: #fff; }
.button { display: inline-block; text-decoration: none; }
[role="status"] { padding: 0.75rem 1rem; border-radius: 0.4rem; background: #ecfdf5; }
`;

function lines(items: readonly (readonly [string, number])[]): string {
  return items
    .map(([id, count]) => {
      const product = PRODUCTS.get(id);
      return `<li><span>${count} × ${escaped(product?.name ?? id)}</span> <b>${price((product?.cents ?? 0) * count)}</b></li>`;
    })
    .join("");
}

function page(title: string, body: string, data: Readonly<Record<string, string>> = {}): string {
  const attributes = Object.entries(data).map(([name, value]) => ` data-${name}="${escaped(value)}"`);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <title>${escaped(title)}</title>
    <link rel="stylesheet" href="/shop.css" />
  </head>
  <body>
    <main${attributes.join("")}><h1>${escaped(title)}</h1>${body}</main>
  </body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
