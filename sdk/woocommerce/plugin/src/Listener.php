<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

use Ballast\Error\BallastError;
use Ballast\Error\WebhookVerificationError;
use Ballast\Event\Event;
use Ballast\Model\Payment;
use Ballast\Model\Refund;
use Ballast\Webhook;

/** Receives webhooks. An event only says where to look: the record is read again from the API. */
final class Listener
{
    public function __construct(private readonly Orders $orders)
    {
    }

    public static function url(): string
    {
        return WC()->api_request_url(Plugin::ID);
    }

    public function answer(): never
    {
        status_header($this->receive((string) file_get_contents('php://input'), $_SERVER));
        exit;
    }

    /**
     * The status to reply with. Ballast sends again what was not taken.
     *
     * @param array<string, mixed> $headers
     */
    public function receive(string $body, array $headers): int
    {
        $event = self::verified($body, $headers);
        if ($event === null) {
            return 400;
        }
        $record = $event->data->object;
        $order = $record instanceof Payment || $record instanceof Refund ? self::order($record->metadata) : null;
        if ($order === null) {
            return 204;
        }
        if (!wc_get_order($order) instanceof \WC_Order) {
            Log::write('info', "Event {$event->id} is of order $order, which is not here.");
            return 204;
        }
        try {
            if ($record instanceof Refund) {
                $this->orders->applyRefund($order, $record->id);
            } else {
                $this->orders->refresh($order, $record->id);
            }
        } catch (BallastError | Busy | \InvalidArgumentException $error) {
            Log::write('warning', "Event {$event->id} must come again: {$error->getMessage()}");
            return 503;
        }
        return 204;
    }

    /** @param array<string, mixed> $headers */
    private static function verified(string $body, array $headers): ?Event
    {
        $why = 'no webhook is registered yet.';
        foreach (Settings::webhookSecrets() as $secret) {
            try {
                return (new Webhook($secret))->verify($body, $headers);
            } catch (WebhookVerificationError $error) {
                $why = $error->getMessage();
            }
        }
        Log::write('warning', "A webhook was refused: $why");
        return null;
    }

    /**
     * The order that a record is for; null where it is of another shop of the same merchant.
     *
     * @param array<string, mixed> $metadata
     */
    private static function order(array $metadata): ?int
    {
        $isHere = ($metadata['shop'] ?? null) === Settings::home();
        return $isHere && is_numeric($metadata['orderId'] ?? null) ? (int) $metadata['orderId'] : null;
    }
}
