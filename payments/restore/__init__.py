"""After a restore: what the chains show and the restored database does not have is found, adopted and booked."""
