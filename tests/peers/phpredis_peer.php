<?php
// phpredis.
declare(strict_types=1);

function connect(): Redis
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) getenv('DUELEASE_PORT'));
    if (getenv('DUELEASE_USER')) $redis->auth([getenv('DUELEASE_USER'), getenv('DUELEASE_PASSWORD')]);
    $redis->setOption(Redis::OPT_READ_TIMEOUT, 120);
    $redis->setOption(Redis::OPT_REPLY_LITERAL, true);  // Of "+SCHEDULED" give the text, not true.
    return $redis;
}

function same(mixed $got, mixed $wanted): void
{
    if ($got !== $wanted) {
        throw new Exception(substr(json_encode($got), 0, 500) . ', not ' . substr(json_encode($wanted), 0, 500));
    }
}

// For an error with the code ERR phpredis returns false and keeps the text; any other it throws.
function refused(Redis $redis, string $code, string ...$words): void
{
    try {
        same($redis->rawCommand(...$words), false);
        $error = (string) $redis->getLastError();
        $redis->clearLastError();
    } catch (RedisException $exception) {
        $error = $exception->getMessage();
    }
    if (!str_starts_with($error, "$code ")) throw new Exception($error);
}

function fields(array $reply): array
{
    $out = [];
    for ($i = 0; $i < count($reply); $i += 2) $out[$reply[$i]] = $reply[$i + 1];
    return $out;
}

$redis = connect();
$binary = implode('', array_map('chr', range(0, 255))) . "\r\n";

same($redis->rawCommand('PING'), 'PONG');
same($redis->rawCommand('SCHEDULE', 'q', 'bin', 'NOW', 'PAYLOAD', $binary), 'SCHEDULED');
same($redis->rawCommand('SCHEDULE', 'q', 'bin', 'NOW'), ['DUPLICATE', 'WAIT', 'bin']);
[[$id, $token, $attempt, , , $payload, , , $queue]] = $redis->rawCommand('CLAIM', 'q', 'w');
same([$id, $attempt, $payload, $queue], ['bin', 1, $binary, 'q']);
same($redis->rawCommand('COMPLETE', 'q', 'bin', $token, 'RESULT', $binary), 'COMPLETED');
same($redis->rawCommand('COMPLETE', 'q', 'bin', $token), 'ALREADY');
same($redis->rawCommand('COMPLETE', 'q', 'bin', $token + 1), 'STALE');

same($redis->rawCommand('SCHEDULE', 'q', 'late', '+200'), 'SCHEDULED');
$waited = connect()->rawCommand('CLAIM', 'q', 'w', 'WAIT', '60s');
same(array_column($waited, 0), ['late']);
$token = $waited[0][1];
same($redis->rawCommand('FAIL', 'q', 'late', $token, 'ERROR', 'card refused', 'RETRY', '+1h'), 'WAIT');
same($redis->rawCommand('FAIL', 'q', 'late', $token), 'STALE');

$order = fields($redis->rawCommand('ORDER', 'q', 'late'));
same([$order['state'], $order['failures'], $order['error']], ['WAIT', 1, 'card refused']);
same($redis->rawCommand('LIST', 'q', 'STATE', 'WAIT')[1], ['late']);
same(str_starts_with($redis->rawCommand('WHY', 'q', 'late'), 'due in '), true);
$stats = fields($redis->rawCommand('STATS', 'q'));
same([$stats['WAIT'], $stats['SUCCESS'], $stats['leases']], [1, 1, 0]);

$pipeline = $redis->pipeline();
for ($i = 0; $i < 1000; ++$i) $pipeline->rawCommand('SCHEDULE', 'p', (string) $i, 'NOW');
// In a pipeline phpredis makes true of any "+...", also with OPT_REPLY_LITERAL.
same($pipeline->exec(), array_fill(0, 1000, true));
$orders = $redis->rawCommand('CLAIM', 'p', 'w', 'COUNT', '1000');
same(count(array_unique(array_column($orders, 0))), 1000);
$pipeline = $redis->pipeline();
foreach ($orders as $order) $pipeline->rawCommand('COMPLETE', 'p', $order[0], $order[1]);
same($pipeline->exec(), array_fill(0, 1000, true));
same(fields($redis->rawCommand('STATS', 'p'))['SUCCESS'], 1000);

refused($redis, 'ERR', 'NONSENSE');
refused($redis, 'INVALID', 'SCHEDULE', 'q', str_repeat('x', 256), 'NOW');
refused($redis, 'NOTFOUND', 'STATS', 'none');

echo "restart\n";
fgets(STDIN);
try {
    $kept = fields($redis->rawCommand('ORDER', 'q', 'bin'));
} catch (RedisException) {  // The old connection has died: told once, then it connects again.
    $kept = fields($redis->rawCommand('ORDER', 'q', 'bin'));
}
same($kept['result'], $binary);
echo "all well\n";
