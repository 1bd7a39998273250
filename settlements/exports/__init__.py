"""Statements as files: CSV, JSON, and what bookkeeping programs import."""
