"""Who signs for the hot wallet of an EVM network."""
