// Reads a payment by its id. Deliver goods when its status is `completed`.

const reply = await fetch(`https://pay.example.com/sandbox/v1/payments/${process.argv[2]}`, {
  headers: {
    Authorization: "Bearer pk_test_your_public_key",
    "X-Api-Secret": process.env.BALLAST_SECRET_KEY,
  },
});
const payment = await reply.json();
if (!reply.ok) throw new Error(payment.error.message);
console.log(payment.status, payment.amountReceived, payment.cryptocurrency);
