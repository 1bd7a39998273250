"""Why an on-chain transaction counts for a payment or does not. Nothing here changes a payment."""
