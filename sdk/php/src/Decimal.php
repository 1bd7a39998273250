<?php

declare(strict_types=1);

namespace Ballast;

/** Amounts in a currency: decimal text here, a JSON number in the API. A float holds 15 digits exactly, and no more. */
final class Decimal
{
    /** The number to send for an amount such as `'25.50'`. */
    public static function toNumber(string $amount): int|float
    {
        $digits = ltrim(str_replace('.', '', $amount), '0');
        if (preg_match('/^\d+(\.\d+)?$/D', $amount) !== 1 || strlen($digits) > 15) {
            throw new \InvalidArgumentException("An amount is decimal text of at most 15 digits, such as '25.50'.");
        }
        return str_contains($amount, '.') ? (float) $amount : (int) $amount;
    }

    /** The text of a number that was received: `25.5`. */
    public static function toText(int|float|string $number): string
    {
        $precision = ini_set('serialize_precision', '-1');
        $text = is_string($number) ? $number : var_export($number, true);
        ini_set('serialize_precision', (string) $precision);
        if (str_contains($text, 'E')) {
            $text = rtrim(rtrim(sprintf('%.15F', $number), '0'), '.');
        }
        return str_ends_with($text, '.0') ? substr($text, 0, -2) : $text;
    }
}
