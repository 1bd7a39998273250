<?php
// Makes a payment of 25 EUR; prints its id and the page for the payer.

$order = [
    'amount' => 25,
    'currency' => 'EUR',
    'cryptocurrency' => 'USDC',
    'network' => 'polygon',
    'merchantWallet' => '0x5a5A5a5a5A5a5a5a5a5A5a5A5A5a5a5A5A5A5A5A',
    'metadata' => ['order' => '1007'],
];
$reply = file_get_contents('https://pay.example.com/sandbox/v1/payments', false, stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer pk_test_your_public_key',
        'X-Api-Secret: ' . getenv('BALLAST_SECRET_KEY'),
        'Content-Type: application/json',
        'Idempotency-Key: ' . bin2hex(random_bytes(16)), // the same for every try of one order
    ],
    'content' => json_encode($order),
    'ignore_errors' => true,
]]));
$payment = json_decode($reply, true);
if (isset($payment['error'])) {
    exit($payment['error']['message'] . "\n");
}
echo $payment['id'], "\n", $payment['url'], "\n"; // send the payer to the url
