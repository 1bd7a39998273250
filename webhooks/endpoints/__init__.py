"""Where webhooks go: which addresses are allowed, secrets, signatures, and a receiver to try them with."""
