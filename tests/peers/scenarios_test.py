"""The faults that others had, by name, with a server in a process of its own and clients over sockets."""
import contextlib
import sys
import threading
import time
import unittest

from server import SLOWER, Connection, Refusal, Server, eventually, fields, order

LATE = 3000 * SLOWER  # Milliseconds; what a loaded machine may add to "at once".


def now_ms():
    return time.time() * 1000


class DownLongerThanTheLease(unittest.TestCase):
    """8"""
    COUNT = 10_000
    # Seconds. The leases were this long, and so long they have again after a start: the grace is longer.
    LEASE = 6 * SLOWER

    def test_live_tokens_complete_and_nothing_comes_again_at_once(self):
        with Server("--restart-grace", "1m") as server:
            with server.connect() as client:
                client.ask_all([("SCHEDULE", "q", i, "NOW") for i in range(self.COUNT)])
                held = client.claim("q", "holder", "COUNT", self.COUNT, "LEASE", f"{self.LEASE}s")
                self.assertEqual(len({order.id for order in held}), self.COUNT)
            server.kill()
            time.sleep(max(0.0, held[-1].lease_expires_at - now_ms()) / 1000 + 0.3)
            started = time.monotonic()
            server.start()
            with server.connect() as holder, server.connect() as other:
                self.assertEqual(other.claim("q", "other", "COUNT", self.COUNT), [])
                self.assertEqual(fields(other.ask("STATS", "q"))["leases"], self.COUNT)
                live = held[:self.COUNT // 2]
                replies = holder.ask_all([("COMPLETE", "q", order.id, order.token) for order in live])
                self.assertEqual(set(replies), {"COMPLETED"})
                # The others come again when the grace is over, each once and with a higher token.
                again = {}
                while len(again) < self.COUNT - len(live):
                    orders = other.claim("q", "other", "COUNT", self.COUNT, "LEASE", "1h", "WAIT", "60s")
                    self.assertTrue(orders)
                    self.assertGreater(time.monotonic() - started, self.LEASE - 0.01)
                    self.assertFalse(again.keys() & {order.id for order in orders})
                    again.update((order.id, order.token) for order in orders)
                old = {order.id: order.token for order in held[len(live):]}
                self.assertEqual(again.keys(), old.keys())
                self.assertTrue(all(again[id_] > token for id_, token in old.items()))
                late = holder.ask_all([("COMPLETE", "q", id_, old[id_]) for id_ in old])
                self.assertEqual(set(late), {"STALE"})
            self.assertEqual(server.violations(), {})


class LostClaimReply(unittest.TestCase):
    """10"""

    def test_the_same_request_gets_the_same_orders_and_nobody_else_does(self):
        with Server() as server, server.connect() as client:
            client.ask_all([("SCHEDULE", "q", f"{i:03}", "NOW") for i in range(100)])
            for round_ in range(20):
                # The socket dies before the reply is read, or even before the request is taken.
                lost = server.connect()
                lost.send("CLAIM", "q", "w1", "COUNT", 5, "REQUEST", round_)
                if round_ % 2:
                    time.sleep(0.02)
                lost.reset()
                with server.connect() as again, server.connect() as other:
                    orders = again.claim("q", "w1", "COUNT", 5, "REQUEST", round_)
                    self.assertEqual([order.id for order in orders],
                                     [f"{i:03}" for i in range(5 * round_, 5 * round_ + 5)])
                    tokens = [order.token for order in orders]
                    repeated = other.claim("q", "w1", "COUNT", 5, "REQUEST", round_)
                    self.assertEqual([order.token for order in repeated], tokens)
                    self.assertEqual(fields(client.ask("STATS", "q"))["leases"], 5)
                    replies = again.ask_all([("COMPLETE", "q", order.id, order.token) for order in orders])
                    self.assertEqual(set(replies), {"COMPLETED"})
            self.assertEqual(client.claim("q", "w2"), [])

    def test_also_after_kill_9_of_the_server(self):
        with Server() as server:
            server.ask("SCHEDULE", "q", "1", "NOW")
            [before] = [order(reply) for reply in server.ask("CLAIM", "q", "w1", "LEASE", "1h", "REQUEST", "r")]
            server.kill()
            server.start()
            with server.connect() as client:
                self.assertEqual(client.claim("q", "w2", "REQUEST", "r"), [])
                [after] = client.claim("q", "w1", "LEASE", "1h", "REQUEST", "r")
                self.assertEqual((after.id, after.token, after.attempt), (before.id, before.token, 1))


def soon(milliseconds):
    """Not before what a test does until then is done."""
    return f"+{milliseconds * SLOWER}ms"


class IdleWakeUp(unittest.TestCase):
    """19"""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)
        self.connections = []
        self.addCleanup(lambda: [connection.close() for connection in self.connections])
        self.connect()

    def connect(self):
        self.producer, self.waiter = self.server.connect(), self.server.connect()
        self.connections += [self.producer, self.waiter]

    def wait(self):
        self.waiter.send("CLAIM", "q", "w", "WAIT", "1h")
        eventually(lambda: "claims_waiting:1\r\n" in self.server.ask("INFO"))

    def schedule(self, id_, due):
        self.assertEqual(self.producer.ask("SCHEDULE", "q", id_, due), "SCHEDULED")

    def delivered(self, id_):
        [claimed] = self.waiter.reply()
        late = now_ms() - order(claimed).due
        self.assertEqual(order(claimed).id, id_)
        self.assertGreaterEqual(late, 0)
        self.assertLess(late, LATE)
        self.assertEqual(self.waiter.ask("COMPLETE", "q", id_, order(claimed).token), "COMPLETED")

    def test_three_seconds_of_silence(self):
        self.wait()
        self.schedule("1", soon(3000))
        self.delivered("1")

    def test_after_a_reconnect(self):
        self.wait()
        self.schedule("1", soon(1000))
        self.waiter.reset()
        self.connect()
        self.wait()
        self.delivered("1")

    def test_after_a_restart(self):
        for end in (self.server.kill, self.server.stop):
            with self.subTest(end.__name__):
                self.schedule(end.__name__, soon(1500))
                end()
                self.server.start()
                self.connect()
                self.wait()
                self.delivered(end.__name__)

    def test_after_a_reschedule_to_earlier_and_to_later(self):
        self.schedule("1", "+1h")
        self.schedule("2", soon(500))
        self.wait()
        self.assertEqual(self.producer.ask("RESCHEDULE", "q", "2", "+2h"), "RESCHEDULED")
        self.assertEqual(self.producer.ask("RESCHEDULE", "q", "1", soon(1000)), "RESCHEDULED")
        self.delivered("1")

    def test_after_a_cancel_of_the_head(self):
        self.schedule("head", soon(500))
        self.schedule("next", soon(1000))
        self.wait()
        self.assertEqual(self.producer.ask("CANCEL", "q", "head"), "ABORTED")
        self.delivered("next")

    def test_nobody_spins_meanwhile(self):
        self.wait()
        self.schedule("1", "+1h")
        before = cpu_seconds(self.server)
        time.sleep(2)
        self.assertLess(cpu_seconds(self.server) - before, 0.2)


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
        values = file.read().rsplit(")", 1)[1].split()
    return (int(values[11]) + int(values[12])) / 100


