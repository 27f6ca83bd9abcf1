const Redis = require('ioredis');
const server = new Redis(process.env.DUELEASE_PORT ?? 7420);

async function main() {
  const [order, due, goods] = process.argv.slice(2);
  console.log(await server.call('SCHEDULE', 'unpaid', order, due, 'PAYLOAD', goods));  // SCHEDULED, or what it met.
  await server.quit();
}
main();
