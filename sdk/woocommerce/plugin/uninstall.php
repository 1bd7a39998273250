<?php

/** Takes away what the plugin keeps, but for what it wrote to orders: they are the shop's books. */

declare(strict_types=1);

defined('WP_UNINSTALL_PLUGIN') || exit;

delete_option('woocommerce_ballast_settings');
delete_option('ballast_connection');
wp_clear_scheduled_hook('ballast_check_open_orders');
