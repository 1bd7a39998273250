<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class WebhookEndpointWithSecret extends Model
{
    protected const SECRETS = ['secret'];

    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** The address that events are sent to. */
    public readonly string $url;
    /**
     * Event types; `*` is all of them.
     * @var list<string>
     */
    public readonly array $events;
    /** `enabled`: events are sent from now on. */
    public readonly string $status;
    /** `merchant`: by you. `gone`: it answered 410. `failing`: nothing succeeded for five days. */
    public readonly ?string $disabledReason;
    /** Null: it is enabled. */
    public readonly ?\DateTimeImmutable $disabledAt;
    /** A note of your own. */
    public readonly string $description;
    /** True for the webhookUrl of payments: it is not listed, and the account's secret signs. */
    public readonly bool $isPaymentAddress;
    /** After a rotation: until when the previous secret signs too. */
    public readonly ?\DateTimeImmutable $previousSecretExpiresAt;
    /** Where it was made: with test keys in the sandbox, with live keys in production. */
    public readonly string $environment;
    /** When it was made. */
    public readonly \DateTimeImmutable $createdAt;
    /** `whsec_…`, shown now and never again. */
    public readonly string $secret;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['url']) && $this->url = (string) $raw['url'];
        isset($raw['events']) && $this->events = $raw['events'];
        isset($raw['status']) && $this->status = (string) $raw['status'];
        $this->disabledReason = isset($raw['disabledReason']) ? (string) $raw['disabledReason'] : null;
        $this->disabledAt = isset($raw['disabledAt']) ? new \DateTimeImmutable($raw['disabledAt']) : null;
        isset($raw['description']) && $this->description = (string) $raw['description'];
        isset($raw['isPaymentAddress']) && $this->isPaymentAddress = (bool) $raw['isPaymentAddress'];
        $this->previousSecretExpiresAt = isset($raw['previousSecretExpiresAt'])
            ? new \DateTimeImmutable($raw['previousSecretExpiresAt'])
            : null;
        isset($raw['environment']) && $this->environment = (string) $raw['environment'];
        isset($raw['createdAt']) && $this->createdAt = new \DateTimeImmutable($raw['createdAt']);
        isset($raw['secret']) && $this->secret = (string) $raw['secret'];
    }
}
