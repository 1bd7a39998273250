<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

use Ballast\Enum\PaymentStatus;
use Ballast\Enum\PaymentStatusReason;
use Ballast\Model\Payment;

/**
 * What becomes of an order, by what a payment of it is now. Nothing here depends on the order of events, so a late or
 * doubled webhook changes nothing.
 */
final class Table
{
    /** Actions. Those but `NONE` and `NOTE` also leave a note. */
    public const NONE = 'none';
    public const NOTE = 'note';
    public const PAY = 'pay';
    public const HOLD = 'hold';
    public const FAIL = 'fail';
    public const REFUND = 'refund';

    /** By the payment's fact: the action for each status of an order that this payment has not paid. */
    private const UNPAID = [
        // fact          pending         failed          on-hold         cancelled       any other
        'open' =>       [self::NONE,     self::NONE,     self::NONE,     self::NONE,     self::NONE],
        'seen' =>       [self::HOLD,     self::HOLD,     self::NONE,     self::NOTE,     self::NOTE],
        'short' =>      [self::HOLD,     self::HOLD,     self::NOTE,     self::NOTE,     self::NOTE],
        'paid' =>       [self::PAY,      self::PAY,      self::PAY,      self::PAY,      self::NOTE],
        'other price' => [self::HOLD,    self::HOLD,     self::NOTE,     self::NOTE,     self::NOTE],
        'over' =>       [self::FAIL,     self::NONE,     self::FAIL,     self::NONE,     self::NONE],
        'late' =>       [self::HOLD,     self::HOLD,     self::NOTE,     self::NOTE,     self::NOTE],
        'refunded' =>   [self::FAIL,     self::NONE,     self::FAIL,     self::NONE,     self::NONE],
        'unknown' =>    [self::NONE,     self::NONE,     self::NONE,     self::NONE,     self::NONE],
    ];

    /** The same for an order that this very payment has paid. */
    private const PAID = [
        // fact          on-hold         processing      any other
        'open' =>       [self::NONE,     self::HOLD,     self::NOTE],
        'seen' =>       [self::NONE,     self::HOLD,     self::NOTE],
        'short' =>      [self::NONE,     self::HOLD,     self::NOTE],
        'paid' =>       [self::NONE,     self::NONE,     self::NONE],
        'other price' => [self::NONE,    self::NONE,     self::NONE],
        'over' =>       [self::FAIL,     self::HOLD,     self::NOTE],
        'late' =>       [self::NONE,     self::HOLD,     self::NOTE],
        'refunded' =>   [self::REFUND,   self::REFUND,   self::REFUND],
        'unknown' =>    [self::NONE,     self::NONE,     self::NONE],
    ];

    /**
     * @param string $status of the order, without `wc-`
     * @param bool $paidByThis whether the order was paid by this very payment
     * @param bool $isOurs whether the order is still to be paid by Ballast: the payer may have gone to another gateway
     * @param bool $isCurrent whether the payment is the order's newest
     * @param bool $isHeld whether the order is on hold, or failed, since the network undid this payment: an order that
     *     the shop itself put on hold stays so
     */
    public static function action(
        string $fact,
        string $status,
        bool $paidByThis,
        bool $isOurs,
        bool $isCurrent,
        bool $isHeld = false,
    ): string {
        if ($paidByThis) {
            if ($fact === 'paid' && $isHeld && in_array($status, ['on-hold', 'failed'], true)) {
                return self::PAY;
            }
            $column = ['on-hold' => 0, 'processing' => 1][$status] ?? 2;
            return in_array($status, ['refunded', 'cancelled', 'failed'], true) && $fact !== 'paid'
                ? self::NONE
                : self::PAID[$fact][$column];
        }
        $column = ['pending' => 0, 'failed' => 1, 'on-hold' => 2, 'cancelled' => 3][$status] ?? 4;
        $action = self::UNPAID[$fact][$column];
        if ($action === self::FAIL && (!$isOurs || !$isCurrent)) {
            return self::NONE;
        }
        if ($action === self::HOLD && !$isOurs) {
            return self::NOTE;
        }
        return $action;
    }

    /** What is true of the payment, in the words of the table. */
    public static function fact(Payment $payment, string $total, string $currency): string
    {
        $isLate = in_array(PaymentStatusReason::LATE, $payment->statusReasons, true);
        $fact = match ($payment->status) {
            PaymentStatus::CREATED => 'open',
            PaymentStatus::PENDING => 'seen',
            PaymentStatus::UNDERPAID => 'short',
            PaymentStatus::COMPLETED => 'paid',
            // Too little came, and some of it was given back: it was never complete.
            PaymentStatus::PARTIALLY_REFUNDED => $payment->completedAt === null ? 'short' : 'paid',
            PaymentStatus::EXPIRED, PaymentStatus::CANCELLED => $isLate ? 'late' : 'over',
            PaymentStatus::REFUNDED => 'refunded',
            default => 'unknown', // of a later version of the API: nothing is done
        };
        if ($fact !== 'paid') {
            return $fact;
        }
        return self::isSame($payment->amount, $total) && $payment->currency === $currency ? 'paid' : 'other price';
    }

    /** Whether two decimal texts are the same amount. */
    public static function isSame(string $one, string $other): bool
    {
        $plain = static fn(string $text): string => str_contains($text, '.') ? rtrim(rtrim($text, '0'), '.') : $text;
        return $plain($one) === $plain($other);
    }
}
