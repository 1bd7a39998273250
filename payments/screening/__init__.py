"""Sanctions lists that operators import, and the addresses they name. Without a list nothing is compared."""
