<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

/** Amounts as the API takes them. */
final class Money
{
    /** Currencies without minor digits, and with three; all others have two. */
    private const DIGITS = ['JPY' => 0, 'KRW' => 0, 'ISK' => 0, 'BHD' => 3, 'OMR' => 3];

    public static function total(\WC_Order $order): string
    {
        return self::plain($order->get_total(), $order->get_currency());
    }

    public static function plain(mixed $amount, string $currency): string
    {
        return wc_format_decimal((string) $amount, self::DIGITS[$currency] ?? 2);
    }
}
