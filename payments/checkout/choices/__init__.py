"""Where payers choose the coin and the network that they pay with."""
