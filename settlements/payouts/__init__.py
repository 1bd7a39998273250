"""From a pending settlement to its payout, and what became of it."""
