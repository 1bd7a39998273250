"""Invoices over fees: one for each merchant and month, in one series of numbers."""
