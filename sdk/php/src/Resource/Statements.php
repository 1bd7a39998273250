<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * What changed your money in a month, settled or not.
 */
final class Statements extends Resource
{
    /**
     * List monthly statements.
     *
     * Every month since the merchant was opened, the one that runs first.
     *
     * Scope: `settlements:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `month` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @return Page<Model\Month>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\Month::class,
            '/v1/statements',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
            ]),
            $options,
        );
    }

    /**
     * Get a monthly statement.
     *
     * Everything that changed your money in a month, settled or not: for each account and coin opening balance, entries
     * and closing balance, which is the next month's opening balance. `format` chooses a file instead; the PDF has
     * 2,000 entries at most.
     *
     * Scope: `settlements:read`.
     *
     * @param string|null $currency Values balances and entries, beside your settlement currency. Unless given, that of
     *     invoices.
     */
    public function get(
        string $month,
        ?string $currency = null,
        ?RequestOptions $options = null,
    ): Model\MonthlyStatement {
        return Model\MonthlyStatement::ofResponse($this->transport->send(
            'GET',
            '/v1/statements/' . rawurlencode($month),
            self::given([
                'currency' => $currency,
            ]),
            options: $options,
        ));
    }

    /**
     * Get a monthly statement as a file. Returns its bytes.
     *
     * @param string $format `csv` or `pdf`
     * @param string|null $currency Values balances and entries, beside your settlement currency. Unless given, that of
     *     invoices.
     */
    public function download(
        string $month,
        string $format,
        ?string $currency = null,
        ?RequestOptions $options = null,
    ): string {
        return $this->transport->send(
            'GET',
            '/v1/statements/' . rawurlencode($month),
            self::given([
                'format' => $format,
                'currency' => $currency,
            ]),
            options: $options,
        )->body;
    }
}
