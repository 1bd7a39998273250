<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

use Ballast\Enum\PaymentStatusReason;
use Ballast\Enum\RefundStatus;
use Ballast\Model\Payment;
use Ballast\Model\Refund;

/** What is written to orders, for the people of the shop. */
final class Texts
{
    public static function note(string $fact, Payment $payment, \WC_Order $order, bool $paidByThis): string
    {
        if ($paidByThis && in_array($fact, ['open', 'seen', 'short', 'over', 'late'], true)) {
            /* translators: %s: id of the payment */
            $text = __('The network undid the transfer that paid this order (%s). Do not deliver until it is paid again.', 'ballast-for-woocommerce'); // phpcs:ignore Generic.Files.LineLength
            return sprintf($text, $payment->id);
        }
        $isPaid = $order->is_paid();
        $text = match ($fact) {
            /* translators: %s: id of the payment */
            'seen' => __('Payment %s was seen and waits for confirmations.', 'ballast-for-woocommerce'),
            /* translators: 1: id of the payment, 2: received, 3: asked for, 4: coin */
            'short' => __('Payment %1$s is short: %2$s of %3$s %4$s arrived. Accept it or refund it in Ballast if no more comes.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
            'paid' => $isPaid
                /* translators: 1: id of the payment, 2: received, 4: coin */
                ? __('This order was paid twice: payment %1$s brought %2$s %4$s as well. Refund it in Ballast.', 'ballast-for-woocommerce') // phpcs:ignore Generic.Files.LineLength
                /* translators: 1: id of the payment, 2: received, 4: coin */
                : __('Payment %1$s is complete: %2$s %4$s.', 'ballast-for-woocommerce'),
            /* translators: 1: id of the payment, 5: amount and currency of the payment */
            'other price' => __('Payment %1$s of %5$s is complete, but the order has another total now. Compare before you deliver.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
            /* translators: %s: id of the payment */
            'over' => __('Payment %s ended unpaid.', 'ballast-for-woocommerce'),
            /* translators: %s: id of the payment */
            'late' => __('Money for payment %s arrived too late and waits: accept it or refund it in Ballast.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
            /* translators: %s: id of the payment */
            'refunded' => __('Payment %s was refunded in Ballast.', 'ballast-for-woocommerce'),
            default => '%s',
        };
        return sprintf(
            $text,
            $payment->id,
            $payment->amountReceived,
            $payment->cryptoAmount,
            $payment->cryptocurrency,
            "{$payment->amount} {$payment->currency}"
        );
    }

    /** A reason that the shop should know of; null for others. */
    public static function reason(string $reason, Payment $payment): ?string
    {
        $text = match ($reason) {
            /* translators: %s: id of the payment */
            PaymentStatusReason::OVERPAID => __('More than was due arrived for payment %s. The surplus waits in Ballast.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
            PaymentStatusReason::WRONG_TOKEN,
            /* translators: %s: id of the payment */
            PaymentStatusReason::WRONG_NETWORK => __('Another coin, or one on another network, was sent for payment %s. It waits in Ballast.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
            PaymentStatusReason::COINS_MISSING,
            /* translators: %s: id of the payment */
            PaymentStatusReason::COINS_LOST => __('Coins of payment %s are missing on the network: ask the operator of Ballast.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
            default => null,
        };
        return $text === null ? null : sprintf($text, $payment->id);
    }

    public static function refundMade(Refund $refund): string
    {
        /* translators: 1: id of the refund, 2: amount in the coin, 3: coin */
        $text = __('Refund %1$s of %2$s %3$s was requested.', 'ballast-for-woocommerce');
        return sprintf($text, $refund->id, $refund->cryptoAmount, $refund->cryptocurrency);
    }

    public static function refund(Refund $refund): string
    {
        return match ($refund->status) {
            RefundStatus::REQUIRES_ACTION => sprintf(
                /* translators: 1: amount in the coin, 2: coin, 3: address of a page */
                __('We refund you %1$s %2$s. Say within 30 days to which address, and give this link to nobody else: %3$s', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
                $refund->cryptoAmount,
                $refund->cryptocurrency,
                (string) $refund->claimUrl
            ),
            RefundStatus::COMPLETED => sprintf(
                /* translators: 1: id of the refund, 2: hash of the on-chain transaction */
                __('Refund %1$s was paid: %2$s', 'ballast-for-woocommerce'),
                $refund->id,
                (string) $refund->transactionHash
            ),
            default => sprintf(
                /* translators: 1: id of the refund, 2: why */
                __('Refund %1$s failed; the money is back in your balance: %2$s', 'ballast-for-woocommerce'),
                $refund->id,
                (string) ($refund->failureMessage ?? $refund->failureCode)
            ),
        };
    }
}
