<?php

/** The functions of WordPress that the gateway uses, in memory, for the unit tests. */

declare(strict_types=1);

define('ABSPATH', __DIR__);
define('DB_NAME', 'test');
define('DAY_IN_SECONDS', 86400);

final class World
{
    /** @var array<string, mixed> */
    public static array $options = [];
    /** @var array<int, array<string, mixed>> */
    public static array $orders = [];
    /** @var list<string> */
    public static array $actions = [];
    /** @var array<string, list<callable>> */
    public static array $hooks = [];
    public static bool $isLocked = false;
    /** What `home_url` says: a filter, a language or the request changes it. */
    public static string $homeUrl = '';
    public static ?Ballast\Http\Sender $api = null;
    public static int $user = 1;
    /** Whether the person may manage the shop, and the nonce of the request is right. */
    public static bool $mayManage = true;
    public static bool $hasNonce = true;
    /** @var array<string, mixed> */
    public static array $transients = [];

    public static function reset(): void
    {
        self::$options = self::$orders = self::$actions = self::$transients = [];
        self::$user = 1;
        self::$mayManage = self::$hasNonce = true;
        self::$isLocked = false;
        self::$homeUrl = 'https://shop.example';
        self::$api = null;
        $GLOBALS['mini_notices'] = $GLOBALS['mini_log'] = [];
        $_POST = [];
    }
}

final class WP_Error
{
    public function __construct(public readonly string $code, private readonly string $message)
    {
    }

    public function get_error_message(): string
    {
        return $this->message;
    }
}

$GLOBALS['wpdb'] = new class {
    public string $prefix = 'wp_';

    public function prepare(string $query, mixed ...$values): string
    {
        return "$query " . json_encode($values);
    }

    public function get_var(string $query): string
    {
        return str_contains($query, 'GET_LOCK') && World::$isLocked ? '0' : '1';
    }
};

function mini_load(int $id): ?array
{
    return World::$orders[$id] ?? null;
}

function mini_save(array $data): int
{
    $id = $data['id'] ?: count(World::$orders) + 1;
    World::$orders[$id] = ['id' => $id] + $data;
    return $id;
}

/** @return list<int> */
function mini_ids(): array
{
    return array_keys(World::$orders);
}

function add_action(string $hook, callable $callback, int $priority = 10, int $arguments = 1): void
{
    World::$hooks[$hook][] = $callback;
}

function add_filter(string $hook, callable $callback, int $priority = 10, int $arguments = 1): void
{
    World::$hooks[$hook][] = $callback;
}

function do_action(string $hook, mixed ...$arguments): void
{
    World::$actions[] = $hook;
}

function apply_filters(string $hook, mixed $value): mixed
{
    return $hook === 'ballast_http_sender' ? World::$api : $value;
}

function get_option(string $name, mixed $default = false): mixed
{
    return World::$options[$name] ?? ($name === 'home' ? 'https://shop.example' : $default);
}

function update_option(string $name, mixed $value, bool $autoload = true): bool
{
    World::$options[$name] = $value;
    return true;
}

function delete_option(string $name): bool
{
    unset(World::$options[$name]);
    return true;
}

function __(string $text, string $domain): string
{
    return $text;
}

function home_url(string $path = ''): string
{
    return World::$homeUrl . $path;
}

function get_bloginfo(string $what): string
{
    return 'A shop';
}

function clean_post_cache(int $id): void
{
}

function wp_cache_delete(mixed $key, string $group): void
{
}

/** WooCommerce's cache of orders that are in tables of their own. */
final class MiniOrderCache
{
    public function remove(int $id): bool
    {
        World::$actions[] = "uncached $id";
        return true;
    }
}

class_alias(MiniOrderCache::class, 'Automattic\WooCommerce\Caches\OrderCache');

function wc_get_container(): object
{
    return new class {
        public function get(string $class): object
        {
            return new $class();
        }
    };
}

function register_deactivation_hook(string $file, callable $callback): void
{
}

function wp_clear_scheduled_hook(string $hook): void
{
    World::$actions[] = "cleared $hook";
}

function get_current_user_id(): int
{
    return World::$user;
}

function current_user_can(string $capability): bool
{
    return $capability === 'manage_woocommerce' && World::$mayManage;
}

function check_admin_referer(string $action): int
{
    return World::$hasNonce ? 1 : wp_die('The link you followed has expired.');
}

function wp_nonce_url(string $url, string $action): string
{
    return "$url&_wpnonce=of-$action";
}

function admin_url(string $path = ''): string
{
    return "https://shop.example/wp-admin/$path";
}

function wp_die(string $message, string $title = '', mixed $arguments = []): never
{
    throw new RuntimeException($message);
}

function esc_html(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES);
}

function esc_url(string $url): string
{
    return htmlspecialchars($url, ENT_QUOTES);
}

function set_transient(string $name, mixed $value, int $seconds): bool
{
    World::$transients[$name] = $value;
    return true;
}

function get_transient(string $name): mixed
{
    return World::$transients[$name] ?? false;
}

function delete_transient(string $name): bool
{
    unset(World::$transients[$name]);
    return true;
}

function wp_next_scheduled(string $hook): int|false
{
    return 1;
}
