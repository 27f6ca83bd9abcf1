const Redis = require('ioredis');
const server = new Redis(process.env.DUELEASE_PORT ?? 7420);

async function cancel(order, goods) {
  if (!goods) throw new Error('an order of nothing');
  console.log(`nobody paid ${order}: cancelling ${goods}`);
}

async function main() {
  for (;;) {
    const claimed = await server.call('CLAIM', 'unpaid', `node-${process.pid}`, 'WAIT', '30s');
    for (const [order, token, , , , goods] of claimed) {
      try {
        await cancel(order, goods);
        await server.call('COMPLETE', 'unpaid', order, token);
      } catch (error) {  // It comes again later, until its tries are used up.
        await server.call('FAIL', 'unpaid', order, token, 'ERROR', error.message);
      }
    }
  }
}
main();
