/** The client: a resource for each noun of the API, and `request` for what this version does not know. */

import type { Call } from "./calls.js";
import { Resources } from "./generated/resources.js";
import type { CallOptions, ClientOptions } from "./options.js";
import { type Operation, Transport } from "./transport.js";

export class Ballast extends Resources {
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    const transport = new Transport(options);
    super(transport);
    this.#transport = transport;
  }

  /** Sends any request with the client's keys, retries and time-outs. `path` begins after `/v1`. */
  request<T = unknown>(operation: Operation, options?: CallOptions): Call<T> {
    return this.#transport.call<T>(operation, options);
  }
}
