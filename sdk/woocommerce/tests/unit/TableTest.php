<?php

declare(strict_types=1);

namespace Ballast\WooCommerce\Tests;

use Ballast\Model\Payment;
use Ballast\WooCommerce\Table;
use PHPUnit\Framework\TestCase;

final class TableTest extends TestCase
{
    private const STATES = [
        'pending', 'failed', 'on-hold', 'cancelled', 'processing', 'completed', 'refunded', 'custom',
    ];
    private const FACTS = ['open', 'seen', 'short', 'paid', 'other price', 'over', 'late', 'refunded', 'unknown'];

    public function testNoRowTakesBackWhatAnotherGatewayOrPaymentHasPaid(): void
    {
        foreach (self::FACTS as $fact) {
            foreach (['processing', 'completed', 'refunded', 'custom'] as $status) {
                foreach ([[true, true], [true, false], [false, true], [false, false]] as [$isOurs, $isCurrent]) {
                    $action = Table::action($fact, $status, false, $isOurs, $isCurrent);
                    self::assertContains($action, [Table::NONE, Table::NOTE], "$fact, $status");
                }
            }
        }
    }

    public function testOnlyACompletePaymentOfTheRightPricePays(): void
    {
        foreach (self::FACTS as $fact) {
            foreach (self::STATES as $status) {
                $action = Table::action($fact, $status, false, true, true);
                self::assertSame(
                    $fact === 'paid' && in_array($status, ['pending', 'failed', 'on-hold', 'cancelled'], true),
                    $action === Table::PAY,
                    "$fact, $status"
                );
            }
        }
    }

    public function testAnEndedPaymentFailsOnlyItsOwnOrder(): void
    {
        self::assertSame(Table::FAIL, Table::action('over', 'pending', false, true, true));
        self::assertSame(Table::NONE, Table::action('over', 'pending', false, false, true), 'another gateway');
        self::assertSame(Table::NONE, Table::action('over', 'pending', false, true, false), 'a newer payment');
        self::assertSame(Table::NONE, Table::action('over', 'cancelled', false, true, true));
    }

    public function testWhatTheNetworkUndoesIsHeldUntilItWasShipped(): void
    {
        foreach (['open', 'seen', 'short', 'over', 'late'] as $fact) {
            self::assertSame(Table::HOLD, Table::action($fact, 'processing', true, true, true), $fact);
            self::assertSame(Table::NOTE, Table::action($fact, 'completed', true, true, true), $fact);
            self::assertSame(Table::NONE, Table::action($fact, 'refunded', true, true, true), $fact);
        }
        self::assertSame(Table::PAY, Table::action('paid', 'on-hold', true, true, true, true), 'mined again');
        self::assertSame(Table::NONE, Table::action('paid', 'on-hold', true, true, true), 'held by the shop');
        self::assertSame(Table::NONE, Table::action('paid', 'processing', true, true, true), 'told twice');
    }

    /** @return iterable<string, array{array<string, mixed>, string}> */
    public function payments(): iterable
    {
        yield 'created' => [['status' => 'created'], 'open'];
        yield 'seen' => [['status' => 'pending'], 'seen'];
        yield 'short' => [['status' => 'underpaid'], 'short'];
        yield 'complete' => [['status' => 'completed'], 'paid'];
        $completed = ['completedAt' => '2026-01-22T09:41:00.000Z'];
        yield 'partly refunded' => [['status' => 'partially_refunded'] + $completed, 'paid'];
        yield 'short and partly given back' => [['status' => 'partially_refunded', 'completedAt' => null], 'short'];
        yield 'of another price' => [['status' => 'completed', 'amount' => 25.4], 'other price'];
        yield 'of another currency' => [['status' => 'completed', 'currency' => 'USD'], 'other price'];
        yield 'expired' => [['status' => 'expired'], 'over'];
        yield 'cancelled' => [['status' => 'cancelled'], 'over'];
        yield 'late' => [['status' => 'expired', 'statusReasons' => ['late']], 'late'];
        yield 'refunded' => [['status' => 'refunded'], 'refunded'];
        yield 'a status of a later version' => [['status' => 'on_the_moon'], 'unknown'];
    }

    /**
     * @dataProvider payments
     * @param array<string, mixed> $fields
     */
    public function testTheFactOfAPayment(array $fields, string $fact): void
    {
        $payment = Payment::of($fields + ['amount' => 25.5, 'currency' => 'EUR', 'statusReasons' => []]);
        self::assertSame($fact, Table::fact($payment, '25.50', 'EUR'));
    }
}
