"""The statement of a month: everything that changed a merchant's money, settled or not, from the ledger."""
