<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * Refund payments.
 */
final class Refunds extends Resource
{
    /**
     * Create a refund.
     *
     * Gives money of a payment back, in full or in part. The money is reserved at once and sent as soon as the refund
     * has an address. Send an `Idempotency-Key`, so that a request sent twice refunds once.
     *
     * Scope: `refunds:write`.
     *
     * @param string $paymentId The payment to refund.
     * @param int|float|string|null $amount In the payment's currency. Its original quote says how many coins that is,
     *     whatever they are worth by now. Left out: all that is left.
     * @param string|null $reason A note of yours.
     * @param string|null $destination Where the money goes. Left out: back to the sender, when that is an ordinary
     *     account.
     * @param string|null $memo On stellar, where the destination asks for one.
     * @param string|null $memoType `text` where the recipient wants a memo of digits as text, as some exchanges do.
     *     Left out: a number is an id, anything else text.
     * @param string|null $discrepancyId The discrepancy to refund. It is refunded in full, so leave out the amount.
     * @param array<string, mixed>|null $metadata Any JSON object of yours, up to 16 KiB; given back as sent.
     */
    public function create(
        string $paymentId,
        int|float|string|null $amount = null,
        ?string $reason = null,
        ?string $destination = null,
        ?string $memo = null,
        ?string $memoType = null,
        ?string $discrepancyId = null,
        ?array $metadata = null,
        ?RequestOptions $options = null,
    ): Model\Refund {
        return Model\Refund::ofResponse($this->transport->send(
            'POST',
            '/v1/refunds',
            body: self::given([
                'paymentId' => $paymentId,
                'amount' => self::number($amount),
                'reason' => $reason,
                'destination' => $destination,
                'memo' => $memo,
                'memoType' => $memoType,
                'discrepancyId' => $discrepancyId,
                'metadata' => self::object($metadata),
            ]),
            options: $options,
        ));
    }

    /**
     * List refunds.
     *
     * Newest first.
     *
     * Scope: `refunds:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @param \DateTimeInterface|string|null $created_gte Created at or after this ISO 8601 time, UTC; a date means its
     *     beginning.
     * @param \DateTimeInterface|string|null $created_lte Created at or before this ISO 8601 time, UTC; a date means its
     *     end.
     * @param string|null $paymentId Only refunds of this payment.
     * @param string|null $status Only refunds in this status.
     * @return Page<Model\Refund>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        \DateTimeInterface|string|null $created_gte = null,
        \DateTimeInterface|string|null $created_lte = null,
        ?string $paymentId = null,
        ?string $status = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\Refund::class,
            '/v1/refunds',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'created_gte' => self::moment($created_gte),
                'created_lte' => self::moment($created_lte),
                'paymentId' => $paymentId,
                'status' => $status,
            ]),
            $options,
        );
    }

    /**
     * Get a refund.
     *
     * The refund as it is now.
     *
     * Scope: `refunds:read`.
     */
    public function get(string $refundId, ?RequestOptions $options = null): Model\Refund
    {
        return Model\Refund::ofResponse($this->transport->send(
            'GET',
            '/v1/refunds/' . rawurlencode($refundId),
            options: $options,
        ));
    }

    /**
     * Cancel a refund.
     *
     * Possible until the refund is signed. Its money goes back where it was.
     *
     * Scope: `refunds:write`.
     */
    public function cancel(string $refundId, ?RequestOptions $options = null): Model\Refund
    {
        return Model\Refund::ofResponse($this->transport->send(
            'POST',
            '/v1/refunds/' . rawurlencode($refundId) . '/cancel',
            body: [],
            options: $options,
        ));
    }

    /**
     * Give a refund its address.
     *
     * For a refund whose status is `requires_action`: nobody can tell from the incoming transfer where the money is to
     * go.
     *
     * Scope: `refunds:write`.
     *
     * @param string $destination An address on the refund's network.
     * @param string|null $memo On stellar, where the account asks for one, as those of exchanges do.
     * @param string|null $memoType `text` where the recipient wants a memo of digits as text, as some exchanges do.
     *     Left out: a number is an id, anything else text.
     */
    public function giveDestination(
        string $refundId,
        string $destination,
        ?string $memo = null,
        ?string $memoType = null,
        ?RequestOptions $options = null,
    ): Model\Refund {
        return Model\Refund::ofResponse($this->transport->send(
            'POST',
            '/v1/refunds/' . rawurlencode($refundId) . '/destination',
            body: self::given([
                'destination' => $destination,
                'memo' => $memo,
                'memoType' => $memoType,
            ]),
            options: $options,
        ));
    }
}
