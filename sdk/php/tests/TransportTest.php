<?php

declare(strict_types=1);

namespace Ballast\Tests;

use Ballast\AppInfo;
use Ballast\Ballast;
use Ballast\Error\ApiConnectionError;
use Ballast\Error\ApiStatusError;
use Ballast\Error\ApiTimeoutError;
use Ballast\Error\AuthenticationError;
use Ballast\Error\IdempotencyError;
use Ballast\Error\InvalidRequestError;
use Ballast\Error\NotFoundError;
use Ballast\Error\PermissionDeniedError;
use Ballast\Error\RateLimitError;
use Ballast\Error\ServerError;
use Ballast\Http\CurlSender;
use Ballast\Http\Request;
use Ballast\Http\Response;
use Ballast\Model\WebhookEndpointWithSecret;
use Ballast\RequestOptions;
use Ballast\Resource\PaymentLinks;
use Ballast\Resource\Payments;
use Ballast\Transport;
use PHPUnit\Framework\TestCase;

final class TransportTest extends TestCase
{
    private const SECRET = 'sk_test_secret';

    /** @var list<float> */
    private array $waits = [];

    /** @param mixed ...$options of the transport */
    private function transport(Answers $answers, mixed ...$options): Transport
    {
        return new Transport(...[
            'baseUrl' => 'https://pay.example.com/',
            'publicKey' => 'pk_test_public',
            'secretKey' => self::SECRET,
            'sender' => $answers,
            'sleep' => function (float $seconds): void {
                $this->waits[] = $seconds;
            },
            ...$options,
        ]);
    }

    private static function payment(): Response
    {
        return Answers::json(201, ['id' => 'pay_1', 'amount' => 25.5, 'status' => 'created']);
    }

    public function testARequestIsWhatTheApiAsksFor(): void
    {
        $answers = new Answers([self::payment()]);
        $app = new AppInfo('Shop', '2.1', 'https://shop.example');
        $payments = new Payments($this->transport($answers, appInfo: $app));
        $payments->create('25.10', 'EUR', metadata: [], expiresIn: 600);
        [$request] = $answers->requests;
        self::assertSame(['POST', 'https://pay.example.com/sandbox/v1/payments'], [$request->method, $request->url]);
        self::assertSame('{"amount":25.1,"currency":"EUR","expiresIn":600,"metadata":{}}', $request->body);
        self::assertSame('Bearer pk_test_public', $request->headers['Authorization']);
        self::assertSame(self::SECRET, $request->headers['X-Api-Secret']);
        self::assertMatchesRegularExpression(
            '#^ballast-php/\d+\.\d+\.\d+ PHP/\S+ Shop/2\.1 \(https://shop\.example\)$#D',
            $request->headers['User-Agent']
        );
        self::assertArrayNotHasKey('X-Service-Signature', $request->headers);
    }

    public function testALiveKeyIsForProduction(): void
    {
        $answers = new Answers([self::payment()]);
        (new Payments($this->transport($answers, publicKey: 'pk_live_1')))->get('pay_1/../x');
        self::assertSame('https://pay.example.com/v1/payments/pay_1%2F..%2Fx', $answers->requests[0]->url);
    }

    /** @return iterable<string, array{string|int|float, string}> */
    public function amounts(): iterable
    {
        yield 'text' => ['19.99', '19.99'];
        yield 'whole' => ['20', '20'];
        yield 'float that 17 digits would spoil' => [25.1, '25.1'];
        yield 'the largest' => ['999999999999.999', '999999999999.999'];
    }

    /** @dataProvider amounts */
    public function testAnAmountIsSentExactly(string|int|float $amount, string $sent): void
    {
        ini_set('serialize_precision', '17');
        $answers = new Answers([self::payment()]);
        (new Payments($this->transport($answers)))->create($amount, 'EUR');
        self::assertSame("{\"amount\":$sent,\"currency\":\"EUR\"}", $answers->requests[0]->body);
        self::assertSame('17', ini_set('serialize_precision', '-1'));
    }

    /**
     * @testWith ["1e3"]
     *           ["-1"]
     *           ["1,50"]
     *           ["12345678901234.567"]
     *           [""]
     *           [" 1"]
     *           ["25.5 EUR"]
     */
    public function testAnAmountThatIsNoDecimalIsNotSent(string $amount): void
    {
        $this->expectException(\InvalidArgumentException::class);
        (new Payments($this->transport(new Answers([]))))->create($amount, 'EUR');
    }

