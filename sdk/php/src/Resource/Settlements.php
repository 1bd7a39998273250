<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * Payouts to your wallets, with their statements.
 */
final class Settlements extends Resource
{
    /**
     * List settlements.
     *
     * Newest first.
     *
     * Scope: `settlements:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @param string|null $status Only settlements in this status.
     * @param \DateTimeInterface|string|null $startDate Created at or after this ISO 8601 date or time, UTC; a date
     *     means its beginning.
     * @param \DateTimeInterface|string|null $endDate Created at or before this ISO 8601 date or time, UTC; a date means
     *     its end.
     * @return Page<Model\Settlement>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        ?string $status = null,
        \DateTimeInterface|string|null $startDate = null,
        \DateTimeInterface|string|null $endDate = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\Settlement::class,
            '/v1/settlements',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'status' => $status,
                'startDate' => self::moment($startDate),
                'endDate' => self::moment($endDate),
            ]),
            $options,
        );
    }

    /**
     * Preview the next settlements.
     *
     * What would be settled if the next run were now, and what would be left for a later one.
     *
     * Scope: `settlements:read`.
     */
    public function upcoming(?RequestOptions $options = null): Model\NextSettlements
    {
        return Model\NextSettlements::ofResponse($this->transport->send(
            'GET',
            '/v1/settlements/next',
            options: $options,
        ));
    }

    /**
     * Get a settlement.
     *
     * The settlement as it is now.
     *
     * Scope: `settlements:read`.
     */
    public function get(string $settlementId, ?RequestOptions $options = null): Model\Settlement
    {
        return Model\Settlement::ofResponse($this->transport->send(
            'GET',
            '/v1/settlements/' . rawurlencode($settlementId),
            options: $options,
        ));
    }

    /**
     * Get the statement of a settlement.
     *
     * Every payment, refund and fee that the settlement is made of; they add up to its amount. `format` chooses a file
     * for bookkeeping instead.
     *
     * Scope: `settlements:read`.
     */
    public function statement(string $settlementId, ?RequestOptions $options = null): Model\Statement
    {
        return Model\Statement::ofResponse($this->transport->send(
            'GET',
            '/v1/settlements/' . rawurlencode($settlementId) . '/statement',
            options: $options,
        ));
    }

    /**
     * Get the statement of a settlement as a file. Returns its bytes.
     *
     * @param string $format `csv`
     */
    public function downloadStatement(string $settlementId, string $format, ?RequestOptions $options = null): string
    {
        return $this->transport->send(
            'GET',
            '/v1/settlements/' . rawurlencode($settlementId) . '/statement',
            self::given([
                'format' => $format,
            ]),
            options: $options,
        )->body;
    }
}
