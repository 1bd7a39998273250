<?php
// Receives webhooks and verifies them: php -S 127.0.0.1:9000 receive_webhook.php

// Whether the request was signed with the secret in the last five minutes.
function is_genuine(string $body): bool
{
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $key = base64_decode(str_replace('whsec_', '', getenv('WEBHOOK_SECRET')));
    $signed = ($_SERVER['HTTP_WEBHOOK_ID'] ?? '') . '.' . $timestamp . '.' . $body;
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

$body = file_get_contents('php://input'); // the raw bytes
if (!is_genuine($body)) {
    http_response_code(400);
    exit;
}
http_response_code(204);
$event = json_decode($body, true); // take each $event['id'] once
error_log($event['type'] . ' ' . $event['data']['object']['id']);
