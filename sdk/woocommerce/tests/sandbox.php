<?php

/** Runs the gateway against a real sandbox, without WordPress, in `make sdk`. `shop/run.py` has WordPress and a browser. */

declare(strict_types=1);

use Ballast\Ballast;
use Ballast\WooCommerce\Gateway;
use Ballast\WooCommerce\Orders;
use Ballast\WooCommerce\Settings;

require __DIR__ . '/autoload.php';

function same(mixed $expected, mixed $actual, string $what): void
{
    if ($expected !== $actual) {
        fwrite(STDERR, "$what: expected " . json_encode($expected) . ', got ' . json_encode($actual) . "\n");
        fwrite(STDERR, implode("\n", $GLOBALS['mini_log'] ?? []) . "\n");
        exit(1);
    }
}

function becomes(int $order, string $status): void
{
    for ($ends = microtime(true) + 60; microtime(true) < $ends; usleep(200_000)) {
        (new Orders())->refreshQuietly($order);
        if (wc_get_order($order)->get_status() === $status) {
            return;
        }
    }
    same($status, wc_get_order($order)->get_status(), "the status of order $order");
}

function begun(string $total): WC_Order
{
    $order = new WC_Order(['total' => $total, 'method' => 'ballast', 'key' => bin2hex(random_bytes(8))]);
    $order->save();
    same('success', (new Gateway())->process_payment($order->get_id())['result'], 'the checkout');
    return wc_get_order($order->get_id());
}

World::reset();
World::$options['woocommerce_ballast_settings'] = [
    'enabled' => 'yes',
    'url' => (string) getenv('BALLAST_URL'),
    'public_key' => (string) getenv('BALLAST_PUBLIC_KEY'),
    'secret_key' => (string) getenv('BALLAST_SECRET_KEY'),
];
same(null, Settings::connect(), 'the test of the connection');
same(null, Settings::connect(), 'the same again');
$ballast = new Ballast();
$simulate = static function (WC_Order $order, string $scenario) use ($ballast): void {
    $ids = Orders::payments($order);
    $ballast->payments->simulate(end($ids), scenario: $scenario);
};

$order = begun('25.50');
(new Orders())->refresh($order->get_id());
same('pending', $order->get_status(), 'an order whose payment waits');
$simulate($order, 'exact');
becomes($order->get_id(), 'processing');
same(true, wc_create_refund(['order_id' => $order->get_id(), 'amount' => '5.00', 'reason' => 'broken']), 'a refund');
same(true, wc_create_refund(['order_id' => $order->get_id(), 'amount' => '20.50']), 'the rest');
same('refunded', wc_get_order($order->get_id())->get_status(), 'an order that is refunded in full');
$tooMuch = wc_create_refund(['order_id' => $order->get_id(), 'amount' => '1.00']);
same(true, $tooMuch instanceof WP_Error, 'a refund of more than was paid');

$short = begun('10.00');
$simulate($short, 'underpaid');
becomes($short->get_id(), 'on-hold');
$simulate($short, 'exact');
becomes($short->get_id(), 'processing');

$late = begun('10.00');
$simulate($late, 'late');
becomes($late->get_id(), 'on-hold');
$ids = Orders::payments($late);
for ($ends = time() + 60; ($found = $ballast->payments->discrepancies($ids[0])->data) === [] && time() < $ends;) {
    usleep(250_000); // the late money is seen before it is confirmed
}
$discrepancy = $found[0];
$ballast->payments->acceptDiscrepancy($ids[0], $discrepancy->id);
becomes($late->get_id(), 'processing');

$ended = begun('10.00');
$ballast->payments->cancel(Orders::payments($ended)[0]);
becomes($ended->get_id(), 'failed');
same('success', (new Gateway())->process_payment($ended->get_id())['result'], 'a second payment of the same order');
same(2, count(Orders::payments(wc_get_order($ended->get_id()))), 'payments of the order');

$undone = begun('10.00');
$simulate($undone, 'reorg');
becomes($undone->get_id(), 'processing');

foreach ($ballast->webhooks->list() as $webhook) {
    if (str_starts_with($webhook->url, 'https://shop.example')) {
        $ballast->webhooks->delete($webhook->id);
    }
}
echo "orders paid, refunded, short, late, ended and undone in the sandbox\n";
