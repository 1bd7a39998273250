<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * Money that waits for your decision, over all payments.
 */
final class Discrepancies extends Resource
{
    /**
     * List all discrepancies.
     *
     * Money that came late, short, in surplus, in another coin or on the wrong network, over all payments, newest
     * first. With `status=open` it is what waits for your decision.
     *
     * Scope: `payments:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @param \DateTimeInterface|string|null $created_gte Created at or after this ISO 8601 time, UTC; a date means its
     *     beginning.
     * @param \DateTimeInterface|string|null $created_lte Created at or before this ISO 8601 time, UTC; a date means its
     *     end.
     * @param string|null $status Only those in this status; `open` waits for you.
     * @param string|null $kind Only those of this kind.
     * @return Page<Model\Discrepancy>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        \DateTimeInterface|string|null $created_gte = null,
        \DateTimeInterface|string|null $created_lte = null,
        ?string $status = null,
        ?string $kind = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\Discrepancy::class,
            '/v1/discrepancies',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'created_gte' => self::moment($created_gte),
                'created_lte' => self::moment($created_lte),
                'status' => $status,
                'kind' => $kind,
            ]),
            $options,
        );
    }
}
