<?php
$server = new Redis();
$server->connect('127.0.0.1', (int) (getenv('DUELEASE_PORT') ?: 7420));
$server->setOption(Redis::OPT_REPLY_LITERAL, true);  // The words of a reply, not true.

[, $order, $due, $goods] = $argv;
$reply = $server->rawCommand('SCHEDULE', 'unpaid', $order, $due, 'PAYLOAD', $goods);
echo implode(' ', (array) $reply), "\n";  // SCHEDULED, or what it met.
