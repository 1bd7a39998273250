<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class ClaimTransfer extends Model
{
    /** The network it is on. */
    public readonly string $network;
    /** The coin, the network's own one included; null for a token that is not accepted. */
    public readonly ?string $cryptocurrency;
    /** Null for the native coin. */
    public readonly ?string $tokenContract;
    /** Decimal, six fractional digits or more; null for a token that is not accepted. */
    public readonly ?string $amount;
    /** The memo beside the address, on stellar; null without one. */
    public readonly ?string $memo;
    /** The payment of yours that it was sent for. */
    public readonly ?string $payment;
    /** It is what this payment asked for: its coin, network and address. */
    public readonly bool $matched;
    /** Why it counts for the payment, or does not. */
    public readonly string $code;
    /** The same as a sentence for people. */
    public readonly string $message;
    /** Who sent it. */
    public readonly string $from;
    /** Where it went. */
    public readonly string $to;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['network']) && $this->network = (string) $raw['network'];
        $this->cryptocurrency = isset($raw['cryptocurrency']) ? (string) $raw['cryptocurrency'] : null;
        $this->tokenContract = isset($raw['tokenContract']) ? (string) $raw['tokenContract'] : null;
        $this->amount = isset($raw['amount']) ? (string) $raw['amount'] : null;
        $this->memo = isset($raw['memo']) ? (string) $raw['memo'] : null;
        $this->payment = isset($raw['payment']) ? (string) $raw['payment'] : null;
        isset($raw['matched']) && $this->matched = (bool) $raw['matched'];
        isset($raw['code']) && $this->code = (string) $raw['code'];
        isset($raw['message']) && $this->message = (string) $raw['message'];
        isset($raw['from']) && $this->from = (string) $raw['from'];
        isset($raw['to']) && $this->to = (string) $raw['to'];
    }
}
