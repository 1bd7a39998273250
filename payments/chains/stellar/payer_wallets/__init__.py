"""What a payer's wallet is given: payment links, and payments that it is asked to sign."""
