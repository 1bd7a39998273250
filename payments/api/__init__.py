"""/v1/payments: requests and replies."""