    public function testAChangeSendsNullAndLeavesOutWhatIsOmitted(): void
    {
        $answers = new Answers([Answers::json(200, ['id' => 'plk_1'])]);
        (new PaymentLinks($this->transport($answers)))->update('plk_1', maxUses: null, enabled: false);
        self::assertSame('{"enabled":false,"maxUses":null}', $answers->requests[0]->body);
        self::assertArrayNotHasKey('Idempotency-Key', $answers->requests[0]->headers);
    }

    public function testAPostHasAKeyThatItsAttemptsShare(): void
    {
        $answers = new Answers([new ApiConnectionError('away'), self::payment(), self::payment(), self::payment()]);
        $payments = new Payments($this->transport($answers));
        self::assertSame(2, $payments->create(1, 'EUR')->response()?->attempts);
        $payments->create(1, 'EUR');
        $payments->create(1, 'EUR', options: new RequestOptions(idempotencyKey: 'order-1'));
        $keys = array_map(fn(Request $request): string => $request->headers['Idempotency-Key'], $answers->requests);
        self::assertSame($keys[0], $keys[1]);
        self::assertNotSame($keys[1], $keys[2]);
        self::assertSame('order-1', $keys[3]);
    }

    /** @return iterable<string, array{Response|\Throwable, bool}> */
    public function failures(): iterable
    {
        yield 'connection' => [new ApiConnectionError('away'), true];
        yield 'time-out' => [new ApiTimeoutError('late'), true];
        yield '503' => [Answers::error(503, 'api_error', 'service_unavailable'), true];
        yield '502 of a proxy' => [new Response(502, [], '<html>'), true];
        yield '504 of a proxy' => [new Response(504, [], '<html>'), true];
        yield 'a signature of the same millisecond' => [
            Answers::error(401, 'authentication_error', 'signature_replayed'), true,
        ];
        yield 'wrong keys' => [Answers::error(429, 'rate_limit_error', 'too_many_bad_keys'), false];
        yield 'other keys' => [Answers::error(401, 'authentication_error', 'invalid_secret_key'), false];
        yield '429' => [Answers::error(429, 'rate_limit_error', 'rate_limit_exceeded'), true];
        yield 'key in use' => [Answers::error(409, 'idempotency_error', 'idempotency_key_in_use'), true];
        yield 'another 409' => [Answers::error(409, 'idempotency_error', 'other'), false];
        yield '400' => [Answers::error(400, 'invalid_request_error', 'missing_parameter'), false];
        yield '500' => [Answers::error(500, 'api_error', 'internal_error'), false];
        yield 'a redirect' => [new Response(302, ['Location' => 'https://elsewhere.example'], ''), false];
        yield 'a long Retry-After' => [
            Answers::error(429, 'rate_limit_error', 'rate_limit_exceeded', ['Retry-After' => '3600']), false,
        ];
    }

    /** @dataProvider failures */
    public function testWhatIsSentAgain(Response|\Throwable $failure, bool $again): void
    {
        $answers = new Answers([$failure, self::payment()]);
        try {
            (new Payments($this->transport($answers)))->create(1, 'EUR');
        } catch (\RuntimeException) {
            self::assertFalse($again);
        }
        self::assertCount($again ? 2 : 1, $answers->requests);
        self::assertCount($again ? 1 : 0, $this->waits);
    }

    public function testTheWaitsGrowAndRetryAfterIsHonoured(): void
    {
        $busy = Answers::error(503, 'api_error', 'service_unavailable');
        $soon = Answers::error(429, 'rate_limit_error', 'rate_limit_exceeded', ['retry-after' => '7']);
        $answers = new Answers([$busy, $busy, $busy, $busy, $busy, $busy, $soon, $busy]);
        $payments = new Payments($this->transport($answers));
        try {
            $payments->get('pay_1', options: new RequestOptions(maxRetries: 7));
            self::fail('an eighth failure is final');
        } catch (ServerError $error) {
            self::assertSame(8, $error->response->attempts);
        }
        foreach ([0.5, 1, 2, 4, 8, 8] as $number => $longest) {
            self::assertGreaterThanOrEqual($longest / 2, $this->waits[$number]);
            self::assertLessThanOrEqual($longest, $this->waits[$number]);
        }
        self::assertSame(7.0, $this->waits[6]);
    }

