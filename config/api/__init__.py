"""Common parts of every endpoint: strict JSON in, exact JSON out, one form of error, cursor pages, the schema."""
