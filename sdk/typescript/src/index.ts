export { Ballast } from "./client.js";
export { Call, ListCall, Page, type Reply } from "./calls.js";
export {
  ApiConnectionError,
  ApiStatusError,
  ApiTimeoutError,
  AuthenticationError,
  BallastError,
  ConfigurationError,
  IdempotencyError,
  InvalidRequestError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  ServerError,
  WebhookVerificationError,
  type ParameterFault,
  type Refusal,
  type WebhookFault,
} from "./errors.js";
export type { AppInfo, CallOptions, ClientOptions, LogEntry, Logger } from "./options.js";
export type { Operation } from "./transport.js";
export { VERSION } from "./version.js";
export { Webhook, type WebhookHeaders, type WebhookOptions } from "./webhooks.js";

export type * as models from "./generated/models.js";
export type * from "./generated/models.js";
export type * from "./generated/events.js";
export type * from "./generated/resources.js";
