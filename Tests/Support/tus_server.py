"""A server of tus 1.0.0 for tests, written after the protocol's description and not after our client.

Prints "listening on PORT". Appends a JSON line for each request to DIRECTORY/log; keeps uploads in memory. A fault
"KIND@METHOD" (or "KIND:VALUE@METHOD", "KIND@METHOD#N" for the N-th request of the method) is used up when it is met:

  500, 503, 423, 429, 507, 400, 401, 403, 404, 409, 410, 412, 460     that status
  lost            the work is done, the answer never comes
  cut:BYTES       the connection is reset after so many bytes of the body, which are kept
  take:BYTES      only so many bytes of the body are kept; the answer says so
  lose:BYTES      so many bytes that were acknowledged are lost before the request
  blank           the answer lacks its headers
  page            200 with a page of HTML
  302, 308        a redirect to the same path below /moved
  gone            the upload is forgotten
  large:BYTES     413 to every body longer than that (not used up)
  nopatch         405 to every PATCH; POST with X-HTTP-Method-Override passes (not used up)
  http            Location begins with http:// and another host (used up)
"""
import argparse, base64, hashlib, http.server, json, os, socket, struct, threading, time, uuid

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--directory", required=True)
parser.add_argument("--fault", action="append", default=[])
parser.add_argument("--token", default="")
parser.add_argument("--checksum", default="", help="algorithms, separated by commas")
parser.add_argument("--digest", default="", help="'right' or 'wrong': Repr-Digest with a complete upload")
parser.add_argument("--largest", default="")
parser.add_argument("--relative", action="store_true", help="Location is a path")
parser.add_argument("--no-options", action="store_true")
parser.add_argument("--no-delete", action="store_true")
options = parser.parse_args()

guard = threading.Lock()
uploads = {}
counts = {}
faults = []
for text in options.fault:
    kind, _, place = text.partition("@")
    kind, _, value = kind.partition(":")
    method, _, number = place.partition("#")
    faults.append({"kind": kind, "value": value, "method": method, "number": int(number) if number else None})
LASTING = ("large", "nopatch")
STATUSES = ("500", "503", "423", "429", "507", "400", "401", "403", "404", "409", "410", "412", "460")


