<?php

/**
 * A shop with the classes, functions and hooks of WooCommerce that the gateway uses, and none other. The unit tests
 * keep its orders in memory, the shop inside WordPress in a table: `mini_load`, `mini_save`, `mini_ids` are theirs.
 */

declare(strict_types=1);

class WC_Order
{
    /** @var array<string, mixed> */
    private array $data;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        $this->data = $data + [
            'id' => 0, 'status' => 'pending', 'total' => '0', 'currency' => 'EUR', 'method' => '', 'transaction' => '',
            'meta' => [], 'notes' => [], 'refunds' => [], 'key' => 'wc_order_' . bin2hex(random_bytes(6)), 'stock' => 0,
            'mails' => [],
        ];
    }

    public function get_id(): int
    {
        return $this->data['id'];
    }

    public function get_order_number(): string
    {
        return (string) $this->data['id'];
    }

    public function get_order_key(): string
    {
        return $this->data['key'];
    }

    public function get_status(): string
    {
        return $this->data['status'];
    }

    public function get_total(): string
    {
        return $this->data['total'];
    }

    public function get_currency(): string
    {
        return $this->data['currency'];
    }

    public function get_payment_method(): string
    {
        return $this->data['method'];
    }

    public function set_payment_method(string $method): void
    {
        $this->data['method'] = $method;
    }

    public function set_total(string $total): void
    {
        $this->data['total'] = $total;
    }

    public function get_transaction_id(): string
    {
        return $this->data['transaction'];
    }

    public function get_meta(string $key): mixed
    {
        return $this->data['meta'][$key] ?? '';
    }

    public function update_meta_data(string $key, mixed $value): void
    {
        $this->data['meta'][$key] = $value;
    }

    public function delete_meta_data(string $key): void
    {
        unset($this->data['meta'][$key]);
    }

    /** @return list<array<string, mixed>> */
    public function get_refunds(): array
    {
        return $this->data['refunds'];
    }

    public function is_paid(): bool
    {
        return in_array($this->data['status'], ['processing', 'completed'], true);
    }

    public function add_order_note(string $note, int $forCustomer = 0): void
    {
        $this->data['notes'][] = $note;
        if ($forCustomer) {
            $this->data['mails'][] = $note;
        }
        $this->save();
    }

    /** @return list<string> */
    public function notes(): array
    {
        return $this->data['notes'];
    }

    /** @return list<string> */
    public function mails(): array
    {
        return $this->data['mails'];
    }

    public function give_stock_back(): void
    {
        $this->data['stock'] = 0;
        $this->save();
    }

    /** How often its stock was taken and not given back. */
    public function stock(): int
    {
        return $this->data['stock'];
    }

    public function update_status(string $status, string $note = ''): void
    {
        $old = $this->data['status'];
        $this->data['status'] = $status;
        if ($note !== '') {
            $this->data['notes'][] = $note;
        }
        $takes = in_array($status, ['on-hold', 'processing', 'completed'], true);
        $gives = in_array($status, ['cancelled', 'pending'], true);
        if ($takes && $this->data['stock'] === 0) {
            $this->data['stock'] = 1;
        } elseif ($gives) {
            $this->data['stock'] = 0;
        }
        $this->save();
        do_action("woocommerce_order_status_{$old}_to_$status", $this->get_id(), $this);
    }

    /** As WooCommerce: only from these states, and once. */
    public function payment_complete(string $transaction = ''): bool
    {
        if (!in_array($this->data['status'], ['on-hold', 'pending', 'failed', 'cancelled'], true)) {
            return false;
        }
        $this->data['transaction'] = $transaction;
        $this->update_status('processing');
        do_action('woocommerce_payment_complete', $this->get_id());
        return true;
    }

    public function save(): int
    {
        $this->data['id'] = mini_save($this->data);
        return $this->data['id'];
    }

    /** @param list<array<string, mixed>> $refunds */
    public function set_refunds(array $refunds): void
    {
        $this->data['refunds'] = $refunds;
    }
}

