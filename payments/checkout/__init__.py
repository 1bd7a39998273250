"""The hosted payment page: what a payer may see of a payment, and nothing else."""
