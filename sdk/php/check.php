<?php

/**
 * Calls every operation of the API once with the installed client, and creates payments through a proxy that spoils
 * 40 % of the requests. The generator's README says what is in the environment.
 */

declare(strict_types=1);

use Ballast\AppInfo;
use Ballast\Ballast;
use Ballast\Error\NotFoundError;
use Ballast\Error\InvalidRequestError;
use Ballast\Event\PaymentCompletedEvent;
use Ballast\Http\CurlSender;
use Ballast\Http\Request;
use Ballast\Http\Response;
use Ballast\Http\Sender;
use Ballast\RequestOptions;
use Ballast\Resource\Payments;
use Ballast\Transport;
use Ballast\Webhook;

require $argv[1];

/** Sends as the client does, and notes which operation each request is. */
final class CountingSender implements Sender
{
    /** @var array<string, int> */
    public array $calls = [];
    private readonly Sender $sender;

    /** @param list<array{id: string, method: string, path: string}> $operations */
    public function __construct(private readonly array $operations)
    {
        $this->sender = new CurlSender();
    }

    public function send(Request $request): Response
    {
        $path = (string) preg_replace('#^(/sandbox)?/v1#', '', (string) parse_url($request->url, PHP_URL_PATH));
        $found = null;
        foreach ($this->operations as $operation) {
            $pattern = '#^' . preg_replace('/\{\w+\}/', '[^/]+', $operation['path']) . '$#D';
            $matches = $operation['method'] === $request->method && preg_match($pattern, $path) === 1;
            if ($matches && ($found === null || !str_contains($operation['path'], '{'))) {
                $found = $operation['id'];
            }
        }
        same(true, $found !== null, "an operation for {$request->method} $path");
        $this->calls[(string) $found] = ($this->calls[(string) $found] ?? 0) + 1;
        return $this->sender->send($request);
    }
}

function same(mixed $expected, mixed $actual, string $what): void
{
    if ($expected !== $actual) {
        fwrite(STDERR, "$what: expected " . json_encode($expected) . ', got ' . json_encode($actual) . "\n");
        exit(1);
    }
}

/**
 * What a callable returns as soon as it is no longer null.
 *
 * @template T
 * @param callable(): (T|null) $read
 * @return T
 */
function eventually(callable $read, string $what): mixed
{
    for ($ends = microtime(true) + 60; microtime(true) < $ends; usleep(200_000)) {
        $value = $read();
        if ($value !== null) {
            return $value;
        }
    }
    same('in 60 seconds', 'never', $what);
    exit(1);
}

/**
 * @param class-string<Throwable> $class
 * @param callable(): mixed $call
 */
function refused(string $class, string $code, callable $call): void
{
    try {
        $call();
    } catch (Throwable $error) {
        same([$class, $code], [$error::class, $error->code], 'the error of a refused request');
        return;
    }
    same($class, 'no error', 'a request that is wrong');
}

$operations = json_decode((string) file_get_contents((string) getenv('BALLAST_OPERATIONS')), true);
$wallet = (string) getenv('BALLAST_WALLET');
$sender = new CountingSender($operations);
$lines = [];
$ballast = new Ballast(
    signRequests: true,
    appInfo: new AppInfo('check', '1'),
    logger: function (string $level, string $message, array $context) use (&$lines): void {
        $lines[] = "$level $message " . json_encode($context);
    },
    sender: $sender,
);

// A payment from its creation to a refund.
$payment = $ballast->payments->create(
    amount: '25.50',
    currency: 'EUR',
    cryptocurrency: 'USDC',
    network: 'polygon',
    merchantWallet: $wallet,
    metadata: ['order' => '1007'],
    options: new RequestOptions(idempotencyKey: 'php-order-1007-' . bin2hex(random_bytes(4))),
);
same('created', $payment->status, 'the status of a new payment');
same('25.5', $payment->amount, 'the amount as text');
same(['order' => '1007'], $payment->metadata, 'the metadata');
same(201, $payment->response()?->status, 'the raw reply');
$simulation = $ballast->payments->simulate($payment->id, scenario: 'exact');
$completed = eventually(function () use ($ballast, $payment): ?object {
    $now = $ballast->payments->get($payment->id);
    return $now->status === 'completed' ? $now : null;
}, 'a payment that is paid');
same($payment->cryptoAmount, $completed->amountReceived, 'what was received');
$noted = $ballast->payments->update($payment->id, note: 'Of a check', metadata: ['order' => null, 'parcel' => '77']);
same(['parcel' => '77'], $noted->metadata, 'the changed metadata');
same($payment->id, $ballast->payments->list(metadata: ['parcel' => '77'])->data[0]->id, 'the payment of a parcel');
same(9, count($ballast->quote->get(amount: '25.50', currency: 'EUR')->options), 'the options of a quote');
$claim = $ballast->payments->claim($payment->id, transactionHash: (string) $simulation->transactionHash);
same('credited', $claim->status, 'the claim of its on-chain transaction');
same('Of a check', $ballast->payments->update($payment->id, note: 'Of a check')->note, 'its note');
same('credited', $ballast->payments->transfers($payment->id)->data[0]->status, 'its transfer');
same(true, count(iterator_to_array($ballast->payments->timeline($payment->id, limit: 1), false)) > 1, 'its timeline');
$refund = $ballast->refunds->create(paymentId: $payment->id, amount: 5, destination: $wallet, reason: 'one was broken');
same('5', $refund->amount, 'the refunded amount');
same($refund->id, $ballast->refunds->list(paymentId: $payment->id)->data[0]->id, 'the refunds of the payment');
eventually(function () use ($ballast, $refund): ?bool {
    return in_array($ballast->refunds->get($refund->id)->status, ['processing', 'completed'], true) ?: null;
}, 'a refund that leaves');
refused(InvalidRequestError::class, 'refund_not_cancellable', fn() => $ballast->refunds->cancel($refund->id));
refused(
    InvalidRequestError::class,
    'refund_has_destination',
    fn() => $ballast->refunds->giveDestination($refund->id, destination: $wallet)
);

