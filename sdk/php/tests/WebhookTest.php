<?php

declare(strict_types=1);

namespace Ballast\Tests;

use Ballast\Error\WebhookVerificationError;
use Ballast\Event\PaymentCompletedEvent;
use Ballast\Event\UnknownEvent;
use Ballast\Model\Payment;
use Ballast\Webhook;
use PHPUnit\Framework\TestCase;

final class WebhookTest extends TestCase
{
    private const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwX6Zk3dQhN1o=';
    private const NOW = 1795000000;
    private const BODY = '{"id":"evt_1","object":"event","type":"payment.completed","apiVersion":"v1",'
        . '"createdAt":"2027-01-31T09:34:40.123Z","environment":"sandbox","version":3,"later":true,'
        . '"data":{"object":{"id":"pay_1","object":"payment","status":"teleported","amount":25.5,"memo":null,'
        . '"createdAt":"2027-01-31T09:30:00.000Z","fieldOfALaterVersion":[1],'
        . '"exchangeRate":{"rate":"0.862","quotedAt":"2027-01-31T09:30:00.000Z"},'
        . '"transfers":[{"hash":"0xab","amount":"29.580000"}],"metadata":{"order":"1007"}}}}';

    /** @return array<string, string> */
    private static function headers(string $body = self::BODY, int $timestamp = self::NOW): array
    {
        return [
            'webhook-id' => 'evt_1',
            'webhook-timestamp' => (string) $timestamp,
            'webhook-signature' => (new Webhook(self::SECRET))->sign('evt_1', $timestamp, $body),
        ];
    }

    public function testASignatureOfTheStandard(): void
    {
        $webhook = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
        self::assertSame(
            'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
            $webhook->sign('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}')
        );
    }

    public function testAnEventIsTypedAndTolerant(): void
    {
        $event = (new Webhook(self::SECRET))->verify(self::BODY, self::headers(), self::NOW + 299);
        self::assertInstanceOf(PaymentCompletedEvent::class, $event);
        self::assertSame(['evt_1', 'payment.completed', 3], [$event->id, $event->type, $event->version]);
        self::assertTrue($event->raw['later']);
        $payment = $event->data->object;
        self::assertInstanceOf(Payment::class, $payment);
        self::assertSame(['pay_1', 'teleported', '25.5', null], [
            $payment->id, $payment->status, $payment->amount, $payment->memo,
        ]);
        self::assertSame('2027-01-31 09:30:00', $payment->createdAt->format('Y-m-d H:i:s'));
        self::assertSame('0.862', $payment->exchangeRate->rate);
        self::assertSame('29.580000', $payment->transfers[0]->amount);
        self::assertSame([1], $payment->raw['fieldOfALaterVersion']);
        self::assertSame(json_decode(self::BODY, true), json_decode((string) json_encode($event), true));
    }

    public function testAnEventOfALaterVersion(): void
    {
        $body = '{"id":"evt_1","type":"dispute.opened","data":{"object":{"id":"dsp_1"}}}';
        $event = (new Webhook(self::SECRET))->verify($body, self::headers($body), self::NOW);
        self::assertInstanceOf(UnknownEvent::class, $event);
        self::assertSame('dsp_1', $event->data->object->raw['id']);
    }

    public function testTheHeadersOfPhpAndOfFrameworks(): void
    {
        $headers = self::headers();
        $server = ['REQUEST_METHOD' => 'POST'];
        $psr = [];
        foreach ($headers as $name => $value) {
            $server['HTTP_' . strtr(strtoupper($name), '-', '_')] = $value;
            $psr[ucwords($name, '-')] = [$value];
        }
        foreach ([$headers, $server, $psr] as $spelling) {
            self::assertSame('evt_1', (new Webhook(self::SECRET))->verify(self::BODY, $spelling, self::NOW)->id);
        }
    }

    public function testEitherSignatureOfARotation(): void
    {
        $headers = self::headers();
        $headers['webhook-signature'] = 'v1,' . base64_encode(random_bytes(32)) . ' ' . $headers['webhook-signature'];
        self::assertSame('evt_1', (new Webhook(self::SECRET))->verify(self::BODY, $headers, self::NOW)->id);
    }

    /** @return iterable<string, array{string, array<string, string>, string}> */
    public function forgeries(): iterable
    {
        $headers = self::headers();
        yield 'another body' => [self::BODY . ' ', $headers, 'No signature matches'];
        yield 'another id' => [self::BODY, ['webhook-id' => 'evt_2'] + $headers, 'No signature matches'];
        yield 'another secret' => [
            self::BODY,
            ['webhook-signature' => (new Webhook('whsec_b3RoZXI='))->sign('evt_1', self::NOW, self::BODY)] + $headers,
            'No signature matches',
        ];
        yield 'no version' => [
            self::BODY, ['webhook-signature' => substr($headers['webhook-signature'], 3)] + $headers, 'No signature',
        ];
        yield 'old' => [self::BODY, self::headers(timestamp: self::NOW - 301), 'too far from now'];
        yield 'of the future' => [self::BODY, self::headers(timestamp: self::NOW + 301), 'too far from now'];
        yield 'no time' => [self::BODY, ['webhook-timestamp' => '1e9'] + $headers, 'not a number'];
        yield 'no signature' => [self::BODY, array_diff_key($headers, ['webhook-signature' => 1]), 'is missing'];
        yield 'no JSON' => ['hello', self::headers('hello'), 'not JSON'];
    }

    /**
     * @dataProvider forgeries
     * @param array<string, string> $headers
     */
    public function testWhatIsRefused(string $body, array $headers, string $why): void
    {
        $this->expectException(WebhookVerificationError::class);
        $this->expectExceptionMessage($why);
        (new Webhook(self::SECRET))->verify($body, $headers, self::NOW);
    }

    public function testASecretMustBeOne(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        new Webhook('');
    }
}
