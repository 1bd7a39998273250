/** What both programs need: values of the environment, and waiting for what the sandbox does by itself. */

import { setTimeout as sleep } from "node:timers/promises";

const PATIENCE = 60_000;

export function environment(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: make sdk does it`);
  return value;
}

/** What `read` returns, once it is no longer null. */
export async function eventually<T>(what: string, read: () => Promise<T | null | undefined>): Promise<T> {
  for (const began = Date.now(); Date.now() - began < PATIENCE; await sleep(100)) {
    const found = await read();
    if (found !== null && found !== undefined) return found;
  }
  throw new Error(`${what} has not happened within ${PATIENCE / 1000} s`);
}