    public function testTheLongestRetryAfterIsTheClientsChoice(): void
    {
        $answers = new Answers([Answers::error(503, 'api_error', 'busy', ['Retry-After' => '6'])]);
        $client = new Ballast('pk_test_1', 'sk_test_1', 'https://x.example', longestRetryAfter: 5, sender: $answers);
        $this->expectException(ServerError::class);
        $client->payments->get('pay_1');
    }

    public function testTheVersionIsSentAndWhatIsDeprecatedIsLogged(): void
    {
        $told = [];
        $logger = function (string $level, string $message) use (&$told): void {
            $told[] = "$level: $message";
        };
        $headers = ['Deprecation' => '@1800000000', 'Link' => '<https://pay.example.com/changes>'];
        $answers = new Answers([Answers::json(200, ['id' => 'pay_1'], $headers)]);
        (new Payments($this->transport($answers, logger: $logger)))->get('pay_1');
        self::assertMatchesRegularExpression('/^\d{4}-\d\d-\d\d$/D', $answers->requests[0]->headers['Ballast-Version']);
        self::assertContains(
            'warning: Ballast GET /v1/payments/pay_1 is deprecated: <https://pay.example.com/changes>',
            $told
        );
    }

    /** @return iterable<string, array{int, string, class-string}> */
    public function errors(): iterable
    {
        yield 'invalid' => [400, 'invalid_request_error', InvalidRequestError::class];
        yield 'authentication' => [401, 'authentication_error', AuthenticationError::class];
        yield 'permission' => [403, 'permission_error', PermissionDeniedError::class];
        yield 'not found' => [404, 'not_found_error', NotFoundError::class];
        yield 'idempotency' => [400, 'idempotency_error', IdempotencyError::class];
        yield 'rate limit' => [429, 'rate_limit_error', RateLimitError::class];
        yield 'api' => [500, 'api_error', ServerError::class];
        yield 'a later type' => [418, 'teapot_error', ApiStatusError::class];
    }

    /** @dataProvider errors */
    public function testAnErrorHasTheClassOfItsType(int $status, string $type, string $class): void
    {
        $errors = [['code' => 'a', 'param' => 'amount', 'message' => 'No.'], ['code' => 'b', 'param' => null]];
        $reply = Answers::error($status, $type, 'a', [], ['param' => 'amount', 'errors' => $errors]);
        $payments = new Payments($this->transport(new Answers([$reply]), maxRetries: 0));
        try {
            $payments->get('pay_1');
            self::fail('it is refused');
        } catch (ApiStatusError $error) {
            self::assertSame($class, $error::class);
            self::assertSame(
                [$status, $type, 'a', 'amount', 'req_1', 'No.', $errors],
                [$error->status, $error->type, $error->code, $error->param, $error->requestId, $error->getMessage(),
                    $error->errors]
            );
        }
    }

    public function testAReplyThatIsNotOfTheApi(): void
    {
        $page = new Response(502, ['x-request-id' => 'req_proxy'], '<html>');
        $payments = new Payments($this->transport(new Answers([$page]), maxRetries: 0));
        try {
            $payments->get('pay_1');
            self::fail('it is refused');
        } catch (ServerError $error) {
            self::assertSame([502, null, 'req_proxy'], [$error->status, $error->code, $error->requestId]);
        }
    }

    public function testEachAttemptIsSignedAnew(): void
    {
        $answers = new Answers([new ApiConnectionError('away'), self::payment(), self::payment()]);
        $payments = new Payments($this->transport($answers, signRequests: true));
        $payments->create(1, 'EUR');
        $payments->list(limit: 5);
        $timestamps = [];
        foreach ($answers->requests as $number => $request) {
            $timestamp = $request->headers['X-Service-Timestamp'];
            $timestamps[] = (int) $timestamp;
            $text = $number < 2 ? "$timestamp.POST./v1/payments.{$request->body}" : "$timestamp.GET./v1/payments.";
            self::assertSame(hash_hmac('sha256', $text, self::SECRET), $request->headers['X-Service-Signature']);
        }
        self::assertSame(3, count(array_unique($timestamps)));
        self::assertEqualsWithDelta(microtime(true) * 1000, $timestamps[0], 5000);
    }

