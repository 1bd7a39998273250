"""What all pages of the operators' admin share."""
