# Makes a payment of 25 EUR. Its `url` in the reply is the page for the payer.
curl -sS https://pay.example.com/sandbox/v1/payments \
  -H "Authorization: Bearer pk_test_your_public_key" \
  -H "X-Api-Secret: $BALLAST_SECRET_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: order-1007-$(date +%s)" \
  -d '{
    "amount": 25,
    "currency": "EUR",
    "cryptocurrency": "USDC",
    "network": "polygon",
    "merchantWallet": "0x5a5A5a5a5A5a5a5a5a5A5a5A5A5a5a5A5A5A5A5A",
    "metadata": {"order": "1007"}
  }'
