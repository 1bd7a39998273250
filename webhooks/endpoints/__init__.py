"""Endpoints: allowed addresses, secrets, signatures, and a receiver to try webhooks with."""
