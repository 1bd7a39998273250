<?php

/**
 * Plugin Name: Mini store
 * Description: A shop that fires the hooks of WooCommerce which the gateway uses, for its tests inside WordPress.
 * Version:     1
 */

declare(strict_types=1);

namespace Automattic\WooCommerce\Utilities {
    final class FeaturesUtil
    {
        /** @var list<string> */
        public static array $declared = [];

        public static function declare_compatibility(string $feature, string $file, bool $is): bool
        {
            self::$declared[] = $feature;
            return $is;
        }
    }
}

namespace Automattic\WooCommerce\Blocks\Payments\Integrations {
    abstract class AbstractPaymentMethodType
    {
        protected $name = '';
        /** @var array<string, mixed> */
        protected $settings = [];

        abstract public function initialize();

        abstract public function is_active();

        public function get_name(): string
        {
            return $this->name;
        }
    }
}

namespace {
    require __DIR__ . '/woocommerce.php';

    function mini_load(int $id): ?array
    {
        global $wpdb;
        $data = $wpdb->get_var($wpdb->prepare("SELECT data FROM {$wpdb->prefix}mini_orders WHERE id = %d", $id));
        return $data === null ? null : ['id' => $id] + json_decode($data, true);
    }

    function mini_save(array $data): int
    {
        global $wpdb;
        $text = json_encode($data, JSON_THROW_ON_ERROR);
        if ($data['id']) {
            $wpdb->update("{$wpdb->prefix}mini_orders", ['data' => $text], ['id' => $data['id']]);
            return $data['id'];
        }
        $wpdb->insert("{$wpdb->prefix}mini_orders", ['data' => $text]);
        return $wpdb->insert_id;
    }

    /** @return list<int> */
    function mini_ids(): array
    {
        global $wpdb;
        return array_map(intval(...), $wpdb->get_col("SELECT id FROM {$wpdb->prefix}mini_orders ORDER BY id"));
    }

    final class MiniStore
    {
        /** @var list<object> */
        public array $blocks = [];

        public static function start(): void
        {
            $store = new self();
            add_filter('locale', fn(string $locale): string => get_option('mini_language') ?: $locale);
            add_action('plugins_loaded', fn() => do_action('before_woocommerce_init'), 5);
            add_action('plugins_loaded', fn() => do_action('woocommerce_blocks_loaded'), 20);
            add_action('init', $store->answerApi(...), 20);
            add_action('template_redirect', $store->show(...), 0);
            add_action('admin_menu', fn() => add_menu_page(
                'Store',
                'Store',
                'manage_woocommerce',
                'wc-settings',
                $store->admin(...)
            ));
            add_action('woocommerce_payment_complete', fn($id) => add_option("mini_completed_$id", '0') + update_option(
                "mini_completed_$id",
                (string) (1 + (int) get_option("mini_completed_$id"))
            ));
        }

        public function register(object $method): void
        {
            $this->blocks[] = $method;
        }

        private function answerApi(): void
        {
            if (isset($_GET['wc-api'])) {
                do_action('woocommerce_api_' . sanitize_key($_GET['wc-api']));
            }
        }

        private function show(): void
        {
            $pages = [
                'checkout' => $this->checkout(...), 'blocks' => $this->blocks(...), 'received' => $this->received(...),
                'orders' => $this->orders(...), 'cron' => $this->cron(...),
                'language' => fn() => update_option('mini_language', $_GET['to']),
            ];
            $page = $pages[$_GET['mini'] ?? ''] ?? null;
            if ($page !== null) {
                nocache_headers();
                status_header(200);
                $page();
                exit;
            }
        }

        /** @return array<string, WC_Payment_Gateway> those that can be used now */
        private static function gateways(): array
        {
            $found = [];
            foreach (apply_filters('woocommerce_payment_gateways', []) as $class) {
                $gateway = new $class();
                if ($gateway->is_available()) {
                    $found[$gateway->id] = $gateway;
                }
            }
            return $found;
        }

        /** The order of `order`, or a new one; paid by the chosen way. */
        private function place(): void
        {
            $order = wc_get_order((int) ($_REQUEST['order'] ?? 0)) ?: new WC_Order([
                'total' => (string) ($_POST['total'] ?? '25.50'), 'currency' => get_woocommerce_currency(),
            ]);
            $order->set_payment_method($_POST['method']);
            $order->save();
            if ($_POST['method'] === 'card') {
                $order->payment_complete("ch_{$order->get_id()}");
                $result = ['result' => 'success', 'redirect' => home_url("/?mini=received&order={$order->get_id()}")];
            } else {
                $result = self::gateways()[$_POST['method']]->process_payment($order->get_id());
            }
            if ($result['result'] === 'success') {
                // phpcs:ignore WordPress.Security.SafeRedirect
                wp_redirect($result['redirect']);
                exit;
            }
            echo '<p role="alert">' . esc_html(implode(' ', $GLOBALS['mini_notices'] ?? [])) . '</p>';
        }

