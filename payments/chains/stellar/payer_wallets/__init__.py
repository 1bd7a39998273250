"""Content for a payer's wallet: payment links, and payments to sign."""