// Payments that end otherwise.
$create = fn(): object => $ballast->payments->create(10, 'USD', 'USDT', 'ethereum', $wallet);
same('cancelled', $ballast->payments->cancel($create()->id)->status, 'a cancelled payment');
$short = $create();
refused(InvalidRequestError::class, 'payment_not_closable', fn() => $ballast->payments->close($short->id));
$late = $create();
$ballast->payments->simulate($late->id, scenario: 'late');
$discrepancy = eventually(
    fn(): ?object => $ballast->payments->discrepancies($late->id)->data[0] ?? null,
    'the discrepancy of late money'
);
same('late', $discrepancy->kind, 'its kind');
same($discrepancy->id, $ballast->discrepancies->list(status: 'open')->data[0]->id, 'what waits for a decision');
$accepted = $ballast->payments->acceptDiscrepancy($late->id, $discrepancy->id, note: 'the shop still has it');
same('accepted', $accepted->status, 'an accepted discrepancy');
$found = [];
foreach ($ballast->payments->list(limit: 2) as $one) {
    $found[$one->id] = true;
    if (count($found) >= 4) {
        break;
    }
}
same(true, isset($found[$late->id], $found[$payment->id]), 'payments on two pages');
refused(NotFoundError::class, 'resource_missing', fn() => $ballast->payments->get('pay_01kfjhr3c8e4bs0dz6wd5n5yry'));

// Links.
$link = $ballast->paymentLinks->create(
    description: 'A cup',
    currency: 'EUR',
    merchantWallets: ['polygon' => $wallet],
    amount: '12.30',
    maxUses: 3,
);
same('12.3', $link->amount, 'the amount of a link');
same('A cup', $ballast->paymentLinks->get($link->id)->description, 'its description');
$changed = $ballast->paymentLinks->update($link->id, enabled: false, maxUses: null);
same([false, null], [$changed->enabled, $changed->maxUses], 'a changed link: null empties, what is omitted stays');
same($link->id, $ballast->paymentLinks->list(limit: 1)->data[0]->id, 'the newest link');

// Books.
$settlements = $ballast->settlements->list();
$ballast->settlements->upcoming();
if ($settlements->data !== []) {
    $id = $settlements->data[0]->id;
    same($id, $ballast->settlements->get($id)->id, 'a settlement');
    same($id, $ballast->settlements->statement($id)->settlement, 'its statement');
    same(true, str_contains($ballast->settlements->downloadStatement($id, 'csv'), ','), 'the same as CSV');
} else {
    $id = 'set_01kfjhr3c8e4bs0dz6wd5n5yry';
    refused(NotFoundError::class, 'resource_missing', fn() => $ballast->settlements->get($id));
    refused(NotFoundError::class, 'resource_missing', fn() => $ballast->settlements->statement($id));
}
iterator_to_array($ballast->statements->list(), false);
$month = gmdate('Y-m');
same($month, $ballast->statements->get($month)->month, 'the statement of a month');
same('%PDF', substr($ballast->statements->download($month, 'pdf'), 0, 4), 'the same as PDF');
$ballast->invoices->list();
$invoice = 'inv_01kfjhr3c8e4bs0dz6wd5n5yry';
refused(NotFoundError::class, 'resource_missing', fn() => $ballast->invoices->get($invoice));
same('balance', $ballast->balance->get()->object, 'the balance');
same('merchant', $ballast->merchant->get()->object, 'the merchant');
same('0.10', $ballast->merchant->updateSettings(paymentTolerance: '0.1')->paymentTolerance, 'a changed setting');
$ballast->merchant->updateSettings(paymentTolerance: '0');

// Webhooks, received by PHP's own server.
$folder = (string) getenv('SDK_WORK') . '/received';
array_map(unlink(...), glob("$folder/*") ?: []);
is_dir($folder) || mkdir($folder);
$port = (int) substr((string) strrchr((string) stream_socket_get_name(
    $socket = stream_socket_server('tcp://127.0.0.1:0') ?: throw new RuntimeException('no free port'),
    false
), ':'), 1);
fclose($socket);
file_put_contents("$folder/.receive.php", <<<'RECEIVE'
    <?php
    file_put_contents(
        __DIR__ . '/' . $_SERVER['HTTP_WEBHOOK_ID'],
        serialize([file_get_contents('php://input'), $_SERVER])
    );
    http_response_code(204);
    RECEIVE);
