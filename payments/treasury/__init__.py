"""Hot wallets and deposit addresses: sweeps into the wallets, and both compared with the ledger."""
