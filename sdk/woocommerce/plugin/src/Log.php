<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

/** WooCommerce's log, under *Status → Logs*. */
final class Log
{
    /** @param array<string, mixed> $context */
    public static function write(string $level, string $message, array $context = []): void
    {
        if ($level !== 'debug' && function_exists('wc_get_logger')) {
            wc_get_logger()->log($level, $message, ['source' => Plugin::ID] + $context);
        }
    }
}
