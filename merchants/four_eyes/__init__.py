"""Four eyes: what one operator proposes another must agree to."""
