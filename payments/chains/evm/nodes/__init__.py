"""Queries to the nodes of an EVM network over JSON-RPC, and the comparison of their answers."""
