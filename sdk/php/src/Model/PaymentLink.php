<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Decimal;
use Ballast\Model;

final class PaymentLink extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** The page that payers open. */
    public readonly string $url;
    /** PNG of the page's address, as a data URI. */
    public readonly string $qrCode;
    /** Whether it takes payments, and why not. */
    public readonly string $status;
    /** False while you have it switched off. */
    public readonly bool $enabled;
    /** What it is for. Payers see it. */
    public readonly string $description;
    /** For yourself; payers do not see it. */
    public readonly ?string $note;
    /** Null: the payer enters it. */
    public readonly ?string $amount;
    /** The least that a payer may enter, where the amount is open. */
    public readonly ?string $minAmount;
    /** The most that a payer may enter, where the amount is open. */
    public readonly ?string $maxAmount;
    /** ISO 4217 code of the price's currency. */
    public readonly string $currency;
    /**
     * Null: all that the networks take.
     * @var list<string>|null
     */
    public readonly ?array $cryptocurrencies;
    public readonly Wallets $merchantWallets;
    /** Null: any number. */
    public readonly ?int $maxUses;
    /** Payments that hold a use: all but those that expired or were cancelled unpaid. Null: no limit. */
    public readonly ?int $usesTaken;
    /** Until when it can be paid; null for no end. */
    public readonly ?\DateTimeImmutable $expiresAt;
    /** Seconds that the payer has. */
    public readonly int $expiresIn;
    /** Where the payer may go on after success. */
    public readonly ?string $redirectUrl;
    /**
     * Your own JSON object, as you sent it.
     * @var array<string, mixed>
     */
    public readonly array $metadata;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** When it was made. */
    public readonly \DateTimeImmutable $createdAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['url']) && $this->url = (string) $raw['url'];
        isset($raw['qrCode']) && $this->qrCode = (string) $raw['qrCode'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['enabled']) && $this->enabled = (bool) $raw['enabled'];
        isset($raw['description']) && $this->description = (string) $raw['description'];
        $this->note = isset($raw['note']) ? (string) $raw['note'] : null;
        $this->amount = isset($raw['amount']) ? Decimal::toText($raw['amount']) : null;
        $this->minAmount = isset($raw['minAmount']) ? Decimal::toText($raw['minAmount']) : null;
        $this->maxAmount = isset($raw['maxAmount']) ? Decimal::toText($raw['maxAmount']) : null;
        isset($raw['currency']) && $this->currency = (string) $raw['currency'];
        $this->cryptocurrencies = $raw['cryptocurrencies'] ?? null;
        isset($raw['merchantWallets']) && $this->merchantWallets = Wallets::of($raw['merchantWallets']);
        $this->maxUses = isset($raw['maxUses']) ? (int) $raw['maxUses'] : null;
        $this->usesTaken = isset($raw['usesTaken']) ? (int) $raw['usesTaken'] : null;
        $this->expiresAt = isset($raw['expiresAt']) ? new \DateTimeImmutable($raw['expiresAt']) : null;
        isset($raw['expiresIn']) && $this->expiresIn = (int) $raw['expiresIn'];
        $this->redirectUrl = isset($raw['redirectUrl']) ? (string) $raw['redirectUrl'] : null;
        isset($raw['metadata']) && $this->metadata = $raw['metadata'];
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
    }
}
