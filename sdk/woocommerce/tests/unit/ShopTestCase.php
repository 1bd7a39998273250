<?php

declare(strict_types=1);

namespace Ballast\WooCommerce\Tests;

use Ballast\Webhook;
use Ballast\WooCommerce\Gateway;
use Ballast\WooCommerce\Listener;
use Ballast\WooCommerce\Orders;
use Ballast\WooCommerce\Settings;
use PHPUnit\Framework\TestCase;
use WC_Order;
use World;

/** A connected shop. */
abstract class ShopTestCase extends TestCase
{
    protected FakeApi $api;

    protected function setUp(): void
    {
        World::reset();
        World::$api = $this->api = new FakeApi();
        World::$options['woocommerce_ballast_settings'] = [
            'enabled' => 'yes', 'url' => 'https://pay.example.com', 'public_key' => 'pk_test_1',
            'secret_key' => 'sk_test_1', 'minutes' => '30',
        ];
        self::assertNull(Settings::connect());
        $this->api->log = [];
    }

    protected function order(string $total = '25.50', string $method = 'ballast'): WC_Order
    {
        $order = new WC_Order(['total' => $total, 'method' => $method]);
        $order->save();
        return $order;
    }

    /** An order whose payment was begun; the id of the payment. */
    protected function begun(WC_Order $order): string
    {
        self::assertSame('success', (new Gateway())->process_payment($order->get_id())['result']);
        return $this->newest($order);
    }

    protected function newest(WC_Order $order): string
    {
        $ids = Orders::payments(wc_get_order($order->get_id()));
        return end($ids);
    }

    /** @param array<string, mixed> $fields */
    protected function becomes(string $id, array $fields): void
    {
        $this->api->records[$id] = $fields + $this->api->records[$id];
    }

    /** Sends an event of a record as it is now, or was; returns the status of the reply. */
    protected function event(string $type, string $id, array $as = [], string $secret = FakeApi::SECRET): int
    {
        $body = (string) json_encode([
            'id' => 'evt_' . bin2hex(random_bytes(4)), 'object' => 'event', 'type' => $type, 'version' => 1,
            'createdAt' => '2027-01-31T09:30:00.000Z', 'data' => ['object' => $as + $this->api->records[$id]],
        ]);
        $now = time();
        return (new Listener(new Orders()))->receive($body, [
            'HTTP_WEBHOOK_ID' => 'evt_1',
            'HTTP_WEBHOOK_TIMESTAMP' => (string) $now,
            'HTTP_WEBHOOK_SIGNATURE' => (new Webhook($secret))->sign('evt_1', $now, $body),
        ]);
    }

    protected function status(WC_Order $order): string
    {
        return wc_get_order($order->get_id())->get_status();
    }
}
