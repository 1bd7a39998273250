"""Events: the catalogue, their recording, and samples of each."""
