<?php

declare(strict_types=1);

namespace Ballast\WooCommerce\Tests;

use Ballast\WooCommerce\Gateway;
use Ballast\WooCommerce\Orders;
use Ballast\WooCommerce\Plugin;
use Ballast\WooCommerce\Settings;
use World;

final class OrdersTest extends ShopTestCase
{
    public function testAPaymentIsOfTheOrdersPrice(): void
    {
        $order = $this->order('25.50');
        $result = (new Gateway())->process_payment($order->get_id());
        [$payment] = $this->api->all('payment');
        self::assertSame(['result' => 'success', 'redirect' => $payment['url']], $result);
        self::assertSame([25.5, 'EUR', 1800], [$payment['amount'], $payment['currency'], $payment['expiresIn']]);
        self::assertStringContainsString("order={$order->get_id()}", $payment['redirectUrl']);
        self::assertSame([$payment['id']], Orders::payments(wc_get_order($order->get_id())));
    }

    public function testGoingBackAndDoubleClicksMakeOnePayment(): void
    {
        $order = $this->order();
        $first = $this->begun($order);
        self::assertSame($first, $this->begun($order));
        $forgotten = wc_get_order($order->get_id());
        $forgotten->update_meta_data(Orders::PAYMENTS, []);
        $forgotten->save();
        self::assertSame($first, $this->begun($order), 'a request whose reply was lost');
        self::assertCount(1, $this->api->all('payment'));
    }

    public function testAnotherPriceEndsTheOldPayment(): void
    {
        $order = $this->order('25.50');
        $first = $this->begun($order);
        $order = wc_get_order($order->get_id());
        $order->set_total('30.00');
        $order->save();
        $second = $this->begun($order);
        self::assertNotSame($first, $second);
        self::assertSame('cancelled', $this->api->records[$first]['status']);
        self::assertEquals(30, $this->api->records[$second]['amount']);
        self::assertSame(204, $this->event('payment.cancelled', $first));
        self::assertSame('pending', $this->status($order), 'the end of an older payment fails nothing');
    }

    public function testAnExpiredPaymentIsFollowedByANewOne(): void
    {
        $order = $this->order();
        $first = $this->begun($order);
        $this->becomes($first, ['status' => 'expired']);
        self::assertSame(204, $this->event('payment.expired', $first));
        self::assertSame('failed', $this->status($order));
        $second = $this->begun($order);
        self::assertNotSame($first, $second);
        $this->becomes($second, ['status' => 'completed']);
        $this->event('payment.completed', $second);
        self::assertSame('processing', $this->status($order));
        $this->becomes($first, ['status' => 'expired', 'statusReasons' => ['late']]);
        $this->event('payment.late', $first);
        self::assertSame('processing', $this->status($order));
    }

    /** @return iterable<string, array{array<string, mixed>, string}> what a payment is, and the order's total then */
    public function moneyThatCame(): iterable
    {
        yield 'seen' => [['status' => 'pending'], '25.50'];
        yield 'paid' => [['status' => 'completed'], '25.50'];
        yield 'late' => [['status' => 'expired', 'statusReasons' => ['late']], '25.50'];
        yield 'seen, for another price' => [['status' => 'pending'], '30.00'];
        yield 'short, and over' => [['status' => 'underpaid', 'closedAt' => '2026-01-22T10:11:00.000Z'], '25.50'];
        yield 'short, for another price' => [['status' => 'underpaid'], '30.00'];
        yield 'paid, for another price' => [['status' => 'completed'], '30.00'];
        yield 'unknown' => [['status' => 'on_the_moon'], '25.50'];
    }

    /**
     * @dataProvider moneyThatCame
     * @param array<string, mixed> $fields
     */
    public function testMoneyThatCameIsNotAskedForAgain(array $fields, string $total): void
    {
        $order = $this->order('25.50');
        $this->becomes($this->begun($order), $fields);
        $order = wc_get_order($order->get_id());
        $order->set_total($total);
        $order->save();
        $result = (new Gateway())->process_payment($order->get_id());
        self::assertSame('success', $result['result']);
        self::assertStringContainsString("mini=received&order={$order->get_id()}", $result['redirect']);
        self::assertCount(1, $this->api->all('payment'));
    }

