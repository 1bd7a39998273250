"""What an operator reads of one record: its money, what happened, its transfers and its postings."""
