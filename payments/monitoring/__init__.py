"""Monitoring of the networks for operators: alarms, gas balances, coins that wait to be swept."""
