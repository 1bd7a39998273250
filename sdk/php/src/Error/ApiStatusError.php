<?php

declare(strict_types=1);

namespace Ballast\Error;

use Ballast\Http\Response;

/**
 * A reply that says no. The subclasses follow the API's `type`; let programs decide by `$code`, which says more.
 *
 * @property-read string|null $code of the error, such as `missing_parameter`
 */
class ApiStatusError extends BallastError
{
    private const TYPES = [
        'invalid_request_error' => InvalidRequestError::class,
        'authentication_error' => AuthenticationError::class,
        'permission_error' => PermissionDeniedError::class,
        'not_found_error' => NotFoundError::class,
        'idempotency_error' => IdempotencyError::class,
        'rate_limit_error' => RateLimitError::class,
        'api_error' => ServerError::class,
    ];

    /** @var string|null the error's code; PHP declares the property without a type */
    public $code;

    public readonly int $status;
    public readonly string $type;
    public readonly ?string $param;
    public readonly ?string $requestId;

    /** @var list<array{code?: string, message?: string, param?: string|null}> all faults, when there are several */
    public readonly array $errors;

    final public function __construct(public readonly Response $response)
    {
        $reply = json_decode($response->body, true);
        $error = is_array($reply) && is_array($reply['error'] ?? null) ? $reply['error'] : [];
        $message = $error['message'] ?? "The reply has status {$response->status} and is not of the API.";
        parent::__construct(is_string($message) ? $message : 'The request was refused.');
        $this->status = $response->status;
        $this->type = self::text($error, 'type') ?? ($response->status < 500 ? 'invalid_request_error' : 'api_error');
        $this->code = self::text($error, 'code');
        $this->param = self::text($error, 'param');
        $this->requestId = self::text($error, 'requestId') ?? $response->requestId();
        $errors = $error['errors'] ?? [];
        $this->errors = is_array($errors) ? array_values(array_filter($errors, is_array(...))) : [];
    }

    /** The error of a reply, by its type. A type that this client does not know is an `ApiStatusError`. */
    public static function of(Response $response): self
    {
        $plain = new self($response);
        $class = self::TYPES[$plain->type] ?? self::class;
        return $class === self::class ? $plain : new $class($response);
    }

    /** @param array<mixed> $error */
    private static function text(array $error, string $name): ?string
    {
        return is_string($error[$name] ?? null) ? $error[$name] : null;
    }
}
