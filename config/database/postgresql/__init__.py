"""PostgreSQL without a pooler in between."""
