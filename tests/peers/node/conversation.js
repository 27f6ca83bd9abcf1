// What each client library for Node says.
//
// `connect()` gives {ask(words, {binary}), pipeline(list of words), close()}. Replies come as text, or as buffers
// with `binary`; an error reply is thrown as an `ErrorReply`, and stands as one among the replies of a pipeline.
'use strict';
const assert = require('node:assert/strict');
const readline = require('node:readline');

function fields(reply) {
  const out = {};
  for (let i = 0; i < reply.length; i += 2) out[reply[i]] = reply[i + 1];
  return out;
}

async function converse(connect, ErrorReply) {
  const client = await connect();
  const ask = (...words) => client.ask(words);
  const refused = (code, ...words) =>
    assert.rejects(ask(...words), (error) => error instanceof ErrorReply && error.message.startsWith(code + ' '));
  const binary = Buffer.concat([Buffer.from([...Array(256).keys()]), Buffer.from('\r\n')]);

  assert.equal(await ask('PING'), 'PONG');
  assert.equal(await ask('SCHEDULE', 'q', 'bin', 'NOW', 'PAYLOAD', binary), 'SCHEDULED');
  assert.deepEqual(await ask('SCHEDULE', 'q', 'bin', 'NOW'), ['DUPLICATE', 'WAIT', 'bin']);
  const [first] = await client.ask(['CLAIM', 'q', 'w'], {binary: true});
  assert.equal(first.length, 9);
  assert.equal(first[0].toString(), 'bin');
  assert.equal(Number(first[2]), 1);
  assert.deepEqual(first[5], binary);
  assert.deepEqual([first[6], first[7], first[8].toString()], [null, null, 'q']);
  let token = Number(first[1]);
  assert.equal(await ask('COMPLETE', 'q', 'bin', `${token}`, 'RESULT', binary), 'COMPLETED');
  assert.equal(await ask('COMPLETE', 'q', 'bin', `${token}`), 'ALREADY');
  assert.equal(await ask('COMPLETE', 'q', 'bin', `${token + 1}`), 'STALE');

  const other = await connect();
  const waiting = other.ask(['CLAIM', 'q', 'w', 'WAIT', '60s']);
  assert.equal(await ask('SCHEDULE', 'q', 'late', '+200'), 'SCHEDULED');
  const waited = await waiting;
  await other.close();
  assert.deepEqual(waited.map((order) => order[0]), ['late']);
  token = waited[0][1];
  assert.equal(await ask('FAIL', 'q', 'late', `${token}`, 'ERROR', 'card refused', 'RETRY', '+1h'), 'WAIT');
  assert.equal(await ask('FAIL', 'q', 'late', `${token}`), 'STALE');

  const order = fields(await ask('ORDER', 'q', 'late'));
  assert.deepEqual([order.state, order.failures, order.error], ['WAIT', 1, 'card refused']);
  assert.equal(await ask('ORDER', 'q', 'none'), null);
  assert.deepEqual(await ask('LIST', 'q', 'STATE', 'WAIT'), [null, ['late']]);
  assert.match(await ask('WHY', 'q', 'late'), /^due in /);
  const stats = fields(await ask('STATS', 'q'));
  assert.deepEqual([stats.WAIT, stats.SUCCESS, stats.leases], [1, 1, 0]);

  const numbers = [...Array(1000).keys()];
  const scheduled = await client.pipeline(numbers.map((i) => ['SCHEDULE', 'p', `${i}`, 'NOW']));
  assert.deepEqual(scheduled, numbers.map(() => 'SCHEDULED'));
  const orders = await ask('CLAIM', 'p', 'w', 'COUNT', '1000');
  assert.equal(new Set(orders.map((claimed) => claimed[0])).size, 1000);
  const completed = await client.pipeline(orders.map(([id, token_]) => ['COMPLETE', 'p', id, `${token_}`]));
  assert.deepEqual(completed, numbers.map(() => 'COMPLETED'));

  await refused('ERR', 'NONSENSE');
  await refused('INVALID', 'SCHEDULE', 'q', 'x'.repeat(256), 'NOW');
  await refused('NOTFOUND', 'STATS', 'none');
  const mixed = await client.pipeline([['NONSENSE'], ['PING']]);
  assert.ok(mixed[0] instanceof ErrorReply);
  assert.equal(mixed[1], 'PONG');

  const lines = readline.createInterface({input: process.stdin});
  console.log('restart');
  await new Promise((resolve) => lines.once('line', resolve));
  lines.close();
  // The library connects again by itself.
  const kept = await client.ask(['ORDER', 'q', 'bin'], {binary: true});
  assert.deepEqual(kept[kept.findIndex((name) => name?.toString() === 'result') + 1], binary);
  await client.close();
  console.log('all well');
}

module.exports = {
  converse,
  port: Number(process.env.DUELEASE_PORT),
  login: {username: process.env.DUELEASE_USER, password: process.env.DUELEASE_PASSWORD},
  end: (error) => {
    console.error(error);
    process.exit(1);
  },
};
