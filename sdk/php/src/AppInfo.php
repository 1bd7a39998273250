<?php

declare(strict_types=1);

namespace Ballast;

/** The plugin or program that uses this client, for the user agent. */
final class AppInfo
{
    public function __construct(
        public readonly string $name,
        public readonly ?string $version = null,
        public readonly ?string $url = null,
    ) {
    }

    public function __toString(): string
    {
        $text = $this->name . ($this->version === null ? '' : "/{$this->version}");
        return $text . ($this->url === null ? '' : " ({$this->url})");
    }
}
