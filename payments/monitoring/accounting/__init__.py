"""What an accountant asks of the ledger: balances at any instant, the journal of a period as a file. Reads only."""
