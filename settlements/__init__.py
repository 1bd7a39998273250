"""Money out to a merchant. Files are named as in every app; nothing here may import refunds."""
