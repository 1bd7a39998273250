<?php
// Reads a payment by its id. Deliver goods when its status is `completed`.

$url = 'https://pay.example.com/sandbox/v1/payments/' . $argv[1];
$reply = file_get_contents($url, false, stream_context_create(['http' => [
    'header' => [
        'Authorization: Bearer pk_test_your_public_key',
        'X-Api-Secret: ' . getenv('BALLAST_SECRET_KEY'),
    ],
    'ignore_errors' => true,
]]));
$payment = json_decode($reply, true);
if (isset($payment['error'])) {
    exit($payment['error']['message'] . "\n");
}
echo $payment['status'], ' ', $payment['amountReceived'], ' ', $payment['cryptocurrency'], "\n";
