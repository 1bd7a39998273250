"""Deposit addresses of EVM networks: the factory, where they are, and how they are swept."""
