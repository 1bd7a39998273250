"""The wallets that a merchant is paid at: one a network, proven by a signature, changed after a wait."""
