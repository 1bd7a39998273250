"""Explanations of on-chain transactions that somebody claims as a payment. Nothing here changes anything."""
