// Makes a payment of 25 EUR; prints its id and the page for the payer.

const reply = await fetch("https://pay.example.com/sandbox/v1/payments", {
  method: "POST",
  headers: {
    Authorization: "Bearer pk_test_your_public_key",
    "X-Api-Secret": process.env.BALLAST_SECRET_KEY,
    "Content-Type": "application/json",
    "Idempotency-Key": crypto.randomUUID(), // the same for every try of one order
  },
  body: JSON.stringify({
    amount: 25,
    currency: "EUR",
    cryptocurrency: "USDC",
    network: "polygon",
    merchantWallet: "0x5a5A5a5a5A5a5a5a5a5A5a5A5A5a5a5A5A5A5A5A",
    metadata: { order: "1007" },
  }),
});
const payment = await reply.json();
if (!reply.ok) throw new Error(payment.error.message);
console.log(payment.id);
console.log(payment.url); // send the payer there
