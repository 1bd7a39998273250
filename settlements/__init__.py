"""Money out to a merchant. Role files as in every app; nothing here may import refunds."""
