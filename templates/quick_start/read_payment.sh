# Reads a payment. Deliver goods when its `status` is `completed`.
curl -sS "https://pay.example.com/sandbox/v1/payments/${1:?Give the id of a payment, pay_…}" \
  -H "Authorization: Bearer pk_test_your_public_key" \
  -H "X-Api-Secret: $BALLAST_SECRET_KEY"
