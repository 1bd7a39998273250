"""Clients and what developers use, beside the product."""
