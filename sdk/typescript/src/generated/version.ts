/** Generated from docs/openapi.json by sdk/generator: change that, not this. */

/** The version of the API whose records this package has. */
export const API_VERSION = "2026-11-29";
