"""Commands that reach over several rooms of payments."""
