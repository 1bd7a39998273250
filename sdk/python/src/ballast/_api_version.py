"""Generated from docs/api/versions.md by sdk/generator."""

API_VERSION = "2026-11-29"
