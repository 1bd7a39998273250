"""A signer of its own: the process that has the keys of hot wallets, and asks its own policy before it signs."""
