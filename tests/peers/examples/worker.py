import os
import redis

server = redis.Redis(port=int(os.environ.get("DUELEASE_PORT", 7420)), decode_responses=True)


def cancel(order, goods):
    if not goods:
        raise ValueError("an order of nothing")
    print(f"nobody paid {order}: cancelling {goods}", flush=True)


while True:
    claimed = server.execute_command("CLAIM", "unpaid", f"py-{os.getpid()}", "WAIT", "30s")
    for order, token, _, _, _, goods, *_ in claimed:
        try:
            cancel(order, goods)
            server.execute_command("COMPLETE", "unpaid", order, token)
        except ValueError as error:  # It comes again later, until its tries are used up.
            server.execute_command("FAIL", "unpaid", order, token, "ERROR", str(error))
