<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

use Ballast\Enum\Currency;
use Ballast\Error\ApiStatusError;
use Ballast\Error\BallastError;
use Ballast\Model\Payment;
use Ballast\RequestOptions;

/** The way of paying, in the checkout, in the settings, and on an order's page. */
class Gateway extends \WC_Payment_Gateway
{
    public function __construct()
    {
        $this->id = Plugin::ID;
        $this->method_title = 'Ballast';
        $this->method_description = __(
            'USDC, USDT and DAI by your own Ballast installation. Customers choose coin and network on its page.',
            'ballast-for-woocommerce'
        );
        $this->has_fields = false;
        $this->supports = ['products', 'refunds'];
        $this->init_form_fields();
        $this->init_settings();
        $this->title = $this->get_option('title');
        $this->description = $this->get_option('description');
        $this->enabled = $this->get_option('enabled');
        add_action('woocommerce_update_options_payment_gateways_' . $this->id, [$this, 'process_admin_options']);
    }

    public function init_form_fields(): void
    {
        $text = static fn(string $title, string $description, string $type = 'text', string $default = ''): array => [
            'title' => $title, 'type' => $type, 'description' => $description, 'default' => $default,
            'desc_tip' => false,
        ];
        $this->form_fields = [
            'enabled' => [
                'title' => __('Enabled', 'ballast-for-woocommerce'),
                'type' => 'checkbox',
                'label' => __('Offer it in the checkout', 'ballast-for-woocommerce'),
                'default' => 'no',
            ],
            'title' => $text(
                __('Title', 'ballast-for-woocommerce'),
                __('What customers see.', 'ballast-for-woocommerce'),
                default: __('Stablecoins (USDC, USDT, DAI)', 'ballast-for-woocommerce'),
            ),
            'description' => $text(
                __('Description', 'ballast-for-woocommerce'),
                __('Shown when it is chosen.', 'ballast-for-woocommerce'),
                'textarea',
                __('You choose coin and network on the next page.', 'ballast-for-woocommerce'),
            ),
            'url' => $text(
                __('Address of Ballast', 'ballast-for-woocommerce'),
                __('For example https://pay.example.com', 'ballast-for-woocommerce'),
            ),
            'connect' => $text(
                __('Connection', 'ballast-for-woocommerce'),
                __('Opens Ballast, where you agree to a key pair for this shop. Or enter one by hand:', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
                'ballast_connect',
            ),
            'public_key' => $text(
                __('Public key', 'ballast-for-woocommerce'),
                __('pk_live_…, or pk_test_… to try it in the sandbox. Make a pair with the scopes to write payments, refunds and webhooks in the dashboard of Ballast, under Developers.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
            ),
            'secret_key' => $text(
                __('Secret key', 'ballast-for-woocommerce'),
                __('sk_live_… or sk_test_… of the same pair. Saving tests the connection and registers the webhook.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
                'password',
            ),
            'minutes' => $text(
                __('Minutes to pay', 'ballast-for-woocommerce'),
                __('From 1 to 1,440. Money that was seen in time does not expire while it confirms.', 'ballast-for-woocommerce'), // phpcs:ignore Generic.Files.LineLength
                'number',
                '30',
            ),
        ];
    }

    /** Saves, and tests the connection. */
    public function process_admin_options(): bool
    {
        $saved = parent::process_admin_options();
        if (Settings::get('public_key') . Settings::get('secret_key') === '' && Connect::button() !== null) {
            \WC_Admin_Settings::add_message(
                __('Saved. Now connect by the button, or enter a key pair.', 'ballast-for-woocommerce')
            );
            return $saved;
        }
        $wrong = Settings::connect();
        if ($wrong !== null) {
            \WC_Admin_Settings::add_error(Settings::refusedMessage($wrong));
            return $saved;
        }
        \WC_Admin_Settings::add_message(Settings::connectedMessage());
        return $saved;
    }

    /**
     * The row of the settings with the button: a link, as a button would be pressed by Enter in any field above it.
     *
     * @param string $key
     * @param array<string, mixed> $data
     */
    public function generate_ballast_connect_html($key, $data): string
    {
        $url = Connect::button();
        return sprintf(
            '<tr valign="top"><th scope="row" class="titledesc">%s</th><td class="forminp">%s'
            . '<p class="description">%s</p></td></tr>',
            esc_html($data['title']),
            $url === null ? '' : sprintf(
                '<a class="button" href="%s">%s</a>',
                esc_url($url),
                esc_html(__('Connect with Ballast', 'ballast-for-woocommerce'))
            ),
            esc_html($url === null
                ? __('Enter the address of Ballast (https://…) and save.', 'ballast-for-woocommerce')
                : $data['description'])
        );
    }

    /** @return bool whether it is offered: enabled, connected, and in a currency that Ballast prices in */
    public function is_available(): bool
    {
        $isPriced = defined(Currency::class . '::' . get_woocommerce_currency());
        return parent::is_available() && $isPriced && Settings::isConnected();
    }

    /**
     * @param int $order_id
     * @return array{result: string, redirect?: string}
     */
    public function process_payment($order_id): array
    {
        try {
            $url = (new Orders())->withLock((int) $order_id, $this->pay(...));
            return ['result' => 'success', 'redirect' => $url];
        } catch (BallastError | Busy | \InvalidArgumentException $error) {
            Log::write('error', "No payment for order $order_id: {$error->getMessage()}");
            wc_add_notice(
                __('This way of paying does not work now. Try again, or choose another.', 'ballast-for-woocommerce'),
                'error'
            );
            return ['result' => 'failure'];
        }
    }

    /**
     * The page to pay on. A payment that can still be paid, for the same price, is used again: one order has one open
     * payment, however often the customer goes back. Once money came for it there is no other: the page after the
     * checkout brings the order up to date.
     */
    private function pay(\WC_Order $order): string
    {
        $ballast = Settings::client();
        $total = Money::total($order);
        $ids = Orders::payments($order);
        $last = $ids === [] ? null : Orders::find(end($ids));
        if ($last !== null) {
            $fact = Table::fact($last, $total, $order->get_currency());
            $isSame = Table::isSame($last->amount, $total) && $last->currency === $order->get_currency();
            $isEnding = $fact === 'open' && $last->expiresAt->getTimestamp() <= time() + 60;
            $isOpen = in_array($fact, ['open', 'short'], true) && $last->closedAt === null;
            if ($isSame && !$isEnding && $isOpen) {
                return $last->url;
            }
            if ($fact === 'open') {
                $fact = Table::fact(self::cancelled($last), $total, $order->get_currency());
            }
            if (!in_array($fact, ['over', 'refunded'], true)) {
                return $this->get_return_url($order);
            }
        }
        $number = count($ids) + 1;
        $payment = $ballast->payments->create(
            amount: $total,
            currency: $order->get_currency(),
            redirectUrl: $this->get_return_url($order),
            expiresIn: max(60, min(86400, 60 * (int) $this->get_option('minutes', '30'))),
            metadata: [
                'shop' => Settings::home(),
                'orderId' => $order->get_id(),
                'order' => (string) $order->get_order_number(),
            ],
            options: new RequestOptions(idempotencyKey: self::key($order, "payment $number $total")),
        );
        $order->update_meta_data(Orders::PAYMENTS, [...$ids, $payment->id]);
        $order->save();
        return $payment->url;
    }

    /** Ends a payment of another price, so that it is not paid by mistake. Returns what it is then: money may have come. */
    private static function cancelled(Payment $payment): Payment
    {
        $payments = Settings::client()->payments;
        try {
            return $payments->cancel($payment->id);
        } catch (ApiStatusError $error) {
            Log::write('info', "{$payment->id} was not cancelled: {$error->getMessage()}");
            return $payments->get($payment->id);
        }
    }

    /**
     * @param int $order_id
     * @param string|float|null $amount
     * @param string $reason
     * @return bool|\WP_Error
     */
    public function process_refund($order_id, $amount = null, $reason = '')
    {
        try {
            return (new Orders())->withLock(
                (int) $order_id,
                fn(\WC_Order $order): bool => $this->refund($order, $amount, (string) $reason)
            );
        } catch (BallastError | Busy | \InvalidArgumentException $error) {
            $text = $error->getMessage();
            $isRefused = $error instanceof ApiStatusError && $error->status < 500;
            if ($error instanceof BallastError && !$isRefused) {
                $text .= ' ' . __('The refund may have been made all the same. Repeat it with the same amount and reason: it is not sent twice.', 'ballast-for-woocommerce'); // phpcs:ignore Generic.Files.LineLength
            }
            return new \WP_Error('ballast_refund', $text);
        }
    }

    private function refund(\WC_Order $order, mixed $amount, string $reason): bool
    {
        $payment = $order->get_transaction_id();
        if (!in_array($payment, Orders::payments($order), true)) {
            throw new \InvalidArgumentException(
                __('This order was not paid by Ballast.', 'ballast-for-woocommerce')
            );
        }
        $plain = $amount === null ? null : Money::plain($amount, $order->get_currency());
        // Counted by what was made here: WooCommerce's refunds may be deleted, made by hand, or two at once.
        $made = (array) ($order->get_meta(Orders::REFUNDS) ?: []);
        $number = count($made) + 1;
        $refund = Settings::client()->refunds->create(
            paymentId: $payment,
            amount: $plain,
            reason: $reason === '' ? null : $reason,
            metadata: ['shop' => Settings::home(), 'orderId' => $order->get_id()],
            options: new RequestOptions(idempotencyKey: self::key($order, "refund no. $number $plain")),
        );
        $order->update_meta_data(Orders::REFUNDS, [...$made, $refund->id]);
        $order->save();
        $order->add_order_note(Texts::refundMade($refund));
        (new Orders())->tellOfRefund($order, $refund);
        return true;
    }

    private static function key(\WC_Order $order, string $what): string
    {
        $shop = Settings::home();
        return 'woocommerce-' . hash('sha256', "$shop {$order->get_id()} {$order->get_order_key()} $what");
    }
}
