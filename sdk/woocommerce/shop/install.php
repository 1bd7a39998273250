<?php

/** Installs WordPress with both plugins: run by `run.py` in the folder of WordPress. */

declare(strict_types=1);

$_SERVER['HTTP_HOST'] = $argv[1];
define('WP_INSTALLING', true);
require getcwd() . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

wp_install('A shop', 'admin', 'admin@example.com', false, '', 'password');
global $wpdb;
$wpdb->query("CREATE TABLE {$wpdb->prefix}mini_orders (id INT AUTO_INCREMENT PRIMARY KEY, data LONGTEXT NOT NULL)");
update_option('home', "http://$argv[1]");
update_option('siteurl', "http://$argv[1]");
update_option('active_plugins', ['ballast-for-woocommerce/ballast-for-woocommerce.php', 'mini-store/mini-store.php']);
get_role('administrator')->add_cap('manage_woocommerce');
