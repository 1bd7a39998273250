<?php

declare(strict_types=1);

namespace Ballast\WooCommerce\Tests;

use Ballast\WooCommerce\Connect;
use Ballast\WooCommerce\Gateway;
use Ballast\WooCommerce\Listener;
use Ballast\WooCommerce\Plugin;
use Ballast\WooCommerce\Settings;
use World;

final class ConnectTest extends ShopTestCase
{
    private const PENDING = 'ballast_connect_1';

    protected function setUp(): void
    {
        parent::setUp();
        World::$options = ['woocommerce_ballast_settings' => ['enabled' => 'yes', 'url' => 'https://pay.example.com/']];
    }

    /** Presses the button; the query of the page of Ballast that it leads to. @return array<string, string> */
    private function asked(): array
    {
        $url = Connect::begin();
        self::assertStringStartsWith('https://pay.example.com/dashboard/connect?', $url);
        parse_str((string) parse_url($url, PHP_URL_QUERY), $asked);
        $this->api->codes['the code'] = $asked['codeChallenge'];
        return $asked;
    }

    private function told(): ?string
    {
        return World::$transients['ballast_notice_1'][0];
    }

    public function testTheButtonAsksForWhatTheGatewayNeedsAndKeepsTheVerifier(): void
    {
        $asked = $this->asked();
        $pending = World::$transients[self::PENDING];
        self::assertSame(
            ['name', 'scopes', 'redirectUrl', 'state', 'codeChallenge', 'webhookUrl'],
            array_keys($asked)
        );
        self::assertSame(Listener::url(), $asked['webhookUrl']);
        self::assertSame(admin_url('admin-post.php?action=ballast_connected'), $asked['redirectUrl']);
        self::assertSame($pending['state'], $asked['state']);
        self::assertSame(43, strlen($asked['codeChallenge']));
        self::assertSame(64, strlen($pending['verifier']));
        self::assertNotContains($pending['verifier'], $asked);
        self::assertNotSame($asked['state'], $this->asked()['state']);
    }

    public function testAShopWithAnotherHostThanItsAdministrationAsksForNoWebhook(): void
    {
        World::$homeUrl = 'https://www.shop.example';
        self::assertArrayNotHasKey('webhookUrl', $this->asked());
    }

    public function testTheCodeIsExchangedAndTheKeysAreThoseOfTheSettings(): void
    {
        $page = Connect::end(['code' => 'the code', 'state' => $this->asked()['state']]);
        self::assertStringEndsWith('admin.php?page=wc-settings&tab=checkout&section=ballast', $page);
        self::assertNull($this->told());
        self::assertTrue(Settings::isConnected());
        self::assertSame('POST https://pay.example.com/connect/exchange', $this->api->log[0]);
        self::assertSame(
            ['https://pay.example.com', 'pk_test_2', 'sk_test_2', 'yes'],
            array_map(Settings::get(...), ['url', 'public_key', 'secret_key', 'enabled'])
        );
        self::assertSame([FakeApi::SECRET], Settings::webhookSecrets());
        self::assertNotContains('POST webhooks', $this->api->log, 'the webhook is the one that was given');
        self::assertArrayNotHasKey(self::PENDING, World::$transients);
        Connect::end(['code' => 'the code', 'state' => 'of-nobody']);
        self::assertNotNull($this->told(), 'the way back is open once');
        self::assertSame('sk_test_2', Settings::get('secret_key'));
    }

    public function testConnectingAgainEndsTheOldWebhook(): void
    {
        $webhooks = [];
        foreach ([1, 2] as $_) {
            Connect::end(['code' => 'the code', 'state' => $this->asked()['state']]);
            $webhooks[] = World::$options[Settings::CONNECTION]['webhook'];
        }
        self::assertNotSame(...$webhooks);
        self::assertContains("DELETE webhooks/$webhooks[0]", $this->api->log);
        self::assertNotContains("DELETE webhooks/$webhooks[1]", $this->api->log);
    }

