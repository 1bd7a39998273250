"""The hosted payment page, for people who have never heard of us: what of a payment they may see, and nothing else."""
