/** Orders, kept in one file, and their payments. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import type { Ballast, Payment } from "@ballast/sdk";

import { CURRENCY, PRODUCTS, totalCents, type Cart } from "./products.js";
import { judge, type Verdict } from "./states.js";

export interface Order {
  readonly number: string;
  readonly items: readonly (readonly [string, number])[];
  readonly cents: number;
  /** How often paying was begun. */
  attempts: number;
  /** As the API last said it, by attempt. */
  payments: Payment[];
  /** How often goods were handed out: once at most. */
  delivered: number;
}

export class Orders {
  readonly #orders: Map<string, Order>;

  constructor(
    private readonly file: string,
    private readonly ballast: Ballast,
    private readonly shopUrl: string,
  ) {
    mkdirSync(dirname(file), { recursive: true });
    this.#orders = new Map(read(file).map((order) => [order.number, order]));
  }

  find(number: string): Order | undefined {
    return this.#orders.get(number);
  }

  /** The order of this number with its payment. The number comes from the form, so a form sent twice is one order. */
  async place(number: string, cart: Cart): Promise<Order> {
    const known = this.#orders.get(number);
    const order = known ?? {
      number,
      items: [...cart],
      cents: totalCents(cart),
      attempts: 1,
      payments: [],
      delivered: 0,
    };
    if (!known) {
      this.#orders.set(number, order);
      this.#save();
    }
    return await this.refresh(order);
  }

  /** Begins another attempt for an order whose last one is over. */
  async payAgain(order: Order): Promise<Order> {
    await this.refresh(order);
    if (this.verdict(order).mayPayAgain && order.attempts === order.payments.length) {
      order.attempts += 1;
      this.#save();
    }
    return await this.refresh(order);
  }

  /** Reads every payment of the order from the API, and makes the one that a program which died has left unmade. */
  async refresh(order: Order): Promise<Order> {
    const read = order.payments.map((payment) => this.ballast.payments.get(payment.id));
    for (const payment of await Promise.all(read)) this.#keep(order, payment);
    if (order.payments.length < order.attempts) this.#keep(order, await this.#pay(order));
    return order;
  }

  verdict(order: Order): Verdict {
    return judge(order.payments, order.delivered > 0);
  }

  #pay(order: Order): Promise<Payment> {
    const page = `${this.shopUrl}/orders/${order.number}`;
    return this.ballast.payments.create(
      {
        amount: order.cents / 100,
        currency: CURRENCY,
        description: `Order ${order.number}`,
        items: order.items.map(([id, quantity]) => {
          const product = PRODUCTS.get(id);
          return { name: product?.name ?? id, quantity, amount: ((product?.cents ?? 0) * quantity) / 100 };
        }),
        redirectUrl: page,
        cancelUrl: page,
        webhookUrl: `${this.shopUrl}/webhooks/ballast`,
        metadata: { order: order.number },
      },
      { idempotencyKey: `${order.number}-${order.attempts}` },
    );
  }

  #keep(order: Order, payment: Payment): void {
    const place = order.payments.findIndex((known) => known.id === payment.id);
    if (place === -1) order.payments.push(payment);
    // Two readings may overtake each other: the record with the highest version is the newest.
    else if (payment.version >= (order.payments[place]?.version ?? 0)) order.payments[place] = payment;
    const isDue = order.delivered === 0 && this.verdict(order).state === "paid";
    if (isDue) order.delivered += 1;
    try {
      this.#save();
    } catch (error) {
      if (isDue) order.delivered -= 1; // the next look tries again
      throw error;
    }
    // Only now that it is written: a program that dies in between hands nothing out twice.
    if (isDue) console.log(`${order.number}: goods are handed out`);
  }

  #save(): void {
    writeFileSync(`${this.file}.new`, JSON.stringify([...this.#orders.values()]));
    renameSync(`${this.file}.new`, this.file);
  }
}

function read(file: string): Order[] {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Order[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
