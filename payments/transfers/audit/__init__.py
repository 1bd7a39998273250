"""What networks show of the hot wallets beside what the ledger has."""
