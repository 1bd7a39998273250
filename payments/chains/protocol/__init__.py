"""What every network's adapter can do, one module for each capability, and the values that it takes and returns."""
