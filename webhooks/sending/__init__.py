"""From an event to its arrival at every endpoint that listens: the dispatcher between the database and the network."""
