/** Sends requests: keys, signature, idempotency key, time-outs, and retries. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { Call, ListCall, Page, type ListReply, type Reply } from "./calls.js";
import {
  ApiStatusError,
  BallastError,
  ConfigurationError,
  ApiConnectionError,
  ApiTimeoutError,
  errorOf,
} from "./errors.js";
import { API_VERSION } from "./generated/version.js";
import type { AppInfo, CallOptions, ClientOptions, LogEntry, Logger } from "./options.js";
import { Clock, requestSignature } from "./signing.js";
import { VERSION } from "./version.js";

/** One operation of the API. `path` begins after `/v1`. A file comes as bytes. */
export interface Operation {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly path: string;
  /** Texts, numbers, booleans and dates; what is null or undefined is left out. */
  readonly query?: object | undefined;
  readonly body?: object | undefined;
  readonly isFile?: boolean;
}

const DEFAULT_TIMEOUT = 30_000;
const DEFAULT_RETRIES = 3;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8_000;
/** A reply that asks for a longer wait is an error at once: a shop's page cannot wait for so long. */
const LONGEST_ASKED_WAIT = 60_000;
const LARGEST_PAGE = 100;
const LARGEST_TIMEOUT = 2 ** 31 - 1;
/** 502 and 504 are of a proxy before the API. */
const RETRIED_STATUS: ReadonlySet<number> = new Set([502, 503, 504]);
/** A signature of the same millisecond, of another process, is refused before anything is done. */
const RETRIED_CODES: ReadonlySet<string> = new Set(["idempotency_key_in_use", "signature_replayed"]);

/** A part of a path, such as an id. The URL's own rules would make `..` another path. */
export function segment(value: string): string {
  if (typeof value !== "string" || ["", ".", ".."].includes(value)) {
    throw new ConfigurationError(`An id is needed, and this is none: ${JSON.stringify(value)}`);
  }
  return encodeURIComponent(value);
}

export class Transport {
  /** Address of the API with its environment, without the version. */
  readonly #root: string;
  readonly #publicKey: string;
  readonly #secretKey: string;
  readonly #timeout: number;
  readonly #maxRetries: number;
  readonly #signs: boolean;
  readonly #userAgent: string;
  readonly #logger: Logger | undefined;
  readonly #fetch: typeof globalThis.fetch;
  readonly #clock = new Clock();

  constructor(options: ClientOptions) {
    refuseBrowsers();
    this.#publicKey = given("publicKey", options.publicKey, "BALLAST_PUBLIC_KEY");
    this.#secretKey = given("secretKey", options.secretKey, "BALLAST_SECRET_KEY");
    this.#root = rootOf(given("baseUrl", options.baseUrl, "BALLAST_URL"), !this.#publicKey.startsWith("pk_live_"));
    this.#timeout = options.timeout ?? DEFAULT_TIMEOUT;
    this.#maxRetries = options.maxRetries ?? DEFAULT_RETRIES;
    this.#signs = options.signRequests ?? false;
    this.#userAgent = userAgent(options.appInfo);
    this.#logger = options.logger;
    this.#fetch = options.fetch ?? globalThis.fetch;
  }

  call<T>(operation: Operation, options: CallOptions = {}): Call<T> {
    return new Call(this.#send<T>(operation, options));
  }

  /** A list, whose records are named by their field `cursor`. */
  list<T>(operation: Operation, options: CallOptions = {}, cursor = "id"): ListCall<T> {
    const fetchPage = async (query: object): Promise<Reply<Page<T>>> => {
      const reply = await this.#send<ListReply<T>>({ ...operation, query }, options);
      // A list that ends before a record goes on to newer ones, from its first record.
      const backwards = (query as Record<string, unknown>)["ending_before"] !== undefined;
      const after = (last: T): Promise<Page<T>> => {
        const edge = String(((backwards ? reply.data.data[0] : last) as Record<string, unknown>)[cursor]);
        const from = backwards ? { ending_before: edge } : { starting_after: edge };
        return fetchPage({ ...query, ...from }).then((next) => next.data);
      };
      return { ...reply, data: new Page(reply.data, after) };
    };
    return new ListCall((largePages) => fetchPage({ ...(largePages && { limit: LARGEST_PAGE }), ...operation.query }));
  }

  async #send<T>(operation: Operation, options: CallOptions): Promise<Reply<T>> {
    const { method } = operation;
    const path = `/v1${operation.path}`;
    const url = this.#root + path + queryString(operation.query);
    const body = operation.body === undefined ? undefined : JSON.stringify(operation.body);
    const headers: Record<string, string> = {
      Accept: "application/json, text/csv, application/pdf",
      "User-Agent": this.#userAgent,
      "Ballast-Version": API_VERSION,
      ...options.headers,
      Authorization: `Bearer ${this.#publicKey}`,
      "X-Api-Secret": this.#secretKey,
    };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    // One key for all attempts: the API does the work of the first that arrives, and replies to the others with its reply.
    if (method === "POST") headers["Idempotency-Key"] = keyOf(options.idempotencyKey ?? randomUUID());

    const retries = options.maxRetries ?? this.#maxRetries;
    for (let attempt = 1; ; attempt++) {
      if (this.#signs) {
        const timestamp = this.#clock.next();
        headers["X-Service-Timestamp"] = String(timestamp);
        headers["X-Service-Signature"] = requestSignature(this.#secretKey, timestamp, method, path, body ?? "");
      }
      const began = Date.now();
      const log = (entry: Omit<LogEntry, "method" | "path" | "attempt">): void =>
        this.#logger?.({ method, path, attempt, ...entry });
      log({ event: "request" });
      let failure: BallastError;
      try {
        const reply = await this.#attempt<T>(
          operation,
          url,
          { method, headers, body: body ?? null, redirect: "manual" },
          options,
        );
        const about = { status: reply.status, ...named(reply.requestId), ...ending(reply.headers) };
        log({ event: "reply", ...about, milliseconds: Date.now() - began });
        return reply;
      } catch (error) {
        if (!(error instanceof BallastError)) throw error;
        failure = error;
      }
      const wait = attempt > retries ? null : waitBefore(failure, attempt);
      const about =
        failure instanceof ApiStatusError
          ? { status: failure.status, code: failure.code, ...named(failure.requestId) }
          : {};
      log({ event: wait === null ? "failure" : "retry", ...about, milliseconds: Date.now() - began });
      if (wait === null) throw failure;
      await pause(wait, options.signal);
    }
  }

