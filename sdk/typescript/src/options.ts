/** What a client and each call may be told. */

/** Names the program that uses this package, for the log of requests. */
export interface AppInfo {
  readonly name: string;
  readonly version?: string;
  readonly url?: string;
}

/** What the client does, for a log. It holds no key, no header, no query and no body. */
export interface LogEntry {
  readonly event: "request" | "reply" | "retry" | "failure";
  readonly method: string;
  readonly path: string;
  /** Counts from 1. */
  readonly attempt: number;
  readonly status?: number;
  readonly code?: string;
  readonly requestId?: string;
  readonly milliseconds?: number;
  /** Since when the operation is deprecated (`@` and seconds since 1970): it will end, and a warning is in place. */
  readonly deprecation?: string;
}

export type Logger = (entry: LogEntry) => void;

export interface ClientOptions {
  /** Address of the installation, such as `https://pay.example.com`. Unless given: `BALLAST_URL` of the environment. */
  readonly baseUrl?: string | undefined;
  /** Unless given: `BALLAST_PUBLIC_KEY` of the environment. `pk_test_…` acts in the sandbox. */
  readonly publicKey?: string | undefined;
  /** Unless given: `BALLAST_SECRET_KEY` of the environment. */
  readonly secretKey?: string | undefined;
  /** Milliseconds that one attempt may take: 30,000 unless given. */
  readonly timeout?: number | undefined;
  /** How often a request is sent again: 3 unless given. */
  readonly maxRetries?: number | undefined;
  /** Sign every request (`X-Service-Signature`), as a key can require. */
  readonly signRequests?: boolean | undefined;
  readonly appInfo?: AppInfo | undefined;
  readonly logger?: Logger | undefined;
  /** Used in place of the global fetch. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface CallOptions {
  /** Names the operation, so that it is done once. Unless given, each call of a POST gets one of its own. */
  readonly idempotencyKey?: string | undefined;
  /** Milliseconds that one attempt may take. */
  readonly timeout?: number | undefined;
  readonly maxRetries?: number | undefined;
  /** Ends the call, with its retries. The request may have been carried out all the same. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
