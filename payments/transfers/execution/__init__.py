"""One round of a wallet: which nonces are free, what is signed and sent, and what became of it."""