    public function testAPaymentThatCannotBeCancelledAnyMoreIsNotFollowedByAnother(): void
    {
        $order = $this->order('25.50');
        $payment = $this->begun($order);
        $order = wc_get_order($order->get_id());
        $order->set_total('30.00');
        $order->save();
        $this->api->beforeCancel[$payment] = ['status' => 'pending'];
        $result = (new Gateway())->process_payment($order->get_id());
        self::assertStringContainsString('mini=received', $result['redirect']);
        self::assertCount(1, $this->api->all('payment'));
        $this->becomes($payment, ['status' => 'created']);
        $this->api->beforeCancel[$payment] = ['status' => 'expired'];
        self::assertNotSame($payment, $this->begun($order), 'one that ended by itself is');
    }

    public function testTheApiIsBelievedAndNotTheEvent(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        $this->becomes($payment, ['status' => 'completed', 'amountReceived' => '29.58']);
        self::assertSame(204, $this->event('payment.expired', $payment, ['status' => 'expired']));
        self::assertSame('processing', $this->status($order), 'an event that comes late');
        self::assertSame(204, $this->event('payment.completed', $payment));
        $order = wc_get_order($order->get_id());
        self::assertSame([$payment, 1], [$order->get_transaction_id(), $order->stock()]);
        self::assertCount(1, $order->notes());
        self::assertSame(1, count(array_keys(World::$actions, 'woocommerce_payment_complete')));
    }

    public function testNothingIsDoneWithoutTheApiAndTheEventComesAgain(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        $this->becomes($payment, ['status' => 'completed']);
        $this->api->isAway = true;
        self::assertSame(503, $this->event('payment.completed', $payment));
        self::assertSame('pending', $this->status($order));
        $this->api->isAway = false;
        World::$isLocked = true;
        self::assertSame(503, $this->event('payment.completed', $payment));
        self::assertSame('pending', $this->status($order));
        World::$isLocked = false;
        World::$options['woocommerce_ballast_settings']['secret_key'] = '';
        self::assertSame(503, $this->event('payment.completed', $payment), 'no key yet, as while it is changed');
        World::$options['woocommerce_ballast_settings']['secret_key'] = 'sk_test_1';
        self::assertSame(204, $this->event('payment.completed', $payment));
        self::assertSame('processing', $this->status($order));
    }

    public function testAShopIsTheSameByWhateverNameItIsAsked(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        self::assertSame('https://shop.example', $this->api->records[$payment]['metadata']['shop']);
        World::$homeUrl = 'http://www.shop.example/de';
        $forgotten = wc_get_order($order->get_id());
        $forgotten->update_meta_data(Orders::PAYMENTS, []);
        $forgotten->save();
        self::assertSame($payment, $this->begun($order));
        $this->becomes($payment, ['status' => 'completed']);
        self::assertSame(204, $this->event('payment.completed', $payment));
        self::assertSame('processing', $this->status($order));
    }

    public function testAnOrderIsReadAnewUnderItsLock(): void
    {
        $order = $this->order();
        $this->begun($order);
        self::assertContains("uncached {$order->get_id()}", World::$actions);
    }

    public function testAnOldSecretBesideTheRightOneIsNotToldAsARefusal(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        $secrets = ['whsec_b3RoZXI=', FakeApi::SECRET];
        World::$options[Settings::CONNECTION]['secrets'] = $secrets;
        $GLOBALS['mini_log'] = [];
        self::assertSame(204, $this->event('payment.created', $payment));
        self::assertStringNotContainsString('refused', implode($GLOBALS['mini_log']));
        self::assertSame(400, $this->event('payment.created', $payment, secret: 'whsec_bm9uZQ=='));
        self::assertSame(1, substr_count(implode($GLOBALS['mini_log']), 'refused'));
    }

    public function testOtherKeysDoNotKnowTheOldPayment(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        unset($this->api->records[$payment]);
        self::assertTrue((new Orders())->mayCancelUnpaid(true, wc_get_order($order->get_id())));
        self::assertNotSame($payment, $this->begun($order));
    }

    public function testForeignEventsDoNothing(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        $this->becomes($payment, ['status' => 'completed']);
        self::assertSame(400, $this->event('payment.completed', $payment, secret: 'whsec_b3RoZXI='));
        $other = ['metadata' => ['shop' => 'https://other.example', 'orderId' => 1]];
        self::assertSame(204, $this->event('payment.completed', $payment, $other));
        $unknown = ['metadata' => ['shop' => 'https://shop.example', 'orderId' => 99]];
        self::assertSame(204, $this->event('payment.completed', $payment, $unknown));
        self::assertSame(204, $this->event('payment.completed', $payment, ['id' => 'pay_of_another_order']));
        self::assertSame(204, $this->event('payment.completed', $payment, ['metadata' => []]));
        self::assertSame('pending', $this->status($order));
        self::assertSame(204, $this->event('payment.completed', $payment));
        self::assertSame('processing', $this->status($order));
    }

