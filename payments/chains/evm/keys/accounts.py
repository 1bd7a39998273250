"""The library that signs, imported only by what sends, and without the one thing it does to the rest of the process.

A part of it raises Python's recursion limit a hundredfold, beyond what the stack holds: a reply that is nested deep
enough would then end the process instead of being refused.
"""
# ruff: noqa: E402

from __future__ import annotations

import sys

_limit = sys.getrecursionlimit()

from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction

sys.setrecursionlimit(_limit)

__all__ = ["Account", "TypedTransaction"]
