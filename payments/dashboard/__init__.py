"""The merchant's pages about payments."""