    public function testACustomerWhoTookAnotherGateway(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        $order = wc_get_order($order->get_id());
        $order->set_payment_method('card');
        $order->payment_complete('ch_1');
        $this->becomes($payment, ['status' => 'expired']);
        $this->event('payment.expired', $payment);
        self::assertSame('processing', $this->status($order));
        $this->becomes($payment, ['status' => 'completed']);
        $this->event('payment.completed', $payment);
        $this->event('payment.completed', $payment);
        $order = wc_get_order($order->get_id());
        self::assertSame(['processing', 'ch_1'], [$order->get_status(), $order->get_transaction_id()]);
        self::assertCount(1, $order->notes());
        self::assertStringContainsString('paid twice', $order->notes()[0]);
    }

    public function testACancelledOrderThatIsPaidAfterAll(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        $order = wc_get_order($order->get_id());
        $order->update_status('cancelled');
        $this->becomes($payment, ['status' => 'completed']);
        $this->event('payment.completed', $payment);
        self::assertSame(['processing', 1], [$this->status($order), wc_get_order($order->get_id())->stock()]);
    }

    public function testFromSeenToPaidThroughAReorganisation(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        foreach (
            [
                ['pending', 'on-hold'], ['completed', 'processing'], ['created', 'on-hold'], ['pending', 'on-hold'],
                ['completed', 'processing'], ['partially_refunded', 'processing'], ['refunded', 'refunded'],
            ] as [$now, $then]
        ) {
            $completedAt = in_array($then, ['processing', 'refunded'], true) ? '2026-01-22T09:41:00.000Z' : null;
            $this->becomes($payment, ['status' => $now, 'completedAt' => $completedAt]);
            $this->event('payment.updated', $payment);
            self::assertSame($then, $this->status($order), $now);
        }
    }

    public function testAShortPaymentWaitsForADecision(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        $this->becomes($payment, ['status' => 'underpaid', 'amountReceived' => '10.000000']);
        $this->event('payment.underpaid', $payment);
        $this->event('payment.underpaid', $payment);
        $order = wc_get_order($order->get_id());
        self::assertSame(['on-hold', 1], [$order->get_status(), count($order->notes())]);
        self::assertStringContainsString('10.000000 of 20.000000 USDC', $order->notes()[0]);
    }

    public function testAPaymentThatIsUndoneForGoodGivesTheStockBack(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        foreach ([['pending', 'on-hold', 1], ['expired', 'failed', 0]] as [$now, $then, $stock]) {
            $this->becomes($payment, ['status' => $now]);
            $this->event('payment.updated', $payment);
            self::assertSame([$then, $stock], [$this->status($order), wc_get_order($order->get_id())->stock()]);
        }
    }

    public function testAnOrderThatWasChangedAfterwardsIsNotPaidByLess(): void
    {
        $order = $this->order('25.50');
        $payment = $this->begun($order);
        $order = wc_get_order($order->get_id());
        $order->set_total('99.00');
        $order->save();
        $this->becomes($payment, ['status' => 'completed']);
        $this->event('payment.completed', $payment);
        self::assertSame('on-hold', $this->status($order));
        self::assertStringContainsString('25.5 EUR', wc_get_order($order->get_id())->notes()[0]);
    }

    public function testTheHourlyCheckFindsWhatNoWebhookTold(): void
    {
        $order = $this->order();
        $other = $this->order(method: 'card');
        $this->becomes($this->begun($order), ['status' => 'completed']);
        (new Orders())->refreshOpen();
        self::assertSame(['processing', 'pending'], [$this->status($order), $this->status($other)]);
    }

    public function testTheHourlyCheckFindsOrdersThatWerePaidAfterTheirEnd(): void
    {
        foreach (['failed', 'cancelled'] as $status) {
            $order = $this->order();
            $this->becomes($this->begun($order), ['status' => 'completed']);
            wc_get_order($order->get_id())->update_status($status);
            (new Orders())->refreshOpen();
            self::assertSame('processing', $this->status($order), $status);
        }
    }

