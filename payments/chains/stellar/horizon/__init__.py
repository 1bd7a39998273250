"""What Horizons say of the stellar network, read and compared."""
