"""Coins that the ledger has and the network has not: found by reconcile, not settled, decided about by two people."""