class Upload:
    def __init__(self, length, metadata):
        self.length, self.metadata, self.bytes = length, metadata, bytearray()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def note(self, **entry):
        with guard, open(os.path.join(options.directory, "log"), "a") as file:
            file.write(json.dumps(dict(entry, method=self.command, path=self.path, time=time.time())) + "\n")

    def answer(self, status, body=b"", headers=(), bare=False, **note):
        self.note(status=status, **note)
        if self.fault == "lost":
            self.close_connection = True
            return self.connection.close()
        self.send_response(status)
        if not bare:
            self.send_header("Tus-Resumable", "1.0.0")
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def begin(self, method):
        """Meets a fault. None if the request has been answered by it."""
        self.fault, self.value = None, ""
        with guard:
            counts[method] = counts.get(method, 0) + 1
            for fault in faults:
                if fault["method"] == method and fault["number"] in (None, counts[method]):
                    self.fault, self.value = fault["kind"], fault["value"]
                    if fault["kind"] not in LASTING:
                        faults.remove(fault)
                    break
        if options.token and self.headers.get("Authorization") != "Bearer " + options.token:
            self.skip_body()
            self.answer(401, b"who are you?", bare=True)
            return None
        if self.fault in STATUSES:
            self.skip_body()
            self.answer(int(self.fault), b"not now", fault=self.fault)
            return None
        if self.fault == "page":
            self.skip_body()
            self.answer(200, b"<html>log in</html>", bare=True, fault="page")
            return None
        if self.fault in ("302", "308"):
            self.skip_body()
            self.answer(int(self.fault), headers=[("Location", "/moved" + self.path)], fault=self.fault)
            return None
        if self.fault == "gone":
            uploads.clear()
        return True

    def skip_body(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def upload(self):
        return uploads.get(self.path.rsplit("/", 1)[-1])

    def do_OPTIONS(self):
        if self.begin("OPTIONS") is None:
            return
        if options.no_options:
            return self.answer(405, bare=True)
        extensions = ["creation", "termination"] + (["checksum"] if options.checksum else [])
        headers = [("Tus-Version", "1.0.0"), ("Tus-Extension", ",".join(extensions))]
        if options.checksum:
            headers.append(("Tus-Checksum-Algorithm", options.checksum))
        if options.largest:
            headers.append(("Tus-Max-Size", options.largest))
        self.answer(204, headers=headers)

    def do_POST(self):
        if self.headers.get("X-HTTP-Method-Override") == "PATCH":
            return self.append("OVERRIDE")
        if self.begin("POST") is None:
            return
        self.skip_body()
        if self.headers.get("Tus-Resumable") != "1.0.0":
            return self.answer(412)
        if not self.headers.get("Upload-Length", "").isdigit():
            return self.answer(400, b"Upload-Length")
        metadata = {}
        for pair in self.headers.get("Upload-Metadata", "").split(","):
            key, _, value = pair.strip().partition(" ")
            metadata[key] = base64.b64decode(value, validate=True).decode()
        name = uuid.uuid4().hex
        uploads[name] = Upload(int(self.headers["Upload-Length"]), metadata)
        base = "" if options.relative else "http://127.0.0.1:%d" % server.server_port
        folder = self.path.rstrip("/")
        location = base + folder + "/" + name
        if self.fault == "http":
            location = "ftp://elsewhere/" + name
        headers = [] if self.fault == "blank" else [("Location", location)]
        if uploads[name].length == 0:
            self.complete(name)
        self.answer(201, headers=headers, created=name, metadata=metadata, fault=self.fault)

    def do_HEAD(self):
        if self.begin("HEAD") is None:
            return
        upload = self.upload()
        if not upload:
            return self.answer(404)
        headers = [("Upload-Offset", str(len(upload.bytes))), ("Upload-Length", str(upload.length)),
                   ("Cache-Control", "no-store")]
        self.answer(200, headers=[] if self.fault == "blank" else headers, offset=len(upload.bytes), fault=self.fault)

    def do_PATCH(self):
        self.append("PATCH")

    def append(self, method):
        if self.begin(method) is None:
            return
        length = int(self.headers.get("Content-Length", 0))
        if self.fault == "nopatch":
            self.skip_body()
            return self.answer(405, b"no such method", fault="nopatch", bare=True)
        if self.fault == "large" and length > int(self.value):
            self.skip_body()
            return self.answer(413, b"too large", fault="large", bytes=length)
        upload = self.upload()
        if not upload:
            self.skip_body()
            return self.answer(404)
        if self.fault == "lose":
            del upload.bytes[max(0, len(upload.bytes) - int(self.value)):]
        if self.headers.get("Content-Type") != "application/offset+octet-stream":
            self.skip_body()
            return self.answer(415)
        if self.headers.get("Upload-Offset") != str(len(upload.bytes)):
            self.skip_body()
            return self.answer(409, b"offset", offset=len(upload.bytes))
        if self.fault == "cut":
            body = self.rfile.read(min(length, int(self.value)))
            upload.bytes += body
            self.note(status=0, bytes=len(body), fault="cut")
            return self.reset()
        body = self.rfile.read(length)
        if "Upload-Checksum" in self.headers:
            algorithm, _, value = self.headers["Upload-Checksum"].partition(" ")
            if algorithm not in options.checksum.split(","):
                return self.answer(400, b"algorithm")
            if hashlib.new(algorithm, body).digest() != base64.b64decode(value):
                return self.answer(460, b"checksum")
        if self.fault == "take":
            body = body[:int(self.value)]
        if len(upload.bytes) + len(body) > upload.length:
            return self.answer(413, b"longer than said")
        upload.bytes += body
        name = self.path.rsplit("/", 1)[-1]
        headers = [] if self.fault == "blank" else [("Upload-Offset", str(len(upload.bytes)))]
        if len(upload.bytes) == upload.length and options.digest:
            digest = hashlib.sha256(upload.bytes if options.digest == "right" else b"other").digest()
            headers.append(("Repr-Digest", "sha-256=:%s:" % base64.b64encode(digest).decode()))
        if len(upload.bytes) == upload.length:
            self.complete(name)
        self.answer(204, headers=headers, bytes=len(body), fault=self.fault,
                    checksum=self.headers.get("Upload-Checksum"))

    def complete(self, name):
        self.note(done=name, sha256=hashlib.sha256(uploads[name].bytes).hexdigest(),
                  filename=uploads[name].metadata.get("filename"))

    def do_DELETE(self):
        if self.begin("DELETE") is None:
            return
        if options.no_delete:
            return self.answer(405, bare=True)
        self.answer(204 if uploads.pop(self.path.rsplit("/", 1)[-1], None) else 404)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


server = Server(("127.0.0.1", options.port), Handler)
print("listening on", server.server_port, flush=True)
server.serve_forever()