$server = proc_open(
    [PHP_BINARY, '-S', "127.0.0.1:$port", "$folder/.receive.php"],
    [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['file', '/dev/null', 'w']],
    $pipes
);
register_shutdown_function(fn() => proc_terminate($server));
$webhook = $ballast->webhooks->create(url: "http://127.0.0.1:$port/hook", events: ['payment.completed']);
same('…', $webhook->__debugInfo()['secret'], 'the secret in a dump');
same($webhook->id, $ballast->webhooks->list(limit: 1)->data[0]->id, 'the newest webhook');
same('enabled', $ballast->webhooks->get($webhook->id)->status, 'its status');
same('A', $ballast->webhooks->update($webhook->id, description: 'A')->description, 'its description');
$secret = $ballast->webhooks->rotate($webhook->id)->secret;
same('webhook.test', $ballast->webhooks->test($webhook->id)->eventType, 'a delivery of a test');
$ballast->webhooks->rotateAccountSecret();
$paid = $ballast->payments->create(7, 'USD', 'USDC', 'polygon', $wallet);
$ballast->payments->simulate($paid->id, scenario: 'exact');
foreach ([$webhook->secret, $secret] as $one) {
    $event = eventually(function () use ($folder, $one): ?PaymentCompletedEvent {
        foreach (glob("$folder/evt_*") ?: [] as $file) {
            [$body, $headers] = unserialize((string) file_get_contents($file));
            $event = (new Webhook($one))->verify($body, $headers);
            if ($event instanceof PaymentCompletedEvent) {
                return $event;
            }
        }
        return null;
    }, 'a webhook of a completed payment, signed by the old and the new secret');
    same($paid->id, $event->data->object->id, 'the payment of the event');
}
same($event->id, $ballast->events->get($event->id)->id, 'the event');
same(PaymentCompletedEvent::class, $ballast->events->list(type: 'payment.completed')->data[0]::class, 'its class');
$delivery = $ballast->deliveries->list(endpoint: $webhook->id, event: $event->id)->data[0];
same($delivery->id, $ballast->deliveries->get($delivery->id)->id, 'a delivery');
$logged = eventually(
    fn (): ?object => $ballast->requests->list(method: 'POST', path: '/rotate', limit: 1)->data[0] ?? null,
    'a request in the log',
);
same(200, $logged->statusCode, 'the status of a request');
same($delivery->id, $ballast->deliveries->redeliver($delivery->id)->id, 'a delivery sent again');
$replay = $ballast->webhooks->replay($webhook->id, createdGte: $payment->createdAt, createdLte: gmdate('c'));
same(true, $replay->deliveryCount > 0, 'a replay');
same(true, $ballast->webhooks->delete($webhook->id)->deleted, 'a deleted webhook');

// Every operation was called, and the log has no secret.
$called = array_unique(array_keys($sender->calls));
same([], array_values(array_diff(array_column($operations, 'id'), $called)), 'operations that were not called');
$log = implode("\n", $lines);
foreach ([getenv('BALLAST_SECRET_KEY'), $webhook->secret, $secret] as $one) {
    same(false, str_contains($log, (string) $one), 'a secret in the log');
}
printf("%d of %d operations called, %d requests\n", count($called), count($operations), array_sum($sender->calls));

// Through a proxy that spoils 40 % of the requests: nothing lost, nothing doubled.
$creates = (int) getenv('BALLAST_CREATES');
$begun = microtime(true);
$attempts = 0;
$flaky = new Payments(new Transport(
    baseUrl: (string) getenv('BALLAST_FLAKY_URL'),
    publicKey: (string) getenv('BALLAST_PUBLIC_KEY'),
    secretKey: (string) getenv('BALLAST_SECRET_KEY'),
    maxRetries: 30,
    logger: function () use (&$attempts): void {
        $attempts++;
    },
    sleep: fn() => null,
));
$batch = bin2hex(random_bytes(8));
$made = [];
for ($number = 1; $number <= $creates; $number++) {
    $amount = sprintf('%.2f', 1 + $number / 100);
    $one = $flaky->create($amount, 'USD', 'USDC', 'polygon', $wallet, metadata: [$batch => $number]);
    $made[$number] = $one->id;
}
$there = [];
foreach ($ballast->payments->list(limit: 100, created_gte: $one->createdAt->modify('-1 hour')) as $one) {
    if (isset($one->metadata[$batch])) {
        $there[] = [$one->metadata[$batch], $one->id];
    }
}
sort($there);
same(array_map(null, array_keys($made), array_values($made)), $there, 'the payments that were created');
same(true, $attempts > $creates * 1.3, 'attempts that failed');
$seconds = microtime(true) - $begun;
printf("%d payments by %d attempts in %.1f s: none lost, none doubled\n", $creates, $attempts, $seconds);
