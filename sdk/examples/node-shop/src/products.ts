/** What is sold. Prices are in cents: a form says which product, and never what it costs. */

export interface Product {
  readonly name: string;
  readonly cents: number;
}

export const CURRENCY = "EUR";

export const PRODUCTS: ReadonlyMap<string, Product> = new Map([
  ["mug", { name: "Mug", cents: 1250 }],
  ["beans", { name: "Coffee beans, 500 g", cents: 990 }],
]);

/** How many of each product. */
export type Cart = ReadonlyMap<string, number>;

export function totalCents(cart: Cart): number {
  return [...cart].reduce((sum, [id, count]) => sum + (PRODUCTS.get(id)?.cents ?? 0) * count, 0);
}

export function price(cents: number): string {
  return `${(cents / 100).toFixed(2)} ${CURRENCY}`;
}
