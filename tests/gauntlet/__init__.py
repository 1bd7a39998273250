"""Real processes under fire: `python -m tests.gauntlet <scenario>`."""
