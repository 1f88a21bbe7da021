"""A receiver of the block protocol for tests, written after docs/protocols/block.md and not after our receiver.

Prints "listening on PORT". Appends a JSON line for each request to DIRECTORY/log. A fault "KIND@N" (or "KIND:VALUE@N") is
used up at the first request with sequenceNo N:

  500, 503:SECONDS, 429:SECONDS, 507   that status (with Retry-After)
  html, empty, nodata, shape           200 with a page, with nothing, without the data key, with data of the wrong type
  lost                                 the work is done, the answer never comes
  cut                                  the connection is reset before the body has been read
  crc                                  a checksum is said to differ
  gone                                 the upload is forgotten
  behind:BLOCKS                        so many blocks are lost; the request is answered as out of order
  changed                              the block is said to have been other bytes the first time
  401                                  the token is refused
  308, 307, 302                        a redirect to /moved on the same server
  circle                               308 to the same path, for ever (not used up)
  large:BYTES                          413 to every body longer than that (not used up)
  lie                                  the receipt names another digest and size
  slow:SECONDS                         waits before it answers

POST /hook is a save hook: it logs what it is told, and answers with the statuses of --hook, one after another, then 200.
"""
import argparse, base64, email.parser, email.policy, hashlib, http.server, json, os, socket, ssl, struct, threading, time, uuid, zlib

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--directory", required=True)
parser.add_argument("--fault", action="append", default=[])
parser.add_argument("--token", default="")
parser.add_argument("--no-delete", action="store_true")
parser.add_argument("--plain", action="store_true", help="answers carry no size and no digest")
parser.add_argument("--data-key", default="data")
parser.add_argument("--basic", default="", help="USER:PASSWORD that every request must show")
parser.add_argument("--bearer", default="", help="token that the hook must be shown")
parser.add_argument("--hook", default="", help="statuses of the hook, separated by commas")
parser.add_argument("--tls", default="", help="a directory with server.pem, server.key")
parser.add_argument("--client-ca", default="", help="clients must have a certificate of this authority")
options = parser.parse_args()
hook_statuses = [int(status) for status in options.hook.split(",") if status]

guard = threading.Lock()
uploads = {}
faults = []
for text in options.fault:
    kind, _, number = text.partition("@")
    kind, _, value = kind.partition(":")
    faults.append({"kind": kind, "value": value, "at": int(number) if number else None})
LASTING = ("circle", "large")