    public function testTimeOutsOfClientAndCall(): void
    {
        $answers = new Answers([self::payment(), self::payment()]);
        $payments = new Payments($this->transport($answers, timeout: 9.0));
        $payments->get('pay_1');
        $payments->get('pay_1', options: new RequestOptions(timeout: 2.0, headers: ['X-Request-Id' => 'order-1007']));
        self::assertSame([9.0, 2.0], [$answers->requests[0]->timeout, $answers->requests[1]->timeout]);
        self::assertSame([5.0, 2.0], [$answers->requests[0]->connectTimeout, $answers->requests[1]->connectTimeout]);
        self::assertSame('order-1007', $answers->requests[1]->headers['X-Request-Id']);
    }

    public function testNothingThatIsShownHasTheSecret(): void
    {
        $shown = '';
        $logger = function (string $level, string $message, array $context) use (&$shown): void {
            $shown .= "$level $message " . json_encode($context);
        };
        $answers = new Answers([new ApiConnectionError('away'), self::payment()]);
        $transport = $this->transport($answers, logger: $logger, signRequests: true);
        $payment = (new Payments($transport))->create(1, 'EUR');
        $client = new Ballast('pk_test_public', self::SECRET, 'https://pay.example.com');
        $webhook = WebhookEndpointWithSecret::of(['id' => 'whk_1', 'secret' => self::SECRET]);
        self::assertSame(self::SECRET, $webhook->secret);
        $shown .= print_r([$transport, $client, $payment, $webhook, $answers->requests], true);
        $trace = '';
        try {
            new Ballast('pk_test_public', self::SECRET, 'nowhere');
        } catch (\InvalidArgumentException $error) {
            $trace = (string) $error;
        }
        self::assertStringNotContainsString(self::SECRET, $shown);
        self::assertStringContainsString('"attempt":2', $shown);
        self::assertStringContainsString('baseUrl', $trace);
        if (PHP_VERSION_ID >= 80200) {
            self::assertStringNotContainsString(self::SECRET, $trace);
        }
    }

    public function testPagesFollowWhereTheLoopReachesThem(): void
    {
        $page = fn(array $ids, bool $more): Response => Answers::json(200, [
            'object' => 'list', 'data' => array_map(fn(string $id): array => ['id' => $id], $ids), 'hasMore' => $more,
            'totalCount' => 3,
        ]);
        $answers = new Answers([$page(['pay_3', 'pay_2'], true), $page(['pay_1'], false)]);
        $list = (new Payments($this->transport($answers)))->list(limit: 2, status: 'completed');
        self::assertSame([3, true], [$list->totalCount, $list->hasMore]);
        self::assertCount(1, $answers->requests);
        $ids = [];
        foreach ($list as $payment) {
            $ids[] = $payment->id;
        }
        self::assertSame(['pay_3', 'pay_2', 'pay_1'], $ids);
        self::assertSame(
            'https://pay.example.com/sandbox/v1/payments?starting_after=pay_2&limit=2&status=completed',
            $answers->requests[1]->url
        );
    }

    public function testAListThatEndsBeforeARecordGoesOnToNewerOnes(): void
    {
        $page = fn(string $id, bool $more): Response => Answers::json(200, [
            'object' => 'list', 'data' => [['id' => $id]], 'hasMore' => $more, 'totalCount' => 3,
        ]);
        $answers = new Answers([$page('pay_1', true), $page('pay_2', false)]);
        iterator_to_array((new Payments($this->transport($answers)))->list(ending_before: 'pay_0'), false);
        self::assertSame(
            'https://pay.example.com/sandbox/v1/payments?ending_before=pay_1',
            $answers->requests[1]->url
        );
    }

    public function testCurlSaysWhyThereIsNoReply(): void
    {
        $silent = stream_socket_server('tcp://127.0.0.1:0') ?: self::fail('no port');
        $address = (string) stream_socket_get_name($silent, false);
        $request = fn(string $url): Request => new Request('GET', $url, [], null, 0.05, 0.05);
        $sender = new CurlSender();
        try {
            $sender->send($request("http://$address/"));
            self::fail('nothing answers');
        } catch (ApiTimeoutError $error) {
            self::assertStringContainsString('in time', $error->getMessage());
        }
        fclose($silent);
        try {
            $sender->send($request("http://$address/"));
            self::fail('nothing listens');
        } catch (ApiConnectionError $error) {
            self::assertSame(ApiConnectionError::class, $error::class);
        }
        $this->expectException(ApiConnectionError::class);
        $sender->send($request('file:///etc/hostname'));
    }
}