    /** @return array<string, array{callable(): mixed}> */
    public static function intruders(): array
    {
        return [
            'another state' => [static fn() => Connect::end(['code' => 'the code', 'state' => 'x'])],
            'no state' => [static fn() => Connect::end(['code' => 'the code'])],
            'a list as the state' => [static fn() => Connect::end(['code' => 'the code', 'state' => ['x']])],
            'another person' => [static function (): void {
                $state = World::$transients[self::PENDING]['state'];
                World::$user = 2;
                Connect::end(['code' => 'the code', 'state' => $state]);
            }],
            'another code' => [static fn() => Connect::end([
                'code' => 'mine', 'state' => World::$transients[self::PENDING]['state'],
            ])],
            'a refusal' => [static fn() => Connect::end([
                'error' => 'access_denied', 'state' => World::$transients[self::PENDING]['state'],
            ])],
            'no installation' => [static function (): void {
                World::$transients[self::PENDING]['url'] = 'https://elsewhere.example';
                World::$api = new class implements \Ballast\Http\Sender {
                    public function send(\Ballast\Http\Request $request): \Ballast\Http\Response
                    {
                        return new \Ballast\Http\Response(200, [], '<html>');
                    }
                };
                Connect::end(['code' => 'the code', 'state' => World::$transients[self::PENDING]['state']]);
            }],
        ];
    }

    /** @dataProvider intruders */
    public function testWhatIsNotTheWayBackStoresNothing(callable $come): void
    {
        $this->asked();
        $come();
        self::assertSame('', Settings::get('secret_key'));
        self::assertFalse(Settings::isConnected());
        self::assertNotNull(World::$transients['ballast_notice_' . World::$user][0]);
    }

    public function testNobodyWithoutTheRightOrTheNonceBeginsOrEndsAnything(): void
    {
        $state = $this->asked()['state'];
        foreach (
            [
                [false, true, Connect::begin(...)],
                [false, true, static fn() => Connect::end(['code' => 'the code', 'state' => $state])],
                [true, false, Connect::begin(...)],
            ] as [World::$mayManage, World::$hasNonce, $act]
        ) {
            try {
                $act();
                self::fail('it was let through');
            } catch (\RuntimeException) {
                self::assertSame('', Settings::get('secret_key'));
            }
        }
        self::assertSame($state, World::$transients[self::PENDING]['state']);
    }

    /** @testWith ["", false]
     *            ["pay.example.com", false]
     *            ["http://pay.example.com", false]
     *            ["https://me:secret@pay.example.com", false]
     *            ["javascript://pay.example.com", false]
     *            ["https://pay.example.com", true]
     *            ["http://localhost:8000", true]
     */
    public function testTheButtonIsThereForAnAddressToWhichSecretsMayBeSent(string $url, bool $is): void
    {
        World::$options['woocommerce_ballast_settings']['url'] = $url;
        $gateway = new Gateway();
        $row = $gateway->generate_ballast_connect_html('connect', $gateway->form_fields['connect']);
        self::assertSame($is, str_contains($row, '>Connect with Ballast</a>'));
        self::assertSame($is, str_contains(Connect::begin(), '/dashboard/connect?'));
        if ($is) {
            self::assertStringContainsString('&amp;_wpnonce=', $row);
        }
    }

    public function testSavingTheAddressAloneLeadsToTheButton(): void
    {
        $_POST = ['woocommerce_ballast_url' => 'https://pay.example.com'];
        (new Gateway())->process_admin_options();
        self::assertSame(['message: Saved. Now connect by the button, or enter a key pair.'], $GLOBALS['mini_notices']);
    }

    public function testTheHooksOfTheWayAreThere(): void
    {
        Plugin::start('/plugins/ballast/ballast.php');
        foreach (World::$hooks['plugins_loaded'] as $load) {
            $load();
        }
        foreach (['admin_post_ballast_connect', 'admin_post_ballast_connected', 'admin_notices'] as $hook) {
            self::assertArrayHasKey($hook, World::$hooks);
        }
        self::assertArrayNotHasKey('admin_post_nopriv_ballast_connected', World::$hooks);
    }
}
