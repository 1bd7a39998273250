"""From a request to the refund that it would make, and what is left to be given back. Stores nothing."""
