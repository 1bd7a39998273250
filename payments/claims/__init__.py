"""What became of an on-chain transaction that somebody says was a payment. Nothing here changes anything."""
