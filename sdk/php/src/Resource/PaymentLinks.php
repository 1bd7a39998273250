<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Omitted;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * Pages on which payers make payments, as often as you allow.
 */
final class PaymentLinks extends Resource
{
    /**
     * Create a payment link.
     *
     * Makes a page on which payers choose the coin and the network, and pay as often as you allow.
     *
     * Scope: `payments:write`.
     *
     * @param string $description What it is for. Payers see it.
     * @param string $currency ISO 4217 code of the price's currency.
     * @param array<string, mixed> $merchantWallets Where settlements go, by network. The payer chooses among the
     *     networks that are named here.
     * @param int|float|string|null $amount In the currency. Left out: the payer enters it.
     * @param int|float|string|null $minAmount The least a payer may enter, where there is no `amount`.
     * @param int|float|string|null $maxAmount The most a payer may enter, where there is no `amount`.
     * @param list<string>|null $cryptocurrencies The coins that the payer chooses among. Left out: all that the
     *     networks take.
     * @param int|null $maxUses How many payments it is good for. With 1 it is one payment whose coin the payer chooses.
     * @param \DateTimeInterface|string|null $expiresAt Until when payments can be made of it, ISO 8601, UTC; a date
     *     means its end.
     * @param int|null $expiresIn Seconds a payer has for each payment, once the coin is chosen. 1800 when it is left
     *     out.
     * @param string|null $redirectUrl Where payers may go on after success.
     * @param string|null $note For yourself; payers do not see it.
     * @param array<string, mixed>|null $metadata Given to each payment.
     */
    public function create(
        string $description,
        string $currency,
        array $merchantWallets,
        int|float|string|null $amount = null,
        int|float|string|null $minAmount = null,
        int|float|string|null $maxAmount = null,
        ?array $cryptocurrencies = null,
        ?int $maxUses = null,
        \DateTimeInterface|string|null $expiresAt = null,
        ?int $expiresIn = null,
        ?string $redirectUrl = null,
        ?string $note = null,
        ?array $metadata = null,
        ?RequestOptions $options = null,
    ): Model\PaymentLink {
        return Model\PaymentLink::ofResponse($this->transport->send(
            'POST',
            '/v1/payment-links',
            body: self::given([
                'description' => $description,
                'currency' => $currency,
                'amount' => self::number($amount),
                'minAmount' => self::number($minAmount),
                'maxAmount' => self::number($maxAmount),
                'merchantWallets' => self::object($merchantWallets),
                'cryptocurrencies' => $cryptocurrencies,
                'maxUses' => $maxUses,
                'expiresAt' => self::moment($expiresAt),
                'expiresIn' => $expiresIn,
                'redirectUrl' => $redirectUrl,
                'note' => $note,
                'metadata' => self::object($metadata),
            ]),
            options: $options,
        ));
    }

    /**
     * List payment links.
     *
     * Newest first.
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
     * @return Page<Model\PaymentLink>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        \DateTimeInterface|string|null $created_gte = null,
        \DateTimeInterface|string|null $created_lte = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\PaymentLink::class,
            '/v1/payment-links',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'created_gte' => self::moment($created_gte),
                'created_lte' => self::moment($created_lte),
            ]),
            $options,
        );
    }

    /**
     * Get a payment link.
     *
     * The link, with how many of its uses are taken.
     *
     * Scope: `payments:read`.
     */
    public function get(string $linkId, ?RequestOptions $options = null): Model\PaymentLink
    {
        return Model\PaymentLink::ofResponse($this->transport->send(
            'GET',
            '/v1/payment-links/' . rawurlencode($linkId),
            options: $options,
        ));
    }

    /**
     * Update a payment link.
     *
     * Changes what is given, and leaves the rest. Prices, coins and wallets stay: the link may be printed.
     *
     * Scope: `payments:write`.
     *
     * @param bool|null|Omitted $enabled Whether payments can be made of it.
     * @param string|null|Omitted $description What it is for. Payers see it.
     * @param string|null|Omitted $note For yourself; payers do not see it.
     * @param int|null|Omitted $maxUses Null: any number.
     * @param \DateTimeInterface|string|null|Omitted $expiresAt Null: never.
     * @param int|null|Omitted $expiresIn Seconds that the payer has.
     * @param string|null|Omitted $redirectUrl Where the payer may go on after success.
     * @param array<string, mixed>|null|Omitted $metadata Your own JSON object, as you sent it.
     */
    public function update(
        string $linkId,
        bool|null|Omitted $enabled = Omitted::Value,
        string|null|Omitted $description = Omitted::Value,
        string|null|Omitted $note = Omitted::Value,
        int|null|Omitted $maxUses = Omitted::Value,
        \DateTimeInterface|string|null|Omitted $expiresAt = Omitted::Value,
        int|null|Omitted $expiresIn = Omitted::Value,
        string|null|Omitted $redirectUrl = Omitted::Value,
        array|null|Omitted $metadata = Omitted::Value,
        ?RequestOptions $options = null,
    ): Model\PaymentLink {
        return Model\PaymentLink::ofResponse($this->transport->send(
            'PATCH',
            '/v1/payment-links/' . rawurlencode($linkId),
            body: self::changes([
                'enabled' => $enabled,
                'description' => $description,
                'note' => $note,
                'maxUses' => $maxUses,
                'expiresAt' => self::moment($expiresAt),
                'expiresIn' => $expiresIn,
                'redirectUrl' => $redirectUrl,
                'metadata' => self::object($metadata),
            ]),
            options: $options,
        ));
    }
}
