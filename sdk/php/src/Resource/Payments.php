<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Omitted;
use Ballast\Page;
use Ballast\RequestOptions;

/**
 * Request payments, and see what arrived.
 */
final class Payments extends Resource
{
    /**
     * Create a payment.
     *
     * Quotes the price in the coin, reserves an address that belongs to this payment alone, and replies with a page for
     * the payer at `url`. Without `cryptocurrency`, `network` and `merchantWallet` the payer chooses coin and network
     * there. Send an `Idempotency-Key`, so that a request sent twice makes one payment.
     *
     * Scope: `payments:write`.
     *
     * @param int|float|string $amount In the currency, with at most its minor digits; worth at most 1,000,000 USD at
     *     the current rate.
     * @param string $currency ISO 4217 code of the price's currency.
     * @param string|null $cryptocurrency The coin the payer sends. Left out with `network` and `merchantWallet`: the
     *     payer chooses.
     * @param string|null $network The network it is sent on.
     * @param string|null $merchantWallet Where settlements of this payment go. On stellar an M address is taken as
     *     well; a G address whose account asks for memos, as those of exchanges do, is refused.
     * @param array<string, mixed>|null $merchantWallets Instead of `network` and `merchantWallet`: where settlements
     *     go, by network. The payer chooses among these networks. Left out: those of your wallets in use.
     * @param list<string>|null $cryptocurrencies Instead of `cryptocurrency`: the coins that the payer chooses among.
     *     Left out: all of the networks.
     * @param string|null $description What it is for. Payers see it, and receipts name it.
     * @param list<array>|null $items Lines of what is paid for. Payers see them.
     * @param string|null $note For yourself; payers do not see it.
     * @param string|null $redirectUrl Where the payer may go on after success.
     * @param string|null $cancelUrl Where a payer who has not paid may go back to, once the payment expired or was
     *     cancelled. Left out: the first page of the site of `redirectUrl`.
     * @param string|null $webhookUrl Told of this payment's events as well.
     * @param int|null $expiresIn Seconds the payer has. 1800 when it is left out.
     * @param array<string, mixed>|null $metadata Any JSON object of yours, up to 16 KiB; given back as sent.
     */
    public function create(
        int|float|string $amount,
        string $currency,
        ?string $cryptocurrency = null,
        ?string $network = null,
        ?string $merchantWallet = null,
        ?array $merchantWallets = null,
        ?array $cryptocurrencies = null,
        ?string $description = null,
        ?array $items = null,
        ?string $note = null,
        ?string $redirectUrl = null,
        ?string $cancelUrl = null,
        ?string $webhookUrl = null,
        ?int $expiresIn = null,
        ?array $metadata = null,
        ?RequestOptions $options = null,
    ): Model\Payment {
        return Model\Payment::ofResponse($this->transport->send(
            'POST',
            '/v1/payments',
            body: self::given([
                'amount' => self::number($amount),
                'currency' => $currency,
                'cryptocurrency' => $cryptocurrency,
                'network' => $network,
                'merchantWallet' => $merchantWallet,
                'merchantWallets' => self::object($merchantWallets),
                'cryptocurrencies' => $cryptocurrencies,
                'description' => $description,
                'items' => $items,
                'note' => $note,
                'redirectUrl' => $redirectUrl,
                'cancelUrl' => $cancelUrl,
                'webhookUrl' => $webhookUrl,
                'expiresIn' => $expiresIn,
                'metadata' => self::object($metadata),
            ]),
            options: $options,
        ));
    }

