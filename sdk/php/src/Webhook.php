<?php

declare(strict_types=1);

namespace Ballast;

use Ballast\Error\WebhookVerificationError;
use Ballast\Event\Event;

/** Verifies webhooks by Standard Webhooks, and makes typed events of them. */
final class Webhook
{
    private readonly string $key;

    /**
     * @param string $secret `whsec_…` of the webhook; that of the account for a payment's own `webhookUrl`
     * @param int $tolerance seconds that a timestamp may be off
     */
    public function __construct(#[\SensitiveParameter] string $secret, private readonly int $tolerance = 300)
    {
        $encoded = str_starts_with($secret, 'whsec_') ? substr($secret, 6) : $secret;
        $key = base64_decode($encoded, true);
        if ($key === false || $key === '') {
            throw new \InvalidArgumentException('A webhook secret is whsec_ and base64.');
        }
        $this->key = $key;
    }

    /** @return array<string, mixed> without the key */
    public function __debugInfo(): array
    {
        return ['tolerance' => $this->tolerance];
    }

    /**
     * The event of a request: `verify(file_get_contents('php://input'), $_SERVER)`.
     *
     * @param string $body the raw bytes
     * @param array<string, mixed> $headers by any of the spellings of `getallheaders()`, `$_SERVER` and PSR-7
     * @throws WebhookVerificationError when it was not sent by Ballast, was altered, or is old
     */
    public function verify(string $body, array $headers, ?int $now = null): Event
    {
        [$id, $timestamp, $signatures] = self::find($headers);
        if (preg_match('/^\d{1,12}$/D', $timestamp) !== 1) {
            throw new WebhookVerificationError('webhook-timestamp is not a number of seconds.');
        }
        if (abs(($now ?? time()) - (int) $timestamp) > $this->tolerance) {
            throw new WebhookVerificationError('webhook-timestamp is too far from now: compare the clocks.');
        }
        $expected = $this->sign($id, (int) $timestamp, $body);
        $matches = false;
        foreach (explode(' ', $signatures) as $signature) {
            $matches = hash_equals($expected, $signature) || $matches;
        }
        if (!$matches) {
            throw new WebhookVerificationError(
                'No signature matches: is it the secret of this webhook, and the body as it came?'
            );
        }
        $event = json_decode($body, true, 512, JSON_BIGINT_AS_STRING);
        if (!is_array($event)) {
            throw new WebhookVerificationError('The body is not JSON.');
        }
        return Event::of($event);
    }

    /** The signature of a body, to test a receiver. */
    public function sign(string $id, int $timestamp, string $body): string
    {
        return 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $this->key, true));
    }

    /**
     * @param array<string, mixed> $headers
     * @return list<string>
     */
    private static function find(array $headers): array
    {
        $found = [];
        foreach ($headers as $name => $value) {
            $name = strtr(strtolower((string) $name), '_', '-');
            $name = str_starts_with($name, 'http-') ? substr($name, 5) : $name;
            $value = is_array($value) ? reset($value) : $value;
            if (is_string($value) || is_int($value)) {
                $found[$name] = (string) $value;
            }
        }
        $values = [];
        foreach (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as $name) {
            $values[] = $found[$name] ?? throw new WebhookVerificationError("The header $name is missing.");
        }
        return $values;
    }
}
