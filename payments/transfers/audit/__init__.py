"""Outgoing transfers of the hot wallets on the networks, compared with the ledger."""
