"""What operators must know of the networks, and what they ask for."""
