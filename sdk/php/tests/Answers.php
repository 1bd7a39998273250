<?php

declare(strict_types=1);

namespace Ballast\Tests;

use Ballast\Http\Request;
use Ballast\Http\Response;
use Ballast\Http\Sender;

/** Replies with what it was given, in turn, and keeps the requests. */
final class Answers implements Sender
{
    /** @var list<Request> */
    public array $requests = [];

    /** @param list<Response|\Throwable> $answers */
    public function __construct(private array $answers)
    {
    }

    public function send(Request $request): Response
    {
        $this->requests[] = $request;
        $answer = array_shift($this->answers) ?? throw new \LogicException('a request too many');
        return $answer instanceof \Throwable ? throw $answer : $answer;
    }

    /**
     * @param array<string, mixed> $value
     * @param array<string, string> $headers
     */
    public static function json(int $status, array $value, array $headers = []): Response
    {
        return new Response($status, $headers, (string) json_encode($value));
    }

    /** @param array<string, mixed> $more */
    public static function error(
        int $status,
        string $type,
        string $code,
        array $headers = [],
        array $more = [],
    ): Response {
        $error = ['type' => $type, 'code' => $code, 'message' => 'No.', 'requestId' => 'req_1'] + $more;
        return self::json($status, ['error' => $error], $headers);
    }
}
