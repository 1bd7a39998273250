/** A server with replies from a list, which keeps what it was sent. */

import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import timers from "node:timers/promises";

import { Ballast, type ClientOptions } from "@ballast/sdk";

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** Ends the connection: before a reply, or in the middle of it. */
  readonly cut?: "before" | "middle";
  /** Never replies. */
  readonly silent?: boolean;
}

export const KEYS = { publicKey: "pk_test_1", secretKey: "sk_test_kept" };

/** Runs `use` with a client of a server that gives these answers in turn, the last one for all that follows. */
export async function against(
  answers: readonly Answer[],
  use: (client: Ballast, received: Received[], url: string) => Promise<void>,
  options: ClientOptions = {},
): Promise<void> {
  const received: Received[] = [];
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = answers[Math.min(received.length, answers.length - 1)] ?? {};
    received.push({
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks).toString("utf8"),
    });
    if (answer.silent) return;
    if (answer.cut === "before") return void request.socket.destroy();
    const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {});
    const length = Buffer.byteLength(text);
    response.writeHead(answer.status ?? 200, {
      "content-type": "application/json",
      "content-length": length,
      ...answer.headers,
    });
    if (answer.cut === "middle") {
      response.write(text.slice(0, length / 2), () => request.socket.destroy());
      return;
    }
    response.end(text);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await use(new Ballast({ baseUrl: url, ...KEYS, ...options }), received, url);
  } finally {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
}

/** A reply that refuses. */
export function refusal(status: number, type: string, code: string, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers,
    body: { error: { type, code, message: "Said why.", requestId: "req_1", param: "amount" } },
  };
}

/** Runs `use` without waiting between attempts, and returns the waits there would have been. */
export async function withoutWaiting(use: () => Promise<void>): Promise<number[]> {
  const waits: number[] = [];
  const original = timers.setTimeout;
  timers.setTimeout = (async (milliseconds: number) => void waits.push(milliseconds)) as unknown as typeof original;
  syncBuiltinESMExports();
  try {
    await use();
  } finally {
    timers.setTimeout = original;
    syncBuiltinESMExports();
  }
  return waits;
}
