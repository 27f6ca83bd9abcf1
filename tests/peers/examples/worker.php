<?php
$server = new Redis();
$server->connect('127.0.0.1', (int) (getenv('DUELEASE_PORT') ?: 7420));
$server->setOption(Redis::OPT_READ_TIMEOUT, 60);  // Longer than WAIT.

function cancel(string $order, string $goods): void
{
    if ($goods === '') throw new Exception('an order of nothing');
    echo "nobody paid $order: cancelling $goods\n";
}

for (;;) {
    $claimed = $server->rawCommand('CLAIM', 'unpaid', 'php-' . getmypid(), 'WAIT', '30s');
    foreach ($claimed as [$order, $token, , , , $goods]) {
        try {
            cancel($order, $goods);
            $server->rawCommand('COMPLETE', 'unpaid', $order, $token);
        } catch (Exception $error) {  // It comes again later, until its tries are used up.
            $server->rawCommand('FAIL', 'unpaid', $order, $token, 'ERROR', $error->getMessage());
        }
    }
}
