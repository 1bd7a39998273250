<?php

declare(strict_types=1);

namespace Ballast\WooCommerce\Tests;

use Ballast\Http\Request;
use Ballast\Http\Response;
use Ballast\Http\Sender;

/** The few requests that the gateway sends, answered from memory. What a test sets is what the API says from then on. */
final class FakeApi implements Sender
{
    public const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwX6Zk3dQhN1o=';

    /** @var array<string, array<string, mixed>> */
    public array $records = [];
    /** @var array<string, string> id of the record by idempotency key */
    private array $keys = [];
    private int $made = 0;
    /** @var list<string> */
    public array $log = [];
    public bool $isAway = false;
    public ?string $refusal = null;
    /** @var array<string, string> challenge by code */
    public array $codes = [];
    /** Whether what is asked for is done, and the reply lost. */
    public bool $losesReplies = false;
    /** @var array<string, array<string, mixed>> what becomes of payments just before they are cancelled */
    public array $beforeCancel = [];

    public function send(Request $request): Response
    {
        if ($this->isAway) {
            $error = ['type' => 'api_error', 'code' => 'internal_error', 'message' => 'No.'];
            return self::json(500, ['error' => $error]);
        }
        if (str_ends_with($request->url, '/connect/exchange')) {
            return $this->exchange($request);
        }
        $path = substr((string) parse_url($request->url, PHP_URL_PATH), strlen('/sandbox/v1/'));
        $this->log[] = "{$request->method} $path";
        $body = json_decode($request->body ?? '{}', true);
        if ($this->refusal !== null) {
            $error = ['type' => 'invalid_request_error', 'code' => 'refused', 'message' => $this->refusal];
            return self::json(400, ['error' => $error]);
        }
        $parts = explode('/', $path);
        if ($request->method === 'POST' && count($parts) === 1) {
            $key = $request->headers['Idempotency-Key'];
            $id = $this->keys[$key] ??= $this->add($parts[0], $body);
            if ($this->losesReplies) {
                return new Response(500, [], '<html>');
            }
            return self::json(201, $this->records[$id]);
        }
        if (count($parts) === 1) {
            return self::json(200, ['data' => [], 'hasMore' => false, 'totalCount' => 0]);
        }
        if (!isset($this->records[$parts[1]])) {
            $error = ['type' => 'not_found_error', 'code' => 'not_found', 'message' => 'No such record.'];
            return self::json(404, ['error' => $error]);
        }
        if (($parts[2] ?? '') === 'cancel') {
            $this->records[$parts[1]] = ($this->beforeCancel[$parts[1]] ?? []) + $this->records[$parts[1]];
            if ($this->records[$parts[1]]['status'] !== 'created') {
                $error = ['type' => 'invalid_request_error', 'code' => 'not_cancellable', 'message' => 'No.'];
                return self::json(400, ['error' => $error]);
            }
            $this->records[$parts[1]]['status'] = 'cancelled';
        }
        return self::json(200, $this->records[$parts[1]]);
    }

    /** Gives keys for the code that was issued for a challenge, once. */
    private function exchange(Request $request): Response
    {
        $this->log[] = "{$request->method} {$request->url}";
        ['code' => $code, 'codeVerifier' => $verifier] = json_decode((string) $request->body, true);
        $challenge = rtrim(strtr(base64_encode(hash('sha256', $verifier, true)), '+/', '-_'), '=');
        if (($this->codes[$code] ?? null) !== $challenge) {
            $error = ['type' => 'invalid_request_error', 'code' => 'connection_code_unknown', 'message' => 'No code.'];
            return self::json(400, ['error' => $error]);
        }
        unset($this->codes[$code]);
        $id = $this->add('webhooks', []);
        return self::json(200, [
            'environment' => 'sandbox', 'publicKey' => 'pk_test_2', 'secretKey' => 'sk_test_2',
            'webhook' => ['id' => $id, 'secret' => self::SECRET],
        ]);
    }

    /** @return list<array<string, mixed>> */
    public function all(string $object): array
    {
        return array_values(array_filter($this->records, static fn(array $one): bool => $one['object'] === $object));
    }

    /** @param array<string, mixed> $body */
    private function add(string $kind, array $body): string
    {
        $id = ['payments' => 'pay', 'refunds' => 'ref', 'webhooks' => 'whk'][$kind] . '_' . ++$this->made;
        $this->records[$id] = $body + match ($kind) {
            'payments' => [
                'status' => 'created', 'url' => "https://pay.example.com/pay/$id", 'statusReasons' => [],
                'cryptocurrency' => 'USDC', 'cryptoAmount' => '20.000000', 'amountReceived' => '0.000000',
                'expiresAt' => gmdate('Y-m-d\TH:i:s\Z', time() + 1800),
            ],
            'refunds' => ['status' => 'pending', 'cryptocurrency' => 'USDC', 'cryptoAmount' => '5.000000'],
            'webhooks' => ['secret' => self::SECRET, 'status' => 'enabled'],
        } + ['id' => $id, 'object' => substr($kind, 0, -1)];
        return $id;
    }

    /** @param array<string, mixed> $value */
    private static function json(int $status, array $value): Response
    {
        return new Response($status, [], (string) json_encode($value));
    }
}