        private function checkout(): void
        {
            echo '<!doctype html><html lang="en"><title>Checkout</title><h1>Checkout</h1>';
            if ($_POST) {
                $this->place();
            }
            echo '<form method="post"><label>Total <input name="total" value="25.50"></label>';
            foreach (self::gateways() as $gateway) {
                printf(
                    '<p><label><input type="radio" name="method" value="%s" checked> %s</label> <em>%s</em></p>',
                    esc_attr($gateway->id),
                    esc_html($gateway->title),
                    esc_html($gateway->description)
                );
            }
            echo '<p><label><input type="radio" name="method" value="card"> Card</label></p>'
                . '<button>Place order</button></form>';
        }

        /** The checkout of blocks: the ways of paying are registered by their scripts. */
        private function blocks(): void
        {
            do_action('woocommerce_blocks_payment_method_type_registration', $this);
            $data = [];
            wp_register_script('wc-settings', false, [], '1', false);
            wp_register_script('wc-blocks-registry', false, ['wc-settings', 'wp-element'], '1', false);
            foreach ($this->blocks as $method) {
                $method->initialize();
                if ($method->is_active()) {
                    $data["{$method->get_name()}_data"] = $method->get_payment_method_data();
                    array_map(wp_enqueue_script(...), $method->get_payment_method_script_handles());
                }
            }
            wp_add_inline_script('wc-settings', 'window.wc = { wcSettings: { getSetting: (name, other) => '
                . '(' . wp_json_encode((object) $data) . ')[name] ?? other } };');
            wp_add_inline_script('wc-blocks-registry', <<<'SCRIPT'
                window.wc.wcBlocksRegistry = {
                    registerPaymentMethod(method) {
                        if (!method.canMakePayment()) return;
                        const place = document.getElementById("methods").appendChild(document.createElement("div"));
                        const { createElement: e } = wp.element;
                        wp.element.render(
                            e("label", null, e("input", { type: "radio", name: "method", value: method.name,
                                defaultChecked: true, "aria-label": method.ariaLabel }), method.label, method.content),
                            place,
                        );
                    },
                };
                SCRIPT);
            echo '<!doctype html><html lang="en"><head><title>Checkout</title></head><body><h1>Checkout of blocks</h1>';
            echo '<form method="post" action="/?mini=checkout"><label>Total <input name="total" value="25.50"></label>';
            echo '<div id="methods"></div><button>Place order</button></form>';
            wp_print_scripts();
            print_footer_scripts();
        }

        private function received(): void
        {
            $order = wc_get_order((int) $_GET['order']);
            do_action("woocommerce_thankyou_{$order->get_payment_method()}", $order->get_id());
            $order = wc_get_order($order->get_id());
            echo '<!doctype html><html lang="en"><title>Received</title><h1>Thank you</h1><p>' . $order->get_status();
        }

        /** All orders, for the test. */
        private function orders(): void
        {
            $orders = [];
            foreach (mini_ids() as $id) {
                $orders[$id] = mini_load($id) + ['completed' => (int) get_option("mini_completed_$id", '0')];
            }
            $declared = \Automattic\WooCommerce\Utilities\FeaturesUtil::$declared;
            wp_send_json(['orders' => (object) $orders, 'declared' => $declared]);
        }

        /** What WooCommerce's and the gateway's own scheduled work does. */
        private function cron(): void
        {
            do_action('ballast_check_open_orders');
            foreach (mini_ids() as $id) {
                $order = wc_get_order($id);
                $may = apply_filters('woocommerce_cancel_unpaid_order', true, $order);
                if ($order->get_status() === 'pending' && $may) {
                    $order->update_status('cancelled', 'Unpaid order cancelled');
                }
            }
            echo 'done';
        }

        /** The settings of the gateway, and refunds of orders. */
        private function admin(): void
        {
            $gateway = new (apply_filters('woocommerce_payment_gateways', [])[0])();
            if (isset($_POST['refund'])) {
                $result = wc_create_refund(['order_id' => (int) $_POST['refund'], 'amount' => $_POST['amount']]);
                $text = $result === true ? 'refunded' : $result->get_error_message();
                echo '<p role="status">' . esc_html($text) . '</p>';
            } elseif ($_POST) {
                do_action("woocommerce_update_options_payment_gateways_{$gateway->id}");
                echo '<p role="status">' . esc_html(implode(' ', $GLOBALS['mini_notices'])) . '</p>';
                $gateway = new ($gateway::class)();
            }
            echo '<h1>' . esc_html($gateway->method_title) . '</h1><form method="post">';
            foreach ($gateway->form_fields as $name => $field) {
                if (method_exists($gateway, $row = "generate_{$field['type']}_html")) {
                    echo '<table>' . $gateway->$row($name, $field) . '</table>';
                    continue;
                }
                $id = "woocommerce_{$gateway->id}_$name";
                $value = $gateway->get_option($name);
                $is = $field['type'] === 'checkbox';
                printf(
                    '<p><label>%s <input name="%s" type="%s" value="%s" %s></label> <em>%s</em></p>',
                    esc_html($field['title']),
                    esc_attr($id),
                    $is ? 'checkbox' : ($field['type'] === 'password' ? 'password' : 'text'),
                    $is ? 'yes' : esc_attr($value),
                    $is && $value === 'yes' ? 'checked' : '',
                    esc_html($field['description'] ?? '')
                );
            }
            echo '<button>Save changes</button></form><form method="post"><label>Order <input name="refund"></label>'
                . '<label>Amount <input name="amount"></label><button>Refund via Ballast</button></form>';
        }
    }

    MiniStore::start();
}
