/** Errors: one class for each `type` of the API's replies, and those that happen on the way to it. */

/** One parameter at fault, where a request has several. */
export interface ParameterFault {
  readonly param: string;
  readonly code: string;
  readonly message: string;
}

/** What the API replied when it refused a request. */
export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly requestId: string | null;
  readonly errors: readonly ParameterFault[];
  readonly headers: Headers;
}

/** Base of every error of this package. */
export class BallastError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** The client was given something that cannot work, such as no keys. */
export class ConfigurationError extends BallastError {}

/** No reply came: the connection failed, and every retry of it. The request may have been carried out all the same. */
export class ApiConnectionError extends BallastError {}

/** No reply came in time. The request may have been carried out all the same. */
export class ApiTimeoutError extends ApiConnectionError {}

/** The API refused a request. `code` is for programs, `message` for people. */
export class ApiStatusError extends BallastError implements Refusal {
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly param: string | null;
  readonly requestId: string | null;
  readonly errors: readonly ParameterFault[];
  readonly headers: Headers;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.status = refusal.status;
    this.type = refusal.type;
    this.code = refusal.code;
    this.param = refusal.param;
    this.requestId = refusal.requestId;
    this.errors = refusal.errors;
    this.headers = refusal.headers;
    // Not listed when the error is printed: they say little, and a proxy may put anything there.
    Object.defineProperty(this, "headers", { enumerable: false });
  }

  /** Seconds after which to try again, where the API said so. */
  get retryAfter(): number | null {
    return secondsToWait(this.headers);
  }
}

/** `invalid_request_error`: a parameter is wrong, or the record's state does not allow it. */
export class InvalidRequestError extends ApiStatusError {}
/** `authentication_error`: the keys or the signature are missing, wrong or expired. */
export class AuthenticationError extends ApiStatusError {}
/** `permission_error`: the key may not do this. */
export class PermissionDeniedError extends ApiStatusError {}
/** `not_found_error`: there is no such record, or it is not yours. */
export class NotFoundError extends ApiStatusError {}
/** `idempotency_error`: the key was used for another request, or its first request still runs. */
export class IdempotencyError extends ApiStatusError {}
/** `rate_limit_error`: too many requests; see `retryAfter`. */
export class RateLimitError extends ApiStatusError {}
/** `api_error`: the fault is with Ballast, or what stands before it. */
export class ServerError extends ApiStatusError {}

const CLASSES: Readonly<Record<string, typeof ApiStatusError>> = {
  invalid_request_error: InvalidRequestError,
  authentication_error: AuthenticationError,
  permission_error: PermissionDeniedError,
  not_found_error: NotFoundError,
  idempotency_error: IdempotencyError,
  rate_limit_error: RateLimitError,
  api_error: ServerError,
};

/** Why a webhook was not believed. */
export type WebhookFault =
  | "headers_missing"
  | "timestamp_invalid"
  | "timestamp_out_of_range"
  | "signature_invalid"
  | "body_invalid";

/** A webhook was not sent by Ballast, is too old, or its body was changed on the way. Reply 400. */
export class WebhookVerificationError extends BallastError {
  readonly reason: WebhookFault;

  constructor(reason: WebhookFault, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The error for a reply that is no success. A reply that is not the API's own, of a proxy for example, is an api_error. */
export function errorOf(status: number, headers: Headers, body: string): ApiStatusError {
  const found = errorField(body);
  const type = text(found["type"]) ?? (status === 429 ? "rate_limit_error" : "api_error");
  const refusal: Refusal = {
    status,
    type,
    code: text(found["code"]) ?? `http_${status}`,
    message: text(found["message"]) ?? `The reply was ${status}, and not one of the API: is the URL right?`,
    param: text(found["param"]),
    requestId: text(found["requestId"]) ?? headers.get("x-request-id"),
    errors: Array.isArray(found["errors"]) ? (found["errors"] as ParameterFault[]) : [],
    headers,
  };
  return new (CLASSES[type] ?? ApiStatusError)(refusal);
}

/** Seconds that `Retry-After` asks for, as a number or as a date; null without one. */
export function secondsToWait(headers: Headers): number | null {
  const value = headers.get("retry-after");
  if (value === null) return null;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

function errorField(body: string): Record<string, unknown> {
  try {
    const parsed = JSON.parse(body) as { error?: unknown } | null;
    return typeof parsed?.error === "object" && parsed.error !== null ? (parsed.error as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
