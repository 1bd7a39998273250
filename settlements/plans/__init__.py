"""From what is known of a merchant's money to the plan of a run: facts, prices, schedule, and postings."""