class OverdueBacklog(unittest.TestCase):
    """20"""
    COUNT = 100_000 // SLOWER

    def fill(self, server):
        """COUNT orders of the last two hours, each due at another time, in no order."""
        start = int(now_ms()) - 7_200_000
        with server.connect() as client:
            replies = client.ask_all([("SCHEDULE", "q", i, start + i * 7919 % self.COUNT) for i in range(self.COUNT)])
        self.assertEqual(set(replies), {"SCHEDULED"})

    def drain(self, server):
        """The due times as they came. Two workers would interleave; one shows the order."""
        dues = []
        with server.connect() as client:
            while orders := client.claim("q", "w", "COUNT", 1000, "LEASE", "1h"):
                dues += [order.due for order in orders]
                replies = client.ask_all([("COMPLETE", "q", order.id, order.token) for order in orders])
                self.assertEqual(set(replies), {"COMPLETED"})
        return dues

    def test_drained_in_due_order_while_others_are_answered(self):
        with Server() as server:
            self.fill(server)
            server.kill()
            server.start()
            latencies = {}
            stop = threading.Event()

            def timed(client, *words):
                began = time.monotonic()
                reply = client.ask(*words)
                latencies.setdefault(words[0], []).append(1000 * (time.monotonic() - began))
                return reply

            def others():
                with server.connect() as client:
                    count = 0
                    while not stop.is_set():
                        count += 1
                        timed(client, "SCHEDULE", "other", count, "NOW")
                        [claimed] = map(order, timed(client, "CLAIM", "other", "w"))
                        timed(client, "COMPLETE", "other", claimed.id, claimed.token)
                        timed(client, "ORDER", "q", "0")
                        timed(client, "WHY", "q", "0")
                        if count % 10 == 1:
                            timed(client, "STATS", "q")
                        time.sleep(0.005)
            thread = threading.Thread(target=others)
            thread.start()
            try:
                dues = self.drain(server)
            finally:
                stop.set()
                thread.join()
            self.assertEqual(len(dues), self.COUNT)
            self.assertEqual(dues, sorted(dues))
            for verb, times in latencies.items():
                times.sort()
                median, p99 = (times[int(part * len(times))] for part in (0.5, 0.99))
                print(f"{verb}, {len(times)} times meanwhile: {median:.1f} ms, 99th percentile {p99:.1f} ms")
                if verb != "STATS":  # It counts what is due.
                    self.assertLess(p99, 1000 * SLOWER)
            self.assertGreater(len(latencies["CLAIM"]), self.COUNT // 5000)
            self.assertEqual(server.violations(), {})


class GracefulStop(unittest.TestCase):
    """30"""

    def test_claims_end_reports_are_taken_and_all_is_kept(self):
        with (Server("--stop-deadline", "60s") as server, server.connect() as worker, server.connect() as waiter,
              server.connect() as other):
            worker.ask("SCHEDULE", "q", "1", "NOW")
            [held] = worker.claim("q", "w")
            waiter.send("CLAIM", "q", "w", "WAIT", "1h")
            eventually(lambda: "claims_waiting:1\r\n" in other.ask("INFO"))
            code = []
            stopping = threading.Thread(target=lambda: code.append(server.stop()))
            stopping.start()
            self.assertEqual(waiter.reply(), [])
            with self.assertRaisesRegex(Refusal, "^CLOSING "):
                other.ask("CLAIM", "q", "w", "WAIT", "1h")
            with self.assertRaises(ConnectionError):
                Connection(server.port).ask("PING")
            self.assertEqual(other.ask("SCHEDULE", "q", "2", "NOW"), "SCHEDULED")
            self.assertFalse(code)
            began = time.monotonic()
            self.assertEqual(worker.ask("COMPLETE", "q", "1", held.token), "COMPLETED")
            stopping.join()
            self.assertLess(time.monotonic() - began, 30, "well before the deadline")
            self.assertEqual(code, [0])
            server.start()
            stats = fields(server.ask("STATS", "q"))
            self.assertEqual((stats["SUCCESS"], stats["WAIT"]), (1, 1))
            self.assertEqual(server.violations(), {})

    def test_its_deadline_is_one_for_all(self):
        with Server("--stop-deadline", "1s") as server, contextlib.ExitStack() as connections:
            workers = [connections.enter_context(server.connect()) for _ in range(20)]
            for i, worker in enumerate(workers):
                worker.ask("SCHEDULE", "q", i, "NOW")
                self.assertEqual(len(worker.claim("q", "w", "LEASE", "1h")), 1)
            began = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertGreater(time.monotonic() - began, 0.9)
            self.assertLess(time.monotonic() - began, 10)
            server.start()
            self.assertEqual(fields(server.ask("STATS", "q"))["leases"], 20)


if __name__ == "__main__":
    if "--long" in sys.argv:
        sys.argv.remove("--long")
        OverdueBacklog.COUNT = 1_000_000
    unittest.main(verbosity=2)