def read_form(content_type, body):
    """name -> (file name, bytes), by Python's own MIME parser."""
    head = b"Content-Type: " + content_type.encode() + b"\r\nMIME-Version: 1.0\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    form = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        form[name] = (part.get_filename(), part.get_payload(decode=True) or b"")
    return form


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def note(self, **entry):
        with guard, open(os.path.join(options.directory, "log"), "a") as file:
            file.write(json.dumps(dict(entry, time=time.time())) + "\n")

    def send(self, status, body=b"", kind="application/json", **headers):
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, message, **more):
        self.send(status, {"error": dict(code=code, message=message, **more)})

    def cut(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def take_fault(self, sequence, kinds=None):
        with guard:
            for fault in faults:
                if fault["at"] not in (None, sequence) or (kinds and fault["kind"] not in kinds):
                    continue
                if fault["kind"] not in LASTING:
                    faults.remove(fault)
                return fault
        return None

    def tell_hook(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with guard:
            status = hook_statuses.pop(0) if hook_statuses else 200
        if options.bearer and self.headers.get("Authorization") != "Bearer " + options.bearer:
            status = 401
        self.note(status=status, path="/hook", told=json.loads(body), key=self.headers.get("Idempotency-Key"),
                  authorization=self.headers.get("Authorization"))
        self.send(status)

    def do_POST(self):
        if self.path == "/hook":
            return self.tell_hook()
        length = int(self.headers.get("Content-Length", 0))
        large = [f for f in faults if f["kind"] == "large"]
        if large and length > int(large[0]["value"]):
            self.note(status=413, fault="large")
            self.rfile.read(length)
            return self.refuse(413, "large", "too large")
        body = self.rfile.read(length)
        form = read_form(self.headers.get("Content-Type", ""), body)
        text = {name: value[1].decode() for name, value in form.items() if name != "block"}
        file_name, block = form.get("block", (None, b""))
        sequence = int(text.get("sequenceNo", -1))
        entry = dict(
            seq=sequence, bytes=len(block), token=text.get("token"), upload=text.get("upToken"), name=file_name,
            fields=sorted(text), key=self.headers.get("Idempotency-Key"), path=self.path,
            expect="Expect" in self.headers)
        if options.basic and self.headers.get("Authorization") != (
                "Basic " + base64.b64encode(options.basic.encode()).decode()):
            self.note(status=401, authorization=self.headers.get("Authorization"), **entry)
            return self.refuse(401, "token", "who are you?")
        fault = self.take_fault(sequence)
        kind = fault["kind"] if fault and fault["kind"] != "large" else None
        if kind:
            entry["fault"] = kind
        if kind == "slow":
            time.sleep(float(fault["value"]))
            kind = None
        if kind in ("500", "503", "429", "507"):
            self.note(status=int(kind), **entry)
            return self.send(int(kind), {"error": {"code": "fault", "message": "as asked"}},
                             **({"Retry_After": fault["value"]} if fault["value"] else {}))
        if kind in ("html", "empty", "nodata", "shape"):
            self.note(status=200, **entry)
            return self.send(200, {"html": b"<html>log in</html>", "empty": b"", "nodata": b'{"ok":true}',
                                   "shape": b'{"data":[1,2]}'}[kind], "text/html" if kind == "html" else "application/json")
        if kind in ("301", "302", "307", "308") and self.path != "/moved":
            self.note(status=int(kind), **entry)
            return self.send(int(kind), Location="/moved")
        if kind == "circle":
            self.note(status=308, **entry)
            return self.send(308, Location=self.path)
        if kind == "cut":
            self.note(status=0, **entry)
            return self.cut()
        if kind == "404":
            self.note(status=404, **entry)
            return self.send(404)
        if kind == "401" or (options.token and text.get("token") != options.token):
            self.note(status=401, **entry)
            return self.refuse(401, "token", "wrong token")
        with guard:
            status, answer = self.work(sequence, text, file_name, block, kind, fault)
        self.note(status=0 if kind == "lost" else status, **entry)
        if kind == "lost":
            return self.cut()
        if "data" in answer:
            answer = {options.data_key: answer["data"]}
        self.send(status, answer)

    def work(self, sequence, text, file_name, block, kind, fault):
        size, block_size = int(text["totFileSize"]), int(text["blockSize"])
        total = -(-size // block_size)
        if sequence == 0:
            token = uuid.uuid4().hex
            uploads[token] = dict(size=size, block_size=block_size, total=total, blocks=[], name=file_name, url=None)
            data = {"upToken": token}
            if total == 0:
                data.update(self.complete(token, kind))
            return 200, {"data": data}
        upload = uploads.get(text.get("upToken"))
        if kind == "gone":
            uploads.pop(text.get("upToken"), None)
            upload = None
        if upload is None:
            return 404, {"error": {"code": "unknownToken", "message": "unknown"}}
        if kind == "behind":
            del upload["blocks"][max(0, len(upload["blocks"]) - int(fault["value"])):]
        if kind == "changed":
            return 409, {"error": {"code": "changed", "message": "other bytes"}}
        if kind == "crc" or text.get("crc") != "%08x" % zlib.crc32(block):
            return 400, {"error": {"code": "crc", "message": "checksum differs"}}
        expected = len(upload["blocks"]) + 1
        if sequence > expected:
            return 409, {"error": {"code": "sequence", "message": "out of order", "expectedSequenceNo": expected}}
        if block_size != upload["block_size"] or len(block) != min(block_size, size - (sequence - 1) * block_size):
            return 400, {"error": {"code": "length", "message": "wrong length"}}
        if sequence == expected:
            upload["blocks"].append(block)
        data = {}
        if len(upload["blocks"]) == total and sequence == total:
            data = self.complete(text["upToken"], kind)
        return 200, {"data": data}

    def complete(self, token, kind):
        upload = uploads[token]
        content = b"".join(upload["blocks"])
        digest = hashlib.sha256(content).hexdigest()
        if upload["url"] is None:
            upload["url"] = "http://127.0.0.1:%d/files/%s" % (self.server.server_port, token)
            with open(os.path.join(options.directory, "log"), "a") as file:
                file.write(json.dumps(dict(done=token, sha256=digest, bytes=len(content), name=upload["name"])) + "\n")
        answer = {"fileUrl": upload["url"]}
        if not options.plain:
            answer.update(size=upload["size"], sha256=digest)
        if kind == "lie":
            answer.update(size=upload["size"] + 1, sha256="0" * 64)
        return answer

    def do_DELETE(self):
        token = self.headers.get("Upload-Token", "")
        if options.no_delete:
            self.note(status=405, dropped=None)
            return self.send(405)
        with guard:
            known = uploads.pop(token, None)
        self.note(status=204 if known else 404, dropped=token)
        self.send(204 if known else 404)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request, address):
        pass


server = Server(("127.0.0.1", options.port), Handler)
if options.tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.tls + "/server.pem", options.tls + "/server.key")
    if options.client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(options.client_ca)
    server.socket = context.wrap_socket(server.socket, server_side=True)
print("listening on", server.server_port, flush=True)
server.serve_forever()
