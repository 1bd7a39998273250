"""Turnover of payments by the hour and day, kept as counters so that no page reads the payments."""
