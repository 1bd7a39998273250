"""The merchant's pages about webhooks."""
