"""What every endpoint shares: strict JSON in, exact JSON out, one shape of error, cursor pages, the schema."""
