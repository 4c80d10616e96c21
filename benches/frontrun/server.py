"""The same behind HTTP: a request is a withdrawal."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from withdraw import withdraw


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        withdraw(os.environ["DATABASE_URL"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
