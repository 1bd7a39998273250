"""Money out: from the intent to pay somebody to a final on-chain transaction. Knows no refund and no settlement."""
