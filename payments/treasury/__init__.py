"""What the hot wallets and deposit addresses hold: sweeps into the wallets, and both compared with the ledger."""
