<?php

declare(strict_types=1);

namespace Ballast;

use Ballast\Error\ApiStatusError;
use Ballast\Error\BallastError;
use Ballast\Error\ApiConnectionError;
use Ballast\Http\CurlSender;
use Ballast\Http\Request;
use Ballast\Http\Response;
use Ballast\Http\Sender;

/** Sends the requests of all resources: address, keys, signature, idempotency keys, retries, log. */
final class Transport
{
    private const FIRST_WAIT = 0.5;
    private const LONGEST_WAIT = 8.0;
    /** 502 and 504 are of a proxy before the API. */
    private const RETRIED_STATUSES = [502, 503, 504];
    /** A signature of the same millisecond, of another process, is refused before anything is done. */
    private const RETRIED_CODES = ['idempotency_key_in_use', 'signature_replayed'];

    private readonly string $base;
    private readonly string $userAgent;
    private int $lastTimestamp = 0;

    /**
     * @param (callable(string, string, array<string, mixed>): void)|null $logger
     * @param (callable(float): void)|null $sleep
     */
    public function __construct(
        string $baseUrl,
        private readonly string $publicKey,
        #[\SensitiveParameter]
        private readonly string $secretKey,
        private readonly float $timeout = 30.0,
        private readonly float $connectTimeout = 5.0,
        private readonly int $maxRetries = 3,
        private readonly float $longestRetryAfter = 60.0,
        private readonly bool $signRequests = false,
        ?AppInfo $appInfo = null,
        private readonly mixed $logger = null,
        private readonly Sender $sender = new CurlSender(),
        private readonly mixed $sleep = null,
    ) {
        if (preg_match('#^https?://[^\s/?\#@]+(/[^\s?\#]*)?$#D', $baseUrl) !== 1) {
            throw new \InvalidArgumentException('baseUrl is the address of the installation: https://pay.example.com');
        }
        foreach (['publicKey' => $publicKey, 'secretKey' => $secretKey] as $name => $key) {
            if (preg_match('/^[!-~]+$/D', $key) !== 1) {
                throw new \InvalidArgumentException("$name is missing, or has blanks in it.");
            }
        }
        $this->base = rtrim($baseUrl, '/') . (str_starts_with($publicKey, 'pk_live_') ? '' : '/sandbox');
        $this->userAgent = 'ballast-php/' . Ballast::VERSION . ' PHP/' . PHP_VERSION . ($appInfo ? " $appInfo" : '');
    }

    /** @return array<string, mixed> without the secret key */
    public function __debugInfo(): array
    {
        return ['base' => $this->base, 'publicKey' => $this->publicKey, 'userAgent' => $this->userAgent];
    }

    /**
     * Sends a request until there is a reply that is final, and returns it when it says yes.
     *
     * @param string $path from `/v1` on
     * @param array<string, mixed> $query
     * @param array<string, mixed>|null $body
     * @throws ApiStatusError when the reply says no
     * @throws ApiConnectionError when no reply came
     */
    public function send(
        string $method,
        string $path,
        array $query = [],
        ?array $body = null,
        ?RequestOptions $options = null,
    ): Response {
        $options ??= new RequestOptions();
        $query = http_build_query($query, '', '&', PHP_QUERY_RFC3986);
        $url = $this->base . $path . ($query === '' ? '' : "?$query");
        $text = $body === null ? null : self::encode($body);
        $headers = $this->headers($method, $text, $options);
        $retries = $options->maxRetries ?? $this->maxRetries;
        for ($attempt = 1;; $attempt++) {
            $begun = microtime(true);
            $failure = null;
            $response = null;
            try {
                $signed = $headers + $this->signature($method, $path, $text ?? '');
                $timeout = $options->timeout ?? $this->timeout;
                $request = new Request($method, $url, $signed, $text, $timeout, min($this->connectTimeout, $timeout));
                $response = $this->sender->send($request)->afterAttempts($attempt);
            } catch (ApiConnectionError $failure) {
            }
            $this->log($method, $path, $attempt, $begun, $response, $failure);
            if ($response !== null && $response->status >= 200 && $response->status < 300) {
                return $response;
            }
            $wait = $attempt > $retries ? null : $this->wait($attempt, $response);
            if ($wait === null) {
                throw $response === null ? $failure : ApiStatusError::of($response);
            }
            $this->sleep === null ? usleep((int) ($wait * 1_000_000)) : ($this->sleep)($wait);
        }
    }

