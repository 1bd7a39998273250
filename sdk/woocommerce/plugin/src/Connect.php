<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

use Ballast\Error\ApiConnectionError;
use Ballast\Error\ApiStatusError;
use Ballast\Error\BallastError;
use Ballast\Http\CurlSender;
use Ballast\Http\Request;
use Ballast\Http\Sender;

/**
 * The button that asks Ballast for keys. The browser brings a code back, and the shop's server exchanges it: no secret
 * is in an address, and a code is of no use without the verifier that stays here.
 */
final class Connect
{
    public const BEGIN = 'ballast_connect';
    public const END = 'ballast_connected';
    private const SCOPES = 'payments:write,refunds:write,webhooks:write';
    /** Of the person who pressed the button: the way back belongs to nobody else. */
    private const PENDING = 'ballast_connect_';
    private const NOTICE = 'ballast_notice_';
    private const SECONDS = 900;

    public static function start(): void
    {
        add_action('admin_post_' . self::BEGIN, static fn() => self::leave(self::begin()));
        add_action('admin_post_' . self::END, static fn() => self::leave(self::end($_GET)));
        add_action('admin_notices', self::showNotice(...));
    }

    /** Address of the button; null while there is no address of Ballast to go to. */
    public static function button(): ?string
    {
        return self::isSafe(Settings::get('url'))
            ? wp_nonce_url(admin_url('admin-post.php?action=' . self::BEGIN), self::BEGIN)
            : null;
    }

    /** Remembers what was asked, and returns the page of Ballast on which it is agreed to. */
    public static function begin(): string
    {
        self::checkRight();
        check_admin_referer(self::BEGIN);
        $url = rtrim(Settings::get('url'), '/');
        if (!self::isSafe($url)) {
            return self::settingsPage();
        }
        $pending = ['url' => $url, 'state' => self::random(), 'verifier' => self::random()];
        set_transient(self::PENDING . get_current_user_id(), $pending, self::SECONDS);
        $back = admin_url('admin-post.php?action=' . self::END);
        $asked = [
            'name' => 'WooCommerce',
            'scopes' => self::SCOPES,
            'redirectUrl' => $back,
            'state' => $pending['state'],
            'codeChallenge' => self::base64url(hash('sha256', $pending['verifier'], true)),
        ];
        // Where the shop has another host than its administration, the webhook is registered with the keys afterwards.
        if (parse_url(Listener::url(), PHP_URL_HOST) === parse_url($back, PHP_URL_HOST)) {
            $asked['webhookUrl'] = Listener::url();
        }
        return "$url/dashboard/connect?" . http_build_query($asked, '', '&', PHP_QUERY_RFC3986);
    }

    /**
     * Fetches the keys with the code that came back, and returns the page of the settings, which says how it went.
     *
     * @param array<string, mixed> $query
     */
    public static function end(array $query): string
    {
        self::checkRight();
        $name = self::PENDING . get_current_user_id();
        $pending = get_transient($name);
        $state = $query['state'] ?? null;
        if (!is_array($pending) || !is_string($state) || !hash_equals($pending['state'], $state)) {
            return self::tell(
                __('This connection was not begun here, or took too long. Begin again.', 'ballast-for-woocommerce')
            );
        }
        delete_transient($name);
        $code = $query['code'] ?? null;
        if (!is_string($code)) {
            return self::tell(__('Access was refused in Ballast.', 'ballast-for-woocommerce'));
        }
        try {
            $made = self::exchange($pending['url'], $code, $pending['verifier']);
        } catch (ApiConnectionError $error) {
            return self::tell(
                __('The installation does not answer at this address.', 'ballast-for-woocommerce')
                . ' ' . $error->getMessage()
            );
        } catch (BallastError $error) {
            return self::tell($error->getMessage());
        }
        return self::tell(Settings::adopt(
            $pending['url'],
            $made['publicKey'],
            $made['secretKey'],
            $made['webhook'] ?? null
        ));
    }

    /**
     * @return array{publicKey: string, secretKey: string, webhook?: array{id: string, secret: string}|null}
     * @throws BallastError
     */
    private static function exchange(string $url, string $code, #[\SensitiveParameter] string $verifier): array
    {
        $sender = apply_filters('ballast_http_sender', null);
        $sender = $sender instanceof Sender ? $sender : new CurlSender();
        $reply = $sender->send(new Request(
            'POST',
            "$url/connect/exchange",
            ['Content-Type' => 'application/json', 'User-Agent' => 'ballast-for-woocommerce/' . Plugin::VERSION],
            (string) json_encode(['code' => $code, 'codeVerifier' => $verifier]),
            15.0,
            5.0
        ));
        $made = json_decode($reply->body, true);
        $hasKeys = is_string($made['publicKey'] ?? null) && is_string($made['secretKey'] ?? null);
        if ($reply->status !== 200 || !$hasKeys) {
            throw new ApiStatusError($reply);
        }
        return $made;
    }

    /** Secrets are sent there: encrypted, or within one machine. */
    private static function isSafe(string $url): bool
    {
        $parts = parse_url($url);
        if (!is_array($parts) || !isset($parts['host']) || isset($parts['user'])) {
            return false;
        }
        $isHere = in_array($parts['host'], ['localhost', '127.0.0.1', '[::1]'], true);
        return ($parts['scheme'] ?? '') === 'https' || ($isHere && ($parts['scheme'] ?? '') === 'http');
    }

    private static function checkRight(): void
    {
        if (!current_user_can('manage_woocommerce')) {
            wp_die(esc_html(__('You may not change the settings of this shop.', 'ballast-for-woocommerce')), '', 403);
        }
    }

    /** Says on the next page what is wrong; null when all is right. */
    private static function tell(?string $wrong): string
    {
        set_transient(self::NOTICE . get_current_user_id(), [$wrong], self::SECONDS);
        return self::settingsPage();
    }

    private static function showNotice(): void
    {
        $name = self::NOTICE . get_current_user_id();
        $notice = get_transient($name);
        if (is_array($notice)) {
            delete_transient($name);
            printf(
                '<div class="notice notice-%s" role="status"><p>%s</p></div>',
                $notice[0] === null ? 'success' : 'error',
                esc_html($notice[0] === null ? Settings::connectedMessage() : Settings::refusedMessage($notice[0]))
            );
        }
    }

    private static function settingsPage(): string
    {
        return admin_url('admin.php?page=wc-settings&tab=checkout&section=' . Plugin::ID);
    }

    private static function leave(string $url): never
    {
        // phpcs:ignore WordPress.Security.SafeRedirect -- to the address of Ballast in the settings, or to these
        wp_redirect($url);
        exit;
    }

    /** 48 random bytes. */
    private static function random(): string
    {
        return self::base64url(random_bytes(48));
    }

    private static function base64url(string $bytes): string
    {
        return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
    }
}
