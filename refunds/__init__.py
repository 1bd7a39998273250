"""Money back to a payer. Files are named as in every app; nothing here may import settlements."""