/** What *Refund … via Ballast* on an order's page does. */
function wc_create_refund(array $args): bool|WP_Error
{
    $order = wc_get_order($args['order_id']);
    $before = $order->get_refunds();
    $order->set_refunds([...$before, ['amount' => $args['amount'], 'reason' => $args['reason'] ?? '']]);
    $order->save();
    $result = (new Ballast\WooCommerce\Gateway())->process_refund(
        $order->get_id(),
        $args['amount'],
        $args['reason'] ?? ''
    );
    $order = wc_get_order($args['order_id']);
    if ($result instanceof WP_Error) {
        $order->set_refunds($before);
        $order->save();
        return $result;
    }
    if (array_sum(array_column($order->get_refunds(), 'amount')) >= (float) $order->get_total()) {
        $order->update_status('refunded');
    }
    return true;
}

function wc_maybe_increase_stock_levels(WC_Order $order): void
{
    $order->give_stock_back();
}

function wc_get_order(mixed $id): WC_Order|false
{
    $data = mini_load((int) $id);
    return $data === null ? false : new WC_Order($data);
}

/**
 * @param array<string, mixed> $args
 * @return list<int>
 */
function wc_get_orders(array $args): array
{
    return array_values(array_filter(mini_ids(), static function (int $id) use ($args): bool {
        $order = wc_get_order($id);
        return $order->get_payment_method() === $args['payment_method']
            && in_array($order->get_status(), $args['status'], true);
    }));
}

function wc_format_decimal(string $number, int $digits): string
{
    return number_format((float) $number, $digits, '.', '');
}

function get_woocommerce_currency(): string
{
    return (string) get_option('mini_currency', 'EUR');
}

function wc_add_notice(string $message, string $kind): void
{
    $GLOBALS['mini_notices'][] = "$kind: $message";
}

function wc_get_logger(): object
{
    return new class {
        public function log(string $level, string $message, array $context): void
        {
            $GLOBALS['mini_log'][] = "$level: $message";
        }
    };
}

class WC_Admin_Settings
{
    public static function add_error(string $text): void
    {
        $GLOBALS['mini_notices'][] = "error: $text";
    }

    public static function add_message(string $text): void
    {
        $GLOBALS['mini_notices'][] = "message: $text";
    }
}

abstract class WC_Payment_Gateway
{
    public string $id = '';
    public string $method_title = '';
    public string $method_description = '';
    public bool $has_fields = false;
    /** @var list<string> */
    public array $supports = [];
    /** @var array<string, array<string, mixed>> */
    public array $form_fields = [];
    public string $title = '';
    public string $description = '';
    public string $enabled = 'no';
    /** @var array<string, string> */
    public array $settings = [];

    public function init_settings(): void
    {
        $this->settings = (array) get_option("woocommerce_{$this->id}_settings", []);
    }

    public function get_option(string $name, string $default = ''): string
    {
        return (string) ($this->settings[$name] ?? $this->form_fields[$name]['default'] ?? $default);
    }

    public function process_admin_options(): bool
    {
        foreach ($this->form_fields as $name => $field) {
            $posted = $_POST["woocommerce_{$this->id}_$name"] ?? ($field['type'] === 'checkbox' ? 'no' : '');
            $this->settings[$name] = is_string($posted) ? stripslashes($posted) : '';
        }
        return update_option("woocommerce_{$this->id}_settings", $this->settings);
    }

    public function is_available(): bool
    {
        return $this->enabled === 'yes';
    }

    public function get_return_url(WC_Order $order): string
    {
        return home_url("/?mini=received&order={$order->get_id()}&key={$order->get_order_key()}");
    }
}

function WC(): object
{
    return new class {
        public function api_request_url(string $name): string
        {
            return home_url("/?wc-api=$name");
        }
    };
}
