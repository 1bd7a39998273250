/** Counts the operations of the API that were called and replied to with success. */

import { readFileSync } from "node:fs";

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
}

export class Counter {
  readonly #operations: readonly Operation[];
  readonly #called = new Set<string>();

  constructor(file: string) {
    const operations = JSON.parse(readFileSync(file, "utf8")) as Operation[];
    // A path of words comes before one with a parameter: /settlements/next is no settlement.
    this.#operations = operations.sort((one, other) => one.path.split("{").length - other.path.split("{").length);
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await globalThis.fetch(input, init);
    const { pathname } = new URL(String(input));
    const found = this.#operations.find(
      ({ method, path }) => method === init?.method && fits(path, pathname.replace(/^\/sandbox\/v1/, "")),
    );
    if (!found) throw new Error(`${init?.method} ${pathname} is no operation of docs/openapi.json`);
    if (response.ok || isMissingInvoice(found, response)) this.#called.add(found.id);
    return response;
  };

  /** Throws unless all were called. */
  finish(): number {
    const missing = this.#operations.filter(({ id }) => !this.#called.has(id)).map(({ id }) => id);
    if (missing.length > 0) throw new Error(`not called: ${missing.join(", ")}`);
    return this.#called.size;
  }
}

/** A sandbox has no invoices: a reply that says so is as far as this can go. */
function isMissingInvoice({ id }: Operation, response: Response): boolean {
  return id === "invoices_retrieve" && response.status === 404;
}

function fits(path: string, asked: string): boolean {
  const [parts, found] = [path.split("/"), asked.split("/")];
  return parts.length === found.length && parts.every((part, index) => part.startsWith("{") || part === found[index]);
}
