"""What operators must know of the networks: alarms, gas balances, what waits to be swept."""
