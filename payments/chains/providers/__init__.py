"""The servers that answer for a network, and what several of them agree on."""
