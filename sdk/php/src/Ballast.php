<?php

declare(strict_types=1);

namespace Ballast;

use Ballast\Http\CurlSender;
use Ballast\Http\Sender;
use Ballast\Resource\HasResources;

/** The API of one installation, for one pair of keys: `$ballast->payments->create(amount: '25.50', currency: 'EUR')`. */
final class Ballast
{
    use HasResources;

    public const VERSION = '0.1.0';

    /**
     * Addresses and keys that are left out are those of the environment variables `BALLAST_URL`, `BALLAST_PUBLIC_KEY`
     * and `BALLAST_SECRET_KEY`.
     *
     * @param string|null $publicKey `pk_live_…`; with `pk_test_…` everything happens in the sandbox
     * @param string|null $baseUrl of the installation: `https://pay.example.com`
     * @param float $timeout seconds for one attempt
     * @param int $maxRetries attempts after the first, where sending again is safe
     * @param float $longestRetryAfter seconds: a reply that asks for a longer wait is an error at once
     * @param bool $signRequests whether each request is signed, as a key can require
     * @param (callable(string, string, array<string, mixed>): void)|null $logger is told level, message and context of
     *     each attempt, without keys and bodies
     */
    public function __construct(
        ?string $publicKey = null,
        #[\SensitiveParameter]
        ?string $secretKey = null,
        ?string $baseUrl = null,
        float $timeout = 30.0,
        int $maxRetries = 3,
        bool $signRequests = false,
        ?AppInfo $appInfo = null,
        ?callable $logger = null,
        ?Sender $sender = null,
        float $longestRetryAfter = 60.0,
    ) {
        $this->setResources(new Transport(
            baseUrl: $baseUrl ?? (string) getenv('BALLAST_URL'),
            publicKey: $publicKey ?? (string) getenv('BALLAST_PUBLIC_KEY'),
            secretKey: $secretKey ?? (string) getenv('BALLAST_SECRET_KEY'),
            timeout: $timeout,
            maxRetries: $maxRetries,
            longestRetryAfter: $longestRetryAfter,
            signRequests: $signRequests,
            appInfo: $appInfo,
            logger: $logger,
            sender: $sender ?? new CurlSender(),
        ));
    }
}
