'use strict';
const {createClient, commandOptions, ErrorReply} = require('redis');
const {converse, port, login, end} = require('./conversation.js');

async function connect() {
  const redis = createClient({socket: {port}, ...login});
  redis.on('error', () => {});  // While the server is away.
  await redis.connect();
  return {
    ask: (words, {binary} = {}) => redis.sendCommand(words, commandOptions({returnBuffers: binary ?? false})),
    // What is sent in one turn of the event loop goes out together.
    pipeline: async (requests) => {
      const replies = await Promise.allSettled(requests.map((words) => redis.sendCommand(words)));
      return replies.map(({reason, value}) => reason ?? value);
    },
    close: () => redis.quit(),
  };
}

converse(connect, ErrorReply).catch(end);
