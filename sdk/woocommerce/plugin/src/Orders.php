<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

use Automattic\WooCommerce\Caches\OrderCache;
use Ballast\Enum\RefundStatus;
use Ballast\Error\BallastError;
use Ballast\Error\NotFoundError;
use Ballast\Model\Payment;
use Ballast\Model\Refund;

/** Brings an order to where its payment is: reads the payment from the API under a lock of the order, and acts by the table. */
final class Orders
{
    /** Ids of all payments that were made for the order, the newest last. */
    public const PAYMENTS = '_ballast_payments';
    /** Ids of all refunds that were made from the order's page. */
    public const REFUNDS = '_ballast_refunds';
    /** The payment that paid the order and was undone by the network: when it is back, the order is paid again. */
    private const HELD = '_ballast_held';
    /** What was said already, so that it is said once. */
    private const NOTED = '_ballast_noted';
    private const LOCK_SECONDS = 10;

    /**
     * Does something with an order while nobody else does. The order is read anew: what was loaded before may be old.
     *
     * @template T
     * @param callable(\WC_Order): T $work
     * @return T
     * @throws Busy when somebody else has it for too long
     */
    public function withLock(int $orderId, callable $work): mixed
    {
        global $wpdb;
        $name = substr(md5($wpdb->prefix . DB_NAME), 0, 16) . "_ballast_$orderId";
        $got = $wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, %d)', $name, self::LOCK_SECONDS));
        if ((string) $got !== '1') {
            throw new Busy("Order $orderId is in use.");
        }
        try {
            clean_post_cache($orderId);
            wp_cache_delete($orderId, 'orders');
            wp_cache_delete("order-$orderId", 'orders');
            wp_cache_delete($orderId, 'post_meta');
            if (class_exists(OrderCache::class)) {
                wc_get_container()->get(OrderCache::class)->remove($orderId);
            }
            $order = wc_get_order($orderId);
            if (!$order instanceof \WC_Order) {
                throw new \InvalidArgumentException("There is no order $orderId.");
            }
            return $work($order);
        } finally {
            $wpdb->get_var($wpdb->prepare('SELECT RELEASE_LOCK(%s)', $name));
        }
    }

    /**
     * Reads the order's payments from the API, and acts on them.
     *
     * @param string|null $paymentId that of an event; else the newest
     * @throws BallastError
     */
    public function refresh(int $orderId, ?string $paymentId = null): void
    {
        $this->withLock($orderId, function (\WC_Order $order) use ($paymentId): void {
            $ids = self::payments($order);
            $paymentId ??= end($ids) ?: null;
            if ($paymentId !== null && in_array($paymentId, $ids, true)) {
                $this->apply($order, Settings::client()->payments->get($paymentId), $paymentId === end($ids));
            }
        });
    }

    /** The same where a fault must not be seen: a payer's page. The webhook or the hourly check comes later. */
    public function refreshQuietly(int $orderId): void
    {
        try {
            $this->refresh($orderId);
        } catch (BallastError | Busy | \InvalidArgumentException $error) {
            Log::write('warning', "Order $orderId was not brought up to date: {$error->getMessage()}");
        }
    }

    /** Every hour: orders that wait, and those that ended lately, in case that webhooks do not arrive. */
    public function refreshOpen(): void
    {
        foreach ([[['pending', 'on-hold'], 14], [['failed', 'cancelled'], 2]] as [$statuses, $days]) {
            $orders = wc_get_orders([
                'payment_method' => Plugin::ID,
                'status' => $statuses,
                'date_created' => '>' . (time() - $days * DAY_IN_SECONDS),
                'limit' => 100,
                'return' => 'ids',
            ]);
            foreach ($orders as $id) {
                $this->refreshQuietly((int) $id);
            }
        }
    }

    /** WooCommerce cancels unpaid orders after the time of its stock: only those whose payments ended without money. */
    public function mayCancelUnpaid(mixed $may, mixed $order): bool
    {
        $ids = $order instanceof \WC_Order && $order->get_payment_method() === Plugin::ID ? self::payments($order) : [];
        if (!$may || $ids === []) {
            return (bool) $may;
        }
        try {
            $payments = array_filter(array_map(self::find(...), $ids));
        } catch (BallastError | \InvalidArgumentException) {
            return false;
        }
        foreach ($payments as $payment) {
            if (Table::fact($payment, Money::total($order), $order->get_currency()) !== 'over') {
                return false;
            }
        }
        return true;
    }

    /** The payment, or null where the keys know none, as after they were changed. */
    public static function find(string $id): ?Payment
    {
        try {
            return Settings::client()->payments->get($id);
        } catch (NotFoundError) {
            return null;
        }
    }

    /** @return list<string> */
    public static function payments(\WC_Order $order): array
    {
        $ids = $order->get_meta(self::PAYMENTS);
        return is_array($ids) ? array_values(array_filter($ids, is_string(...))) : [];
    }

    private function apply(\WC_Order $order, Payment $payment, bool $isCurrent): void
    {
        $total = Money::total($order);
        $fact = Table::fact($payment, $total, $order->get_currency());
        $paidByThis = $order->get_transaction_id() === $payment->id;
        $isOurs = $order->get_payment_method() === Plugin::ID;
        $isHeld = $order->get_meta(self::HELD) === $payment->id;
        $action = Table::action($fact, $order->get_status(), $paidByThis, $isOurs, $isCurrent, $isHeld);
        $note = Texts::note($fact, $payment, $order, $paidByThis);
        Log::write('info', "Order {$order->get_id()}, {$payment->id}: $fact, $action");
        if ($isHeld && $fact === 'paid') {
            $order->delete_meta_data(self::HELD);
            if ($action === Table::NONE) {
                $order->save();
            }
        }
        switch ($action) {
            case Table::PAY:
                if (!$isOurs) {
                    $order->set_payment_method(Plugin::ID);
                }
                $this->note($order, $payment, $fact, $note);
                $order->payment_complete($payment->id);
                break;
            case Table::HOLD:
                self::isNew($order, $payment, $fact);
                if ($paidByThis) {
                    $order->update_meta_data(self::HELD, $payment->id);
                }
                $order->update_status('on-hold', $note);
                break;
            case Table::FAIL:
                self::isNew($order, $payment, $fact);
                $order->update_status('failed', $note);
                // WooCommerce leaves taken stock with a failed order, which an order on hold has.
                wc_maybe_increase_stock_levels($order);
                break;
            case Table::REFUND:
                self::isNew($order, $payment, $fact);
                $order->update_status('refunded', $note);
                break;
            case Table::NOTE:
                $this->note($order, $payment, $fact, $note);
                break;
        }
        foreach ($payment->statusReasons as $reason) {
            $text = Texts::reason($reason, $payment);
            if ($text !== null) {
                $this->note($order, $payment, $reason, $text);
            }
        }
    }

    /** Tells the shop what became of a refund, and the customer where to name an address. */
    public function applyRefund(int $orderId, string $refundId): void
    {
        $this->withLock($orderId, function (\WC_Order $order) use ($refundId): void {
            $refund = Settings::client()->refunds->get($refundId);
            if (in_array($refund->paymentId, self::payments($order), true)) {
                $this->tellOfRefund($order, $refund);
            }
        });
    }

    public function tellOfRefund(\WC_Order $order, Refund $refund): void
    {
        $known = [RefundStatus::REQUIRES_ACTION, RefundStatus::COMPLETED, RefundStatus::FAILED];
        if (!in_array($refund->status, $known, true)) {
            return;
        }
        $isForCustomer = $refund->status === RefundStatus::REQUIRES_ACTION;
        if ($isForCustomer && $refund->claimUrl === null) {
            return;
        }
        $this->note($order, $refund, $refund->status, Texts::refund($refund), $isForCustomer);
    }

    private function note(\WC_Order $order, Payment|Refund $about, string $what, string $text, bool $mail = false): void
    {
        if (self::isNew($order, $about, $what)) {
            $order->save();
            $order->add_order_note($text, $mail ? 1 : 0);
        }
    }

    /** Whether the order's notes do not have it yet. From now on they do: save the order. */
    private static function isNew(\WC_Order $order, Payment|Refund $about, string $what): bool
    {
        $noted = $order->get_meta(self::NOTED);
        $noted = is_array($noted) ? $noted : [];
        $key = "{$about->id} $what";
        if (in_array($key, $noted, true)) {
            return false;
        }
        $order->update_meta_data(self::NOTED, [...$noted, $key]);
        return true;
    }
}
