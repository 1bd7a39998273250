"""Clients from docs/openapi.json: a model of the API in memory, and templates for each language."""
