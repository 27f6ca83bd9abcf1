import os
import sys
import redis

server = redis.Redis(port=int(os.environ.get("DUELEASE_PORT", 7420)), decode_responses=True)
order, due, goods = sys.argv[1:]
print(server.execute_command("SCHEDULE", "unpaid", order, due, "PAYLOAD", goods))  # SCHEDULED, or what it met.
