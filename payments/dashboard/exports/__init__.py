"""Lists of payments as files: written in the background, kept for a day."""
