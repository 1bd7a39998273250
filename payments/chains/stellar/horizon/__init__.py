"""Answers of Horizons about the stellar network, read and compared."""
