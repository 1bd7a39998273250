"""A person's own pages, and those of a merchant's people."""
