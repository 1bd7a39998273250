"""Reports of the ledger for accountants: balances at any instant, the journal of a period as a file. Reads only."""
