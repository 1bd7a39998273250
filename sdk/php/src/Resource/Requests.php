<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * What your keys asked the API for, and how it was answered.
 */
final class Requests extends Resource
{
    /**
     * List requests.
     *
     * The requests that your keys made, newest first, without their bodies. They appear within a second and are kept
     * for as long as the service's operator chooses. With `path`, `method`, `key` or `status=2xx` the newest 20,000
     * requests before `created_lte` are looked through. Reading this list is logged only where it is refused.
     *
     * Scope: `requests:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @param \DateTimeInterface|string|null $created_gte Created at or after this ISO 8601 time, UTC; a date means its
     *     beginning.
     * @param \DateTimeInterface|string|null $created_lte Created at or before this ISO 8601 time, UTC; a date means its
     *     end.
     * @param string|null $status Only those answered so; `error` is 4xx and 5xx.
     * @param string|null $method Only those with this method.
     * @param string|null $path Only those whose path contains this.
     * @param string|null $key Only those with this public key.
     * @param string|null $request_id Only the one with this `X-Request-Id`, as an error has it.
     * @return Page<Model\RequestLogEntry>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        \DateTimeInterface|string|null $created_gte = null,
        \DateTimeInterface|string|null $created_lte = null,
        ?string $status = null,
        ?string $method = null,
        ?string $path = null,
        ?string $key = null,
        ?string $request_id = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\RequestLogEntry::class,
            '/v1/requests',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'created_gte' => self::moment($created_gte),
                'created_lte' => self::moment($created_lte),
                'status' => $status,
                'method' => $method,
                'path' => $path,
                'key' => $key,
                'request_id' => $request_id,
            ]),
            $options,
        );
    }
}