  /** One attempt. Throws a BallastError for what may be tried again, and what the caller's own signal was given. */
  async #attempt<T>(operation: Operation, url: string, request: RequestInit, options: CallOptions): Promise<Reply<T>> {
    const { signal } = options;
    signal?.throwIfAborted();
    const timeout = options.timeout ?? this.#timeout;
    const controller = new AbortController();
    let isLate = false;
    const timer = setTimeout(
      () => {
        isLate = true;
        controller.abort();
      },
      Math.min(timeout, LARGEST_TIMEOUT),
    );
    const stop = (): void => controller.abort();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      const response = await this.#fetch(url, { ...request, signal: controller.signal });
      const bytes = new Uint8Array(await response.arrayBuffer());
      return replyOf<T>(response, bytes, operation.isFile ?? false);
    } catch (error) {
      if (error instanceof BallastError) throw error;
      if (signal?.aborted) throw signal.reason;
      if (isLate) throw new ApiTimeoutError(`No reply within ${timeout} ms.`, { cause: error });
      throw new ApiConnectionError(`No reply: ${reasonOf(error)}.`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }
}

function replyOf<T>(response: Response, bytes: Uint8Array, isFile: boolean): Reply<T> {
  const { status, headers } = response;
  const text = (): string => new TextDecoder().decode(bytes);
  // A redirect is not followed: the secret key would go to wherever it points.
  if (!response.ok) throw errorOf(status, headers, text());
  const isJson = (headers.get("content-type") ?? "").startsWith("application/json");
  if (!isFile && !isJson) throw errorOf(status, headers, "");
  const replayed = headers.get("idempotent-replayed") === "true";
  const around = { status, headers, requestId: headers.get("x-request-id"), replayed };
  try {
    return { ...around, data: (isFile ? bytes : JSON.parse(text())) as T };
  } catch (error) {
    throw new ApiConnectionError("The reply was cut off.", { cause: error });
  }
}

/** Milliseconds to wait before the next attempt; null if there should be none. */
function waitBefore(failure: BallastError, attempt: number): number | null {
  // Twice as long each time, and up to half of it by chance, so that clients that failed together do not return together.
  const backoff = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) * (1 - Math.random() / 2);
  if (failure instanceof ApiConnectionError) return backoff;
  if (!(failure instanceof ApiStatusError)) return null;
  if (!isPassing(failure)) return null;
  const asked = (failure.retryAfter ?? 0) * 1000;
  return asked > LONGEST_ASKED_WAIT ? null : Math.max(asked, backoff);
}

function isPassing({ status, code }: ApiStatusError): boolean {
  // Wrong keys stay wrong.
  return RETRIED_STATUS.has(status) || RETRIED_CODES.has(code) || (status === 429 && code !== "too_many_bad_keys");
}

async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(milliseconds, undefined, signal && { signal });
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  }
}

function keyOf(key: string): string {
  // Said here, because fetch would fail on it as if the connection had, and each retry after it.
  if (!/^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$/.test(key)) {
    throw new ConfigurationError(`idempotencyKey is 1 to 255 visible ASCII characters: ${JSON.stringify(key)}`);
  }
  return key;
}

function rootOf(address: string, isSandbox: boolean): string {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw new ConfigurationError(`baseUrl is no URL: ${address}`);
  }
  // The address of either API is taken as well: which one it is, the key says.
  const base = url.pathname.replace(/\/+$/, "").replace(/(\/sandbox)?\/v1$/, "");
  return url.origin + base + (isSandbox ? "/sandbox" : "");
}

function queryString(query: object | undefined): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}) as [string, unknown][]) {
    if (value === null || value === undefined) continue;
    if (value instanceof Date) pairs.set(name, value.toISOString());
    else if (typeof value === "object")
      for (const [key, each] of Object.entries(value)) pairs.set(`${name}[${key}]`, String(each));
    else pairs.set(name, String(value));
  }
  const text = pairs.toString();
  return text && `?${text}`;
}

function given(name: string, value: string | undefined, variable: string): string {
  const found = value ?? process.env[variable];
  if (!found) throw new ConfigurationError(`${name} is missing: give it to the client, or set ${variable}.`);
  return found;
}

function userAgent(app: AppInfo | undefined): string {
  const about =
    app && [app.name, app.version && `/${app.version}`, app.url && ` (${app.url})`].filter(Boolean).join("");
  const words = [`ballast-typescript/${VERSION}`, `node/${process.versions.node}`, ...(about ? [about] : [])];
  return words.join(" ").replace(/[^\x20-\x7e]/g, "?");
}

function refuseBrowsers(): void {
  if ("document" in globalThis) {
    throw new ConfigurationError("This client is for servers: in a page, everybody could read the secret key.");
  }
}

/** What fetch says about a failed connection is in its cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
}

function named(requestId: string | null): { requestId?: string } {
  return requestId === null ? {} : { requestId };
}

function ending(headers: Headers): { deprecation?: string } {
  const since = headers.get("deprecation");
  return since === null ? {} : { deprecation: since };
}
