<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Invoice extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** A credit note is for returned fees; amounts are positive. */
    public readonly string $kind;
    /** In one series of the installation, without a gap. */
    public readonly string $number;
    /** Such as `2027-01`, on the clocks of your settlements. */
    public readonly string $month;
    /** Where your invoice before it has ended. */
    public readonly \DateTimeImmutable $periodStart;
    /** What happened before it is invoiced. */
    public readonly \DateTimeImmutable $periodEnd;
    /** The operator of the installation. */
    public readonly Issuer $issuer;
    /** You, as your billing details were. */
    public readonly Recipient $recipient;
    /**
     * The fees in each coin on each network.
     * @var list<InvoiceLine>
     */
    public readonly array $lines;
    /** Of the invoice: ISO 4217. */
    public readonly string $currency;
    /** The lines together. What is below the currency's last digit is carried to your next document. */
    public readonly string $netAmount;
    /** In percent. */
    public readonly string $taxRate;
    /** Net × tax rate, rounded half up. */
    public readonly string $taxAmount;
    /** Why there is no tax, such as reverse charge. */
    public readonly ?string $taxNote;
    /** It was already deducted from settlements: you do not need to pay anything. */
    public readonly string $totalAmount;
    /** Of a credit note: your last invoice before it. */
    public readonly ?string $correctsInvoiceId;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** When it was issued. */
    public readonly \DateTimeImmutable $createdAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['kind']) && $this->kind = (string) $raw['kind'];
        isset($raw['number']) && $this->number = (string) $raw['number'];
        isset($raw['month']) && $this->month = (string) $raw['month'];
        isset($raw['periodStart']) && $this->periodStart = new \DateTimeImmutable($raw['periodStart']);
        isset($raw['periodEnd']) && $this->periodEnd = new \DateTimeImmutable($raw['periodEnd']);
        isset($raw['issuer']) && $this->issuer = Issuer::of($raw['issuer']);
        isset($raw['recipient']) && $this->recipient = Recipient::of($raw['recipient']);
        isset($raw['lines']) && $this->lines = array_map(InvoiceLine::of(...), $raw['lines']);
        isset($raw['currency']) && $this->currency = (string) $raw['currency'];
        isset($raw['netAmount']) && $this->netAmount = (string) $raw['netAmount'];
        isset($raw['taxRate']) && $this->taxRate = (string) $raw['taxRate'];
        isset($raw['taxAmount']) && $this->taxAmount = (string) $raw['taxAmount'];
        $this->taxNote = isset($raw['taxNote']) ? (string) $raw['taxNote'] : null;
        isset($raw['totalAmount']) && $this->totalAmount = (string) $raw['totalAmount'];
        $this->correctsInvoiceId = isset($raw['correctsInvoiceId']) ? (string) $raw['correctsInvoiceId'] : null;
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
    }
}
