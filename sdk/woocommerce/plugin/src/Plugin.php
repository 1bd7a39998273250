<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

/** Wires the plugin to the hooks of WordPress and WooCommerce. */
final class Plugin
{
    public const ID = 'ballast';
    public const VERSION = '0.1.0';
    private const CHECK = 'ballast_check_open_orders';

    private static string $file = '';

    public static function start(string $file): void
    {
        self::$file = $file;
        register_deactivation_hook($file, static fn() => wp_clear_scheduled_hook(self::CHECK));
        add_action('before_woocommerce_init', self::declareCompatibility(...));
        // Not within plugins_loaded: WooCommerce loads its blocks there, before this plugin's turn.
        add_action('woocommerce_blocks_loaded', self::registerBlock(...));
        add_action('init', static fn() => load_plugin_textdomain(
            'ballast-for-woocommerce',
            false,
            basename(dirname($file)) . '/languages'
        ));
        add_action('plugins_loaded', self::load(...));
    }

    public static function url(string $path): string
    {
        return plugins_url($path, self::$file);
    }

    private static function load(): void
    {
        if (!class_exists('WC_Payment_Gateway')) {
            return;
        }
        $orders = new Orders();
        add_filter('woocommerce_payment_gateways', static fn(array $gateways): array => [...$gateways, Gateway::class]);
        add_action('woocommerce_api_' . self::ID, static fn() => (new Listener($orders))->answer());
        add_action('woocommerce_thankyou_' . self::ID, static fn($id) => $orders->refreshQuietly((int) $id));
        add_filter('woocommerce_cancel_unpaid_order', $orders->mayCancelUnpaid(...), 10, 2);
        Connect::start();
        add_action(self::CHECK, $orders->refreshOpen(...));
        if (!wp_next_scheduled(self::CHECK)) {
            wp_schedule_event(time(), 'hourly', self::CHECK);
        }
    }

    /** Orders are used by WooCommerce's own functions alone, wherever it keeps them. */
    private static function declareCompatibility(): void
    {
        $features = '\Automattic\WooCommerce\Utilities\FeaturesUtil';
        if (class_exists($features)) {
            $features::declare_compatibility('custom_order_tables', self::$file, true);
            $features::declare_compatibility('cart_checkout_blocks', self::$file, true);
        }
    }

    private static function registerBlock(): void
    {
        if (class_exists('\Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType')) {
            add_action(
                'woocommerce_blocks_payment_method_type_registration',
                static fn($registry) => $registry->register(new BlockMethod())
            );
        }
    }
}
