"""The same for Isolde, as a service: POST /lose or /keep."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from add_one import add_one


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        add_one(os.environ["DATABASE_URL"], self.path.strip("/"))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
