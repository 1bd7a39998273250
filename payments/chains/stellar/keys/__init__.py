"""Who signs for the hot wallet of stellar, and the envelopes that are signed."""
