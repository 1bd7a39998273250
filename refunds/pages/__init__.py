"""The merchant's pages about refunds, and those on which a payer names where one should go."""