    public function testAPaidOrderThatTheShopPutOnHoldStaysThere(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        foreach ([['completed', 'processing'], ['pending', 'on-hold'], ['completed', 'processing']] as [$now, $then]) {
            $this->becomes($payment, ['status' => $now]);
            (new Orders())->refresh($order->get_id());
            self::assertSame($then, $this->status($order));
        }
        wc_get_order($order->get_id())->update_status('on-hold');
        (new Orders())->refreshOpen();
        self::assertSame('on-hold', $this->status($order));
    }

    public function testAnOrderThatTheShopReleasedIsNotReleasedAgain(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        foreach (['completed', 'pending'] as $now) {
            $this->becomes($payment, ['status' => $now]);
            (new Orders())->refresh($order->get_id());
        }
        wc_get_order($order->get_id())->update_status('processing');
        $this->becomes($payment, ['status' => 'completed']);
        (new Orders())->refresh($order->get_id());
        wc_get_order($order->get_id())->update_status('on-hold');
        (new Orders())->refreshOpen();
        self::assertSame('on-hold', $this->status($order));
    }

    public function testAPaymentThatWasUndoneForGoodAndCameBackPays(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        foreach (
            [
                ['completed', 'processing'], ['created', 'on-hold'], ['expired', 'failed'], ['completed', 'processing'],
            ] as [$now, $then]
        ) {
            $this->becomes($payment, ['status' => $now]);
            (new Orders())->refresh($order->get_id());
            self::assertSame($then, $this->status($order), $now);
        }
    }

    public function testWooCommerceDoesNotCancelWhatCanStillBePaid(): void
    {
        $order = $this->order();
        $payment = $this->begun($order);
        $order = wc_get_order($order->get_id());
        $orders = new Orders();
        self::assertFalse($orders->mayCancelUnpaid(true, $order));
        $this->becomes($payment, ['status' => 'expired']);
        self::assertTrue($orders->mayCancelUnpaid(true, $order));
        foreach ([['status' => 'completed'], ['status' => 'expired', 'statusReasons' => ['late']]] as $fields) {
            $this->becomes($payment, $fields);
            self::assertFalse($orders->mayCancelUnpaid(true, $order), 'money came');
        }
        $this->api->isAway = true;
        self::assertFalse($orders->mayCancelUnpaid(true, $order), 'who does not know does not cancel');
        World::$options['woocommerce_ballast_settings']['secret_key'] = '';
        self::assertFalse($orders->mayCancelUnpaid(true, $order), 'nor without keys');
        self::assertTrue($orders->mayCancelUnpaid(true, $this->order(method: 'card')));
    }

    public function testARefundFromTheOrdersPage(): void
    {
        $order = $this->order('25.50');
        $payment = $this->begun($order);
        $this->becomes($payment, ['status' => 'completed']);
        $this->event('payment.completed', $payment);
        $this->api->isAway = true;
        $refused = wc_create_refund(['order_id' => $order->get_id(), 'amount' => '5.00']);
        self::assertInstanceOf(\WP_Error::class, $refused);
        $this->api->isAway = false;
        $refunded = wc_create_refund(['order_id' => $order->get_id(), 'amount' => '5.00', 'reason' => 'broken']);
        self::assertTrue($refunded);
        wc_create_refund(['order_id' => $order->get_id(), 'amount' => '5.00', 'reason' => 'broken']);
        $refunds = $this->api->all('refund');
        self::assertCount(2, $refunds, 'two of the same amount are two');
        self::assertEquals([$payment, 5, 'broken'], [
            $refunds[0]['paymentId'], $refunds[0]['amount'], $refunds[0]['reason'],
        ]);
        $claim = 'https://pay.example.com/refund/secret';
        $this->becomes($refunds[0]['id'], ['status' => 'requires_action', 'claimUrl' => $claim]);
        $this->event('refund.requires_action', $refunds[0]['id'], ['claimUrl' => null]);
        $this->event('refund.requires_action', $refunds[0]['id'], ['claimUrl' => null]);
        self::assertCount(1, wc_get_order($order->get_id())->mails());
        self::assertStringContainsString($claim, wc_get_order($order->get_id())->mails()[0]);
        $this->becomes($refunds[0]['id'], ['status' => 'failed', 'failureMessage' => 'No trustline.']);
        $this->event('refund.failed', $refunds[0]['id']);
        $notes = wc_get_order($order->get_id())->notes();
        self::assertStringContainsString('No trustline.', end($notes));
    }

