"""Deposits of payments: seen on a network, assessed, credited, and undone when the network takes them back."""