    /** @return array<string, string> */
    private function headers(string $method, ?string $body, RequestOptions $options): array
    {
        $headers = [
            'Authorization' => "Bearer {$this->publicKey}",
            'X-Api-Secret' => $this->secretKey,
            'Accept' => 'application/json',
            'Ballast-Version' => ApiVersion::VERSION,
            'User-Agent' => $this->userAgent,
        ];
        if ($body !== null) {
            $headers['Content-Type'] = 'application/json';
        }
        if ($method === 'POST') {
            $headers['Idempotency-Key'] = $options->idempotencyKey ?? 'php-' . bin2hex(random_bytes(16));
        }
        return array_merge($headers, $options->headers);
    }

    /**
     * The two headers of a signed request. A signature is accepted once, so each attempt has a later timestamp.
     *
     * @return array<string, string>
     */
    private function signature(string $method, string $path, string $body): array
    {
        if (!$this->signRequests) {
            return [];
        }
        $this->lastTimestamp = max((int) (microtime(true) * 1000), $this->lastTimestamp + 1);
        $text = "{$this->lastTimestamp}.$method.$path.$body";
        return [
            'X-Service-Timestamp' => (string) $this->lastTimestamp,
            'X-Service-Signature' => hash_hmac('sha256', $text, $this->secretKey),
        ];
    }

    /** Seconds until the next attempt; null where the reply is final. */
    private function wait(int $attempt, ?Response $response): ?float
    {
        if ($response !== null && !self::isPassing(ApiStatusError::of($response))) {
            return null;
        }
        $after = $response?->header('Retry-After');
        $longest = min(self::LONGEST_WAIT, self::FIRST_WAIT * 2 ** ($attempt - 1));
        $backoff = $longest * (0.5 + random_int(0, 1000) / 2000);
        if ($after === null || preg_match('/^\d+(\.\d+)?$/D', $after) !== 1) {
            return $backoff;
        }
        return (float) $after > $this->longestRetryAfter ? null : (float) $after;
    }

    private static function isPassing(ApiStatusError $error): bool
    {
        return in_array($error->status, self::RETRIED_STATUSES, true)
            || in_array($error->code, self::RETRIED_CODES, true)
            || ($error->status === 429 && $error->code !== 'too_many_bad_keys');
    }

    private function log(
        string $method,
        string $path,
        int $attempt,
        float $begun,
        ?Response $response,
        ?ApiConnectionError $failure,
    ): void {
        if ($this->logger === null) {
            return;
        }
        $level = $response === null || $response->status >= 400 ? 'warning' : 'debug';
        $context = [
            'method' => $method,
            'path' => $path,
            'status' => $response?->status,
            'attempt' => $attempt,
            'milliseconds' => (int) round((microtime(true) - $begun) * 1000),
            'requestId' => $response?->requestId(),
        ];
        ($this->logger)($level, "Ballast $method $path: " . ($response->status ?? $failure?->getMessage()), $context);
        if ($response?->header('Deprecation') !== null) {
            ($this->logger)('warning', "Ballast $method $path is deprecated: {$response->header('Link')}", $context);
        }
    }

    /** @param array<string, mixed> $body */
    private static function encode(array $body): string
    {
        // The shortest digits that name a number: a host may have set 17, which makes 25.1 25.100000000000001.
        $precision = ini_set('serialize_precision', '-1');
        try {
            $flags = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR;
            return json_encode((object) $body, $flags);
        } catch (\JsonException $fault) {
            throw new \InvalidArgumentException("A parameter is not JSON: {$fault->getMessage()}", 0, $fault);
        } finally {
            ini_set('serialize_precision', (string) $precision);
        }
    }

    /**
     * @return array<string, mixed>
     * @throws BallastError when the reply is not of the API
     */
    public static function decode(Response $response): array
    {
        $value = json_decode($response->body, true, 512, JSON_BIGINT_AS_STRING);
        if (!is_array($value)) {
            throw new BallastError("The reply to a request is not JSON of the API (status {$response->status}).");
        }
        return $value;
    }
}