    /** A refund by the order's page: true, or what went wrong. */
    private function refund(\WC_Order $order, string $amount): bool|string
    {
        $result = wc_create_refund(['order_id' => $order->get_id(), 'amount' => $amount]);
        return $result instanceof \WP_Error ? $result->get_error_message() : $result;
    }

    public function testARefundIsSentAsOftenAsItIsBooked(): void
    {
        $order = $this->order();
        $this->becomes($this->begun($order), ['status' => 'completed']);
        (new Orders())->refresh($order->get_id());
        self::assertTrue($this->refund($order, '5.00'));
        $this->becomes($this->api->all('refund')[0]['id'], ['status' => 'failed']);
        $order = wc_get_order($order->get_id());
        $order->set_refunds([]);
        $order->save();
        self::assertTrue($this->refund($order, '5.00'));
        self::assertCount(2, $this->api->all('refund'), 'again, after the record of the failed one was deleted');

        $this->api->losesReplies = true;
        self::assertStringContainsString('same amount', (string) $this->refund($order, '6.00'));
        $this->api->losesReplies = false;
        $order = wc_get_order($order->get_id());
        $order->set_refunds([...$order->get_refunds(), ['amount' => '1.00', 'reason' => 'by hand']]);
        $order->save();
        self::assertTrue($this->refund($order, '6.00'));
        self::assertCount(3, $this->api->all('refund'), 'the repetition of one whose reply was lost');
    }

    public function testAnOrderOfAnotherGatewayIsNotRefundedHere(): void
    {
        $order = $this->order(method: 'card');
        $order->payment_complete('ch_1');
        $result = wc_create_refund(['order_id' => $order->get_id(), 'amount' => '5.00']);
        self::assertInstanceOf(\WP_Error::class, $result);
        self::assertSame([[], []], [$this->api->log, wc_get_order($order->get_id())->get_refunds()]);
    }

    public function testSavingTestsTheConnectionAndRegistersOneWebhook(): void
    {
        $gateway = new Gateway();
        self::assertTrue($gateway->is_available());
        foreach ($gateway->settings as $name => $value) {
            $_POST["woocommerce_ballast_$name"] = $value;
        }
        $gateway->process_admin_options();
        self::assertStringContainsString('to the sandbox', $GLOBALS['mini_notices'][0]);
        self::assertCount(1, $this->api->all('webhook'));
        unset($this->api->records[$this->api->all('webhook')[0]['id']]);
        $gateway->process_admin_options();
        self::assertCount(1, $this->api->all('webhook'), 'one that was deleted in Ballast is made again');
        $GLOBALS['mini_notices'] = ['message'];
        $_POST['woocommerce_ballast_secret_key'] = 'sk_test_wrong';
        $this->api->refusal = 'Wrong secret key.';
        $gateway->process_admin_options();
        self::assertStringContainsString('Wrong secret key.', $GLOBALS['mini_notices'][1]);
        self::assertFalse((new Gateway())->is_available(), 'keys that were not tested take no payments');
        $this->api->refusal = null;
        self::assertNull(Settings::connect());
        World::$options['mini_currency'] = 'XAU';
        self::assertFalse((new Gateway())->is_available(), 'a currency without a rate');
    }

    public function testTheCheckoutSaysThatItDoesNotWork(): void
    {
        $order = $this->order();
        $this->api->isAway = true;
        self::assertSame(['result' => 'failure'], (new Gateway())->process_payment($order->get_id()));
        self::assertStringStartsWith('error: This way of paying does not work now', $GLOBALS['mini_notices'][0]);
        self::assertSame('pending', $this->status($order));
    }

    public function testTheBlockIsRegisteredHoweverEarlyBlocksAreLoaded(): void
    {
        Plugin::start('/plugins/ballast-for-woocommerce/ballast-for-woocommerce.php');
        self::assertArrayHasKey('woocommerce_blocks_loaded', World::$hooks);
    }

    public function testUninstallTakesTheKeysAway(): void
    {
        define('WP_UNINSTALL_PLUGIN', 'ballast');
        require dirname(__DIR__, 2) . '/plugin/uninstall.php';
        self::assertSame([], World::$options);
        self::assertContains('cleared ballast_check_open_orders', World::$actions);
    }
}
