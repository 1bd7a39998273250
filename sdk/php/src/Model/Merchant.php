<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Merchant extends Model
{
    /** mer_ and 26 characters. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** Of the business. */
    public readonly string $name;
    /** Where mails about the account go. */
    public readonly string $email;
    /** Decides how many requests a minute you may send. */
    public readonly string $plan;
    /** Kept of what payments bring in, in hundredths of a percent. */
    public readonly int $feeBps;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** The coin that settlements are paid in. */
    public readonly string $settlementCurrency;
    public readonly Schedule $settlementSchedule;
    /** In percent, two fractional digits. */
    public readonly string $paymentTolerance;
    /** `hold` late money for a decision, or `accept` it. */
    public readonly string $latePayments;
    /** `ask`, `give_back` or `keep` what is paid beyond the price. */
    public readonly string $surplus;
    /** In percent, two fractional digits. */
    public readonly string $surplusKept;
    /**
     * Wallets that payments may name as merchantWallet; an empty list allows any.
     * @var list<string>
     */
    public readonly array $walletAllowList;
    /**
     * One for each coin on each network.
     * @var list<BalanceEntry>
     */
    public readonly array $balances;
    /** When it was made. */
    public readonly \DateTimeImmutable $createdAt;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['name']) && $this->name = (string) $raw['name'];
        isset($raw['email']) && $this->email = (string) $raw['email'];
        isset($raw['plan']) && $this->plan = (string) $raw['plan'];
        isset($raw['feeBps']) && $this->feeBps = (int) $raw['feeBps'];
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['settlementCurrency']) && $this->settlementCurrency = (string) $raw['settlementCurrency'];
        isset($raw['settlementSchedule']) && $this->settlementSchedule = Schedule::of($raw['settlementSchedule']);
        isset($raw['paymentTolerance']) && $this->paymentTolerance = (string) $raw['paymentTolerance'];
        isset($raw['latePayments']) && $this->latePayments = (string) $raw['latePayments'];
        isset($raw['surplus']) && $this->surplus = (string) $raw['surplus'];
        isset($raw['surplusKept']) && $this->surplusKept = (string) $raw['surplusKept'];
        isset($raw['walletAllowList']) && $this->walletAllowList = $raw['walletAllowList'];
        isset($raw['balances']) && $this->balances = array_map(BalanceEntry::of(...), $raw['balances']);
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
    }
}
