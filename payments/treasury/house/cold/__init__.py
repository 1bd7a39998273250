"""The cold wallets: what moves to them and back, and how much hot wallets should hold."""
