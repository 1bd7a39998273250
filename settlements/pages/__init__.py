"""The merchant's pages about settlements."""
