<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Decimal;
use Ballast\Model;

final class Payment extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /**
     * `created` until money is seen, `pending` while it confirms, then `completed` or `underpaid`; `expired` or
     * `cancelled` when nothing came; `partially_refunded` or `refunded` after refunds.
     */
    public readonly string $status;
    /** In the currency: an exact decimal number. */
    public readonly string $amount;
    /** ISO 4217 code of the price's currency. */
    public readonly string $currency;
    /** What the payer is asked for: decimal, six fractional digits. */
    public readonly string $cryptoAmount;
    /** The coin. */
    public readonly string $cryptocurrency;
    /** The network it is on. */
    public readonly string $network;
    /** The hosted payment page. */
    public readonly string $url;
    /** PNG as a data URI: the address, or on stellar `paymentUri`. */
    public readonly string $qrCode;
    /** Until when it can be paid. */
    public readonly \DateTimeImmutable $expiresAt;
    /** When it was made. */
    public readonly \DateTimeImmutable $createdAt;
    /**
     * What is left to be sent, in the coin: less all that was seen, confirmed or not. 0 once it is paid or cannot be
     * paid any more.
     */
    public readonly string $amountDue;
    /** Confirmed and in time, in the coin. */
    public readonly string $amountReceived;
    /** In the coin. */
    public readonly string $amountRefunded;
    public readonly ExchangeRate $exchangeRate;
    /** Where the payer sends the coins. It belongs to this payment alone. */
    public readonly string $depositAddress;
    /** Needed with the address on stellar; else null. */
    public readonly ?string $memo;
    /** On stellar address and memo as one, for wallets with a single field; else null. */
    public readonly ?string $muxedAddress;
    /** EIP-681 or SEP-7 link with everything filled in; it asks for `amountDue`. */
    public readonly string $paymentUri;
    /** Of the transfer that still needs most; 0 before one is seen. */
    public readonly int $confirmations;
    /** How many confirmations make a transfer count. */
    public readonly int $requiredConfirmations;
    /**
     * What was unusual; several can apply.
     * @var list<string>
     */
    public readonly array $statusReasons;
    /**
     * The first 100 that were seen.
     * @var list<PaymentTransfer>
     */
    public readonly array $transfers;
    /** How many there are: `/payments/:id/transfers` lists them all. */
    public readonly int $transferCount;
    /** Where settlements of the payment go. */
    public readonly string $merchantWallet;
    /** Where the payer may go on after success. */
    public readonly ?string $redirectUrl;
    /** Where a payer who has not paid goes back to. */
    public readonly ?string $cancelUrl;
    /** Told of this payment's events as well; null without one. */
    public readonly ?string $webhookUrl;
    /** Seconds that the payer has. */
    public readonly int $expiresIn;
    /**
     * Your own JSON object, as you sent it.
     * @var array<string, mixed>
     */
    public readonly array $metadata;
    /** What it is for. Payers see it. */
    public readonly ?string $description;
    /**
     * Lines of what is paid for. Payers see them.
     * @var list<Item>
     */
    public readonly array $items;
    /** For yourself; payers do not see it. */
    public readonly ?string $note;
    /** Id of the payment link that it was made by. */
    public readonly ?string $paymentLink;
    /**
     * What its payer chooses among; empty where the request has said it.
     * @var list<PaymentChoice>
     */
    public readonly array $choices;
    /** When the payer last chose. Null: the coin and network are those offered first. */
    public readonly ?\DateTimeImmutable $chosenAt;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** When it was completed; null before. */
    public readonly ?\DateTimeImmutable $completedAt;
    /** When it was cancelled; null unless it was. */
    public readonly ?\DateTimeImmutable $cancelledAt;
    /** When the time of an underpaid payment ended: no more is awaited. Null while it is. */
    public readonly ?\DateTimeImmutable $closedAt;
    /** Grows with every change that an event tells of. */
    public readonly int $version;
    /**
     * The newest 100, with `expand`.
     * @var list<Discrepancy>
     */
    public readonly array $discrepancies;
    /**
     * The newest 100, with `expand`.
     * @var list<Refund>
     */
    public readonly array $refunds;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        isset($raw['amount']) && $this->amount = Decimal::toText($raw['amount']);
        isset($raw['currency']) && $this->currency = (string) $raw['currency'];
        isset($raw['cryptoAmount']) && $this->cryptoAmount = (string) $raw['cryptoAmount'];
        isset($raw['cryptocurrency']) && $this->cryptocurrency = (string) $raw['cryptocurrency'];
        isset($raw['network']) && $this->network = (string) $raw['network'];
        isset($raw['url']) && $this->url = (string) $raw['url'];
        isset($raw['qrCode']) && $this->qrCode = (string) $raw['qrCode'];
        isset($raw['expiresAt']) && $this->expiresAt = new \DateTimeImmutable($raw['expiresAt']);
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
        isset($raw['amountDue']) && $this->amountDue = (string) $raw['amountDue'];
        isset($raw['amountReceived']) && $this->amountReceived = (string) $raw['amountReceived'];
        isset($raw['amountRefunded']) && $this->amountRefunded = (string) $raw['amountRefunded'];
        isset($raw['exchangeRate']) && $this->exchangeRate = ExchangeRate::of($raw['exchangeRate']);
        isset($raw['depositAddress']) && $this->depositAddress = (string) $raw['depositAddress'];
        $this->memo = isset($raw['memo']) ? (string) $raw['memo'] : null;
        $this->muxedAddress = isset($raw['muxedAddress']) ? (string) $raw['muxedAddress'] : null;
        isset($raw['paymentUri']) && $this->paymentUri = (string) $raw['paymentUri'];
        isset($raw['confirmations']) && $this->confirmations = (int) $raw['confirmations'];
        isset($raw['requiredConfirmations']) && $this->requiredConfirmations = (int) $raw['requiredConfirmations'];
        isset($raw['statusReasons']) && $this->statusReasons = $raw['statusReasons'];
        isset($raw['transfers']) && $this->transfers = array_map(PaymentTransfer::of(...), $raw['transfers']);
        isset($raw['transferCount']) && $this->transferCount = (int) $raw['transferCount'];
        isset($raw['merchantWallet']) && $this->merchantWallet = (string) $raw['merchantWallet'];
        $this->redirectUrl = isset($raw['redirectUrl']) ? (string) $raw['redirectUrl'] : null;
        $this->cancelUrl = isset($raw['cancelUrl']) ? (string) $raw['cancelUrl'] : null;
        $this->webhookUrl = isset($raw['webhookUrl']) ? (string) $raw['webhookUrl'] : null;
        isset($raw['expiresIn']) && $this->expiresIn = (int) $raw['expiresIn'];
        isset($raw['metadata']) && $this->metadata = $raw['metadata'];
        $this->description = isset($raw['description']) ? (string) $raw['description'] : null;
        isset($raw['items']) && $this->items = array_map(Item::of(...), $raw['items']);
        $this->note = isset($raw['note']) ? (string) $raw['note'] : null;
        $this->paymentLink = isset($raw['paymentLink']) ? (string) $raw['paymentLink'] : null;
        isset($raw['choices']) && $this->choices = array_map(PaymentChoice::of(...), $raw['choices']);
        $this->chosenAt = isset($raw['chosenAt']) ? new \DateTimeImmutable($raw['chosenAt']) : null;
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        $this->completedAt = isset($raw['completedAt']) ? new \DateTimeImmutable($raw['completedAt']) : null;
        $this->cancelledAt = isset($raw['cancelledAt']) ? new \DateTimeImmutable($raw['cancelledAt']) : null;
        $this->closedAt = isset($raw['closedAt']) ? new \DateTimeImmutable($raw['closedAt']) : null;
        isset($raw['version']) && $this->version = (int) $raw['version'];
        isset($raw['discrepancies']) && $this->discrepancies = array_map(Discrepancy::of(...), $raw['discrepancies']);
        isset($raw['refunds']) && $this->refunds = array_map(Refund::of(...), $raw['refunds']);
    }
}
