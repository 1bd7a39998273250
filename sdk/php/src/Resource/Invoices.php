<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * Monthly invoices for fees, and credit notes. They never change.
 */
final class Invoices extends Resource
{
    /**
     * List invoices.
     *
     * Invoices for fees, and credit notes for returned fees. Newest first.
     *
     * Scope: `settlements:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @param \DateTimeInterface|string|null $created_gte Created at or after this ISO 8601 time, UTC; a date means its
     *     beginning.
     * @param \DateTimeInterface|string|null $created_lte Created at or before this ISO 8601 time, UTC; a date means its
     *     end.
     * @param string|null $kind Only this kind.
     * @return Page<Model\Invoice>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        \DateTimeInterface|string|null $created_gte = null,
        \DateTimeInterface|string|null $created_lte = null,
        ?string $kind = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\Invoice::class,
            '/v1/invoices',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'created_gte' => self::moment($created_gte),
                'created_lte' => self::moment($created_lte),
                'kind' => $kind,
            ]),
            $options,
        );
    }

    /**
     * Get an invoice.
     *
     * An invoice or credit note, as it was issued. `format` chooses a file instead.
     *
     * Scope: `settlements:read`.
     */
    public function get(string $invoiceId, ?RequestOptions $options = null): Model\Invoice
    {
        return Model\Invoice::ofResponse($this->transport->send(
            'GET',
            '/v1/invoices/' . rawurlencode($invoiceId),
            options: $options,
        ));
    }

    /**
     * Get an invoice as a file. Returns its bytes.
     *
     * @param string $format `csv` or `pdf`
     */
    public function download(string $invoiceId, string $format, ?RequestOptions $options = null): string
    {
        return $this->transport->send(
            'GET',
            '/v1/invoices/' . rawurlencode($invoiceId),
            self::given([
                'format' => $format,
            ]),
            options: $options,
        )->body;
    }
}
