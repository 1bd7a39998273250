<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Model;

use Ballast\Model;

final class DeletedWebhook extends Model
{
    /** Names the record for good. */
    public readonly string $id;
    /** What kind of record this is. */
    public readonly string $object;
    /** True: it is gone. */
    public readonly bool $deleted;

    /** @param array<string, mixed> $raw */
    public function __construct(array $raw)
    {
        parent::__construct($raw);
        isset($raw['id']) && $this->id = (string) $raw['id'];
        isset($raw['object']) && $this->object = (string) $raw['object'];
        isset($raw['deleted']) && $this->deleted = (bool) $raw['deleted'];
    }
}
