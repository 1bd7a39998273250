<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class Recipient extends Model
{
    /** Of the company or person. */
    public readonly string $name;
    /** With line breaks, as on an envelope. */
    public readonly string $address;
    /** Its code of two letters. */
    public readonly string $country;
    /** Empty: none. */
    public readonly string $taxId;
    /** Your own id. */
    public readonly string $merchantId;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['name']) && $this->name = (string) $raw['name'];
        isset($raw['address']) && $this->address = (string) $raw['address'];
        isset($raw['country']) && $this->country = (string) $raw['country'];
        isset($raw['taxId']) && $this->taxId = (string) $raw['taxId'];
        isset($raw['merchantId']) && $this->merchantId = (string) $raw['merchantId'];
    }
}
