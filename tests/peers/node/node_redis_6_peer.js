'use strict';
// From version 5 on node-redis asks for RESP3 unless told otherwise, and has types in place of options of a command.
const {createClient, ErrorReply, RESP_TYPES} = require('redis-6');
const {converse, port, login, end} = require('./conversation.js');

async function connect() {
  const redis = createClient({RESP: 2, socket: {port}, ...login});
  redis.on('error', () => {});  // While the server is away.
  await redis.connect();
  const binary_redis = redis.withTypeMapping({[RESP_TYPES.BLOB_STRING]: Buffer});
  return {
    ask: (words, {binary} = {}) => (binary ? binary_redis : redis).sendCommand(words),
    // What is sent in one turn of the event loop goes out together.
    pipeline: async (requests) => {
      const replies = await Promise.allSettled(requests.map((words) => redis.sendCommand(words)));
      return replies.map(({reason, value}) => reason ?? value);
    },
    close: () => redis.close(),
  };
}

converse(connect, ErrorReply).catch(end);
