"""Money back to a payer. Role files as in every app; nothing here may import settlements."""