    /**
     * List payments.
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
     * @param string|null $status Only payments in this status, or in one of several, separated by commas: `created`,
     *     `pending`, `underpaid`, `completed`, `partially_refunded`, `refunded`, `expired`, `cancelled`.
     * @param string|null $network Only payments that are asked for on this network.
     * @param string|null $cryptocurrency Only payments that are asked for in this coin.
     * @param string|null $currency Only payments priced in this currency.
     * @param string|null $amount_gte Priced at least so much of `currency`.
     * @param string|null $amount_lte Priced at most so much of `currency`.
     * @param array<string, mixed>|null $metadata Only payments whose metadata has this value, as
     *     `metadata[order]=1007`: how to find a payment by your order's number. Several names must all fit.
     * @param string|null $paymentLink Only payments made by this payment link.
     * @return Page<Model\Payment>
     */
    public function list(
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        \DateTimeInterface|string|null $created_gte = null,
        \DateTimeInterface|string|null $created_lte = null,
        ?string $status = null,
        ?string $network = null,
        ?string $cryptocurrency = null,
        ?string $currency = null,
        ?string $amount_gte = null,
        ?string $amount_lte = null,
        ?array $metadata = null,
        ?string $paymentLink = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\Payment::class,
            '/v1/payments',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
                'created_gte' => self::moment($created_gte),
                'created_lte' => self::moment($created_lte),
                'status' => $status,
                'network' => $network,
                'cryptocurrency' => $cryptocurrency,
                'currency' => $currency,
                'amount_gte' => $amount_gte,
                'amount_lte' => $amount_lte,
                'metadata' => self::object($metadata),
                'paymentLink' => $paymentLink,
            ]),
            $options,
        );
    }

    /**
     * Get a payment.
     *
     * The payment as it is now. Deliver goods when `status` is `completed`.
     *
     * Scope: `payments:read`.
     *
     * @param string|null $expand What the record has then too, the newest 100 of each: `discrepancies`, `refunds`, or
     *     both separated by a comma.
     */
    public function get(string $paymentId, ?string $expand = null, ?RequestOptions $options = null): Model\Payment
    {
        return Model\Payment::ofResponse($this->transport->send(
            'GET',
            '/v1/payments/' . rawurlencode($paymentId),
            self::given([
                'expand' => $expand,
            ]),
            options: $options,
        ));
    }

    /**
     * Update a payment.
     *
     * Changes the description, the note and single names of the metadata, at any time, also once the payment is over. A
     * change is told by `payment.updated`. Price, coin and wallet stay.
     *
     * Scope: `payments:write`.
     *
     * @param string|null|Omitted $description What it is for. Payers see it.
     * @param string|null|Omitted $note For yourself; payers do not see it.
     * @param array<string, mixed>|null|Omitted $metadata Names that are set; a name with `null` is removed, and all
     *     others stay. At most 16 KiB in all.
     */
    public function update(
        string $paymentId,
        string|null|Omitted $description = Omitted::Value,
        string|null|Omitted $note = Omitted::Value,
        array|null|Omitted $metadata = Omitted::Value,
        ?RequestOptions $options = null,
    ): Model\Payment {
        return Model\Payment::ofResponse($this->transport->send(
            'PATCH',
            '/v1/payments/' . rawurlencode($paymentId),
            body: self::changes([
                'description' => $description,
                'note' => $note,
                'metadata' => self::object($metadata),
            ]),
            options: $options,
        ));
    }

    /**
     * Cancel a payment.
     *
     * Ends a payment that nothing was sent for yet. Money that comes later waits for a decision.
     *
     * Scope: `payments:write`.
     */
    public function cancel(string $paymentId, ?RequestOptions $options = null): Model\Payment
    {
        return Model\Payment::ofResponse($this->transport->send(
            'POST',
            '/v1/payments/' . rawurlencode($paymentId) . '/cancel',
            body: [],
            options: $options,
        ));
    }

    /**
     * Close an underpaid payment early.
     *
     * Ends the time of a payment that has received too little. What came waits as a discrepancy, which you accept or
     * refund; what is sent later is late. Refused while more has been seen and is not confirmed.
     *
     * Scope: `decisions:write`.
     */
    public function close(string $paymentId, ?RequestOptions $options = null): Model\Payment
    {
        return Model\Payment::ofResponse($this->transport->send(
            'POST',
            '/v1/payments/' . rawurlencode($paymentId) . '/close',
            body: [],
            options: $options,
        ));
    }

    /**
     * Explain an on-chain transaction.
     *
     * For a payer who says that they paid: looks the transaction up on the payment's network, and says of every
     * transfer in it why it counts for the payment or does not. It credits nothing.
     *
     * Scope: `payments:read`.
     *
     * @param string $transactionHash 0x and 64 hexadecimal digits on ethereum and polygon, 64 hexadecimal digits on
     *     stellar.
     */
    public function claim(string $paymentId, string $transactionHash, ?RequestOptions $options = null): Model\Claim
    {
        return Model\Claim::ofResponse($this->transport->send(
            'POST',
            '/v1/payments/' . rawurlencode($paymentId) . '/claim',
            body: self::given([
                'transactionHash' => $transactionHash,
            ]),
            options: $options,
        ));
    }

    /**
     * Simulate a payment.
     *
     * Plays a payer on the simulated network of the sandbox: one who pays exactly, too little, late or otherwise. In
     * production there is nothing to act out.
     *
     * Scope: `payments:write`.
     *
     * @param string $scenario What happens to the payment.
     */
    public function simulate(string $paymentId, string $scenario, ?RequestOptions $options = null): Model\Simulation
    {
        return Model\Simulation::ofResponse($this->transport->send(
            'POST',
            '/v1/payments/' . rawurlencode($paymentId) . '/simulate',
            body: self::given([
                'scenario' => $scenario,
            ]),
            options: $options,
        ));
    }

    /**
     * Get the timeline of a payment.
     *
     * Its events, each with the status and the amount received as they were then.
     *
     * Scope: `payments:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @return Page<Model\TimelineEntry>
     */
    public function timeline(
        string $paymentId,
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\TimelineEntry::class,
            '/v1/payments/' . rawurlencode($paymentId) . '/timeline',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
            ]),
            $options,
        );
    }

    /**
     * List a payment's transfers.
     *
     * Whether they count or not, newest first. The payment's own record has the first hundred.
     *
     * Scope: `payments:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @return Page<Model\PaymentTransfer>
     */
    public function transfers(
        string $paymentId,
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\PaymentTransfer::class,
            '/v1/payments/' . rawurlencode($paymentId) . '/transfers',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
            ]),
            $options,
        );
    }

    /**
     * List a payment's discrepancies.
     *
     * Money that came late, short, in surplus or on the wrong network.
     *
     * Scope: `payments:read`.
     *
     * @param int|null $limit How many records, 1 to 100.
     * @param string|null $starting_after The `id` of the last record of the page before.
     * @param string|null $ending_before The `id` of the first record of the page after: the page before it, newest
     *     first as well.
     * @return Page<Model\Discrepancy>
     */
    public function discrepancies(
        string $paymentId,
        ?int $limit = null,
        ?string $starting_after = null,
        ?string $ending_before = null,
        ?RequestOptions $options = null,
    ): Page {
        return Page::fetch(
            $this->transport,
            Model\Discrepancy::class,
            '/v1/payments/' . rawurlencode($paymentId) . '/discrepancies',
            self::given([
                'limit' => $limit,
                'starting_after' => $starting_after,
                'ending_before' => $ending_before,
            ]),
            $options,
        );
    }

    /**
     * Accept a discrepancy.
     *
     * Accepts the money of one discrepancy. Short and late money then counts for its payment, which it may complete;
     * the rest is extra. To give it back instead, create a refund.
     *
     * Scope: `decisions:write`.
     *
     * @param string|null $note Why, for your own records.
     */
    public function acceptDiscrepancy(
        string $paymentId,
        string $discrepancyId,
        ?string $note = null,
        ?RequestOptions $options = null,
    ): Model\Discrepancy {
        return Model\Discrepancy::ofResponse($this->transport->send(
            'POST',
            '/v1/payments/' . rawurlencode($paymentId) . '/discrepancies/' . rawurlencode($discrepancyId) . '/accept',
            body: self::given([
                'note' => $note,
            ]),
            options: $options,
        ));
    }
}
