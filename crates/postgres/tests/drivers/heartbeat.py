"""A service with a life of its own: it listens for jobs and looks at the counter all the time. Requests add one, not atomically."""

import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pg8000.native


def connect():
    return pg8000.native.Connection(os.environ["PGUSER"], host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]),
                                    password=os.environ["PGPASSWORD"], database=os.environ["PGDATABASE"])


def beat():
    listening = connect()
    listening.run("LISTEN jobs")
    conn = connect()
    while True:
        conn.run("SELECT count(*) FROM counter")
        time.sleep(0.02)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        conn = connect()
        [[n]] = conn.run("SELECT n FROM counter WHERE id = 1")
        conn.run("UPDATE counter SET n = :n WHERE id = 1", n=n + 1)
        conn.close()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


threading.Thread(target=beat, daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
