"""Payment links: a merchant's standing request for money, from which payers make payments."""
