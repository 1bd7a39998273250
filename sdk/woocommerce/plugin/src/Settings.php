<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

use Ballast\AppInfo;
use Ballast\Ballast;
use Ballast\Error\ApiConnectionError;
use Ballast\Error\ApiStatusError;
use Ballast\Error\BallastError;
use Ballast\Error\NotFoundError;

/** What the shop entered, and the webhook that the plugin registered with it. */
final class Settings
{
    private const OPTION = 'woocommerce_ballast_settings';
    public const CONNECTION = 'ballast_connection';
    private const EVENTS = [
        'payment.pending', 'payment.underpaid', 'payment.completed', 'payment.overpaid', 'payment.expired',
        'payment.late', 'payment.cancelled', 'payment.reversed', 'payment.updated', 'payment.refunded',
        'payment.coins_missing', 'payment.coins_restored', 'payment.coins_lost', 'refund.requires_action',
        'refund.completed', 'refund.failed',
    ];

    /** @throws \InvalidArgumentException while something is missing */
    public static function client(): Ballast
    {
        return new Ballast(
            publicKey: self::get('public_key'),
            secretKey: self::get('secret_key'),
            baseUrl: self::get('url'),
            timeout: 15.0,
            maxRetries: 2,
            // A payer's page waits meanwhile, and with it whatever else wants the order.
            longestRetryAfter: 5.0,
            appInfo: new AppInfo('ballast-for-woocommerce', Plugin::VERSION),
            logger: Log::write(...),
            // Where requests must take another way than curl: an object of Ballast\Http\Sender.
            sender: apply_filters('ballast_http_sender', null),
        );
    }

    public static function get(string $name): string
    {
        $settings = get_option(self::OPTION, []);
        return is_array($settings) ? trim((string) ($settings[$name] ?? '')) : '';
    }

    /** The shop's address as it is kept: `home_url()` is filtered, and follows the scheme and language of a request. */
    public static function home(): string
    {
        return rtrim((string) get_option('home'), '/');
    }

    /** Whether payments can be taken: the connection was tested with these very keys. */
    public static function isConnected(): bool
    {
        return (self::connection()['fingerprint'] ?? null) === self::fingerprint();
    }

    /** The secrets of webhooks by which a request may be signed: the present one first. @return list<string> */
    public static function webhookSecrets(): array
    {
        return array_values(array_filter((array) (self::connection()['secrets'] ?? []), is_string(...)));
    }

    public static function isSandbox(): bool
    {
        return !str_starts_with(self::get('public_key'), 'pk_live_');
    }

    /**
     * Tests the keys, and registers the webhook when it is not there. Returns what is wrong; null when all is right.
     */
    public static function connect(): ?string
    {
        $listener = Listener::url();
        $connection = self::connection();
        try {
            $ballast = self::client();
            $ballast->payments->list(limit: 1);
            $ballast->refunds->list(limit: 1);
            $isSame = ($connection['url'] ?? null) === $listener && self::isConnected();
            if (!$isSame || !self::isKept($ballast, (string) $connection['webhook'])) {
                $webhook = $ballast->webhooks->create(
                    url: $listener,
                    events: self::EVENTS,
                    description: 'WooCommerce, ' . get_bloginfo('name'),
                );
                $secrets = [$webhook->secret, ...array_slice(self::webhookSecrets(), 0, 3)];
                $connection = ['webhook' => $webhook->id, 'secrets' => $secrets, 'url' => $listener];
            }
        } catch (ApiStatusError $error) {
            return $error->getMessage();
        } catch (ApiConnectionError $error) {
            return __('The installation does not answer at this address.', 'ballast-for-woocommerce')
                . ' ' . $error->getMessage();
        } catch (BallastError | \InvalidArgumentException $error) {
            return $error->getMessage();
        }
        update_option(self::CONNECTION, ['fingerprint' => self::fingerprint()] + $connection, false);
        return null;
    }

    /**
     * Takes over keys, and perhaps a webhook, that Ballast has given to this shop. Returns what is wrong, as `connect`.
     *
     * @param array{id: string, secret: string}|null $webhook
     */
    public static function adopt(
        string $url,
        string $publicKey,
        #[\SensitiveParameter] string $secretKey,
        #[\SensitiveParameter] ?array $webhook
    ): ?string {
        $keys = ['url' => $url, 'public_key' => $publicKey, 'secret_key' => $secretKey];
        update_option(self::OPTION, $keys + (array) get_option(self::OPTION, []));
        $old = self::connection()['webhook'] ?? null;
        if ($webhook !== null) {
            update_option(self::CONNECTION, [
                'fingerprint' => self::fingerprint(),
                'webhook' => $webhook['id'],
                'secrets' => [$webhook['secret'], ...array_slice(self::webhookSecrets(), 0, 3)],
                'url' => Listener::url(),
            ], false);
        }
        $wrong = self::connect();
        if ($wrong === null && is_string($old) && $old !== self::connection()['webhook']) {
            try {
                self::client()->webhooks->delete($old);
            } catch (BallastError) {
                // It is another merchant's, or gone.
            }
        }
        return $wrong;
    }

    public static function connectedMessage(): string
    {
        return self::isSandbox()
            ? __('Connected to the sandbox: no real money is taken.', 'ballast-for-woocommerce')
            : __('Connected: customers pay with real money.', 'ballast-for-woocommerce');
    }

    public static function refusedMessage(string $wrong): string
    {
        /* translators: %s: what is wrong */
        return sprintf(__('Ballast is not connected: %s', 'ballast-for-woocommerce'), $wrong);
    }

    /** Whether the webhook is still there: if so it has the present events, and is on. */
    private static function isKept(Ballast $ballast, string $webhook): bool
    {
        try {
            $ballast->webhooks->update($webhook, events: self::EVENTS, status: 'enabled');
            return true;
        } catch (NotFoundError) {
            return false;
        }
    }

    /** @return array<string, mixed> */
    private static function connection(): array
    {
        $connection = get_option(self::CONNECTION, []);
        return is_array($connection) ? $connection : [];
    }

    private static function fingerprint(): string
    {
        return hash('sha256', implode(' ', array_map(self::get(...), ['url', 'public_key', 'secret_key'])));
    }
}
