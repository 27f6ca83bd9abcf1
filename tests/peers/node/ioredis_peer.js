'use strict';
const Redis = require('ioredis');
const {converse, port, login, end} = require('./conversation.js');

async function connect() {
  const redis = new Redis({port, ...login});
  redis.on('error', () => {});  // While the server is away.
  return {
    ask: ([verb, ...words], {binary} = {}) => (binary ? redis.callBuffer(verb, ...words) : redis.call(verb, ...words)),
    pipeline: async (requests) => {
      const pipeline = redis.pipeline();
      for (const words of requests) pipeline.call(...words);
      return (await pipeline.exec()).map(([error, reply]) => error ?? reply);
    },
    close: () => redis.quit(),
  };
}

converse(connect, Redis.ReplyError).catch(end);
