"""What webhooks say: the catalogue of events, how they are recorded, and samples of each."""
