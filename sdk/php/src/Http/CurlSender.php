<?php

declare(strict_types=1);

namespace Ballast\Http;

use Ballast\Error\ApiConnectionError;
use Ballast\Error\ApiTimeoutError;

/** Sends requests by PHP's curl, over one connection that is kept open. */
final class CurlSender implements Sender
{
    private ?\CurlHandle $handle = null;

    public function send(Request $request): Response
    {
        $headers = [];
        $handle = $this->handle ??= curl_init();
        curl_reset($handle);
        curl_setopt_array($handle, [
            CURLOPT_URL => $request->url,
            CURLOPT_CUSTOMREQUEST => $request->method,
            CURLOPT_HTTPHEADER => self::lines($request->headers),
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_ENCODING => '',
            CURLOPT_NOSIGNAL => true,
            CURLOPT_CONNECTTIMEOUT_MS => (int) ceil($request->connectTimeout * 1000),
            CURLOPT_TIMEOUT_MS => (int) ceil($request->timeout * 1000),
            CURLOPT_HEADERFUNCTION => static function (\CurlHandle $handle, string $line) use (&$headers): int {
                if (str_starts_with($line, 'HTTP/')) {
                    $headers = [];
                } elseif (str_contains($line, ':')) {
                    [$name, $value] = explode(':', $line, 2);
                    $headers[strtolower(trim($name))] = trim($value);
                }
                return strlen($line);
            },
        ]);
        if ($request->body !== null) {
            curl_setopt($handle, CURLOPT_POSTFIELDS, $request->body);
        }
        $body = curl_exec($handle);
        if (!is_string($body)) {
            $fault = curl_errno($handle);
            $message = curl_error($handle) ?: (string) curl_strerror($fault);
            throw $fault === CURLE_OPERATION_TIMEDOUT
                ? new ApiTimeoutError("No reply in time: $message")
                : new ApiConnectionError("No reply: $message");
        }
        return new Response(curl_getinfo($handle, CURLINFO_RESPONSE_CODE), $headers, $body);
    }

    /**
     * @param array<string, string> $headers
     * @return list<string>
     */
    private static function lines(array $headers): array
    {
        $lines = ['Expect:'];
        foreach ($headers as $name => $value) {
            $lines[] = "$name: " . str_replace(["\r", "\n"], '', $value);
        }
        return $lines;
    }
}
