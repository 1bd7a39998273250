"""A separate signer: the process that has the keys of hot wallets, and applies its own policy before it signs."""
