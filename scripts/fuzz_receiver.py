#!/usr/bin/env python3
"""Talks to a running receiver as no client should, and checks that nobody suffers from it.

Conversations of the block protocol are made after a model of what the receiver must answer. Some stay sound and are held
against the model; in others requests are spoiled at any level, from the connection down to a form field, and what comes
next must be sound again. Between the batches an upload by the book has to succeed while other connections are held open.

Case N of seed S is always the same conversation (but for the tokens, which the receiver makes).
usage: see scripts/fuzz-receiver, which builds and starts the receiver.
"""

import argparse
import collections
import hashlib
import json
import os
import random
import re
import resource
import socket
import stat
import struct
import sys
import threading
import time
import traceback
import urllib.parse
import zlib

# What may come back, whatever was sent. 500 is none of them: the store is sound. (libmicrohttpd answers so by itself where a
# head or the line of a chunk leaves no room to read on; that answer is no JSON.)
STATUSES = {100, 200, 204, 206, 400, 401, 404, 405, 408, 409, 411, 413, 414, 416, 417, 431, 501, 503, 505, 507}

# How long an answer to a sound request may take. Generous: the receiver is slowed down by its sanitizer.
PATIENCE = 60


class Fault(Exception):
    """The receiver did what it must not."""


class Gone(Exception):
    """The other side closed the connection before it answered."""


# --- connections ------------------------------------------------------------------------------------------------------


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self, key):
        try:
            found = json.loads(self.body)[key]
        except (ValueError, KeyError, TypeError):
            raise Fault(f"an answer {self.status} is not JSON with {key}: {self.body[:200]!r}")
        return found


class Wire:
    """One connection, and a record of what was sent on it."""

    def __init__(self, target, small_window=False):
        self.target = target
        self.sent = b""
        self.buffer = b""
        self.used = False
        self.socket = socket.socket()
        self.socket.settimeout(PATIENCE)
        if small_window:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        # Many source addresses, so that the ports of one do not run out.
        self.socket.bind((f"127.0.0.{random.randint(2, 200)}", 0))
        begun = time.monotonic()
        try:
            self.socket.connect(target.address)
        except OSError as error:
            self.socket.close()
            raise Fault(f"cannot connect within {time.monotonic() - begun:.0f} s: {error}")
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        target.count("connections")
        target.open_wires(self)

    def send(self, data):
        if len(self.sent) < 1 << 20:
            self.sent += data
        self.socket.sendall(data)

    def close(self, reset=False):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def fill(self):
        try:
            data = self.socket.recv(65536)
        except socket.timeout:
            raise Fault(f"no answer within {PATIENCE} s")
        except OSError:
            data = b""
        self.buffer += data
        return data

    def answer(self, is_head=False):
        """The next answer, read strictly; interim ones are passed over."""
        while True:
            while b"\r\n\r\n" not in self.buffer:
                if len(self.buffer) > 65536:
                    raise Fault("the head of an answer has no end")
                if not self.fill():
                    if self.buffer:
                        raise Fault(f"an answer ends in its head: {self.buffer[:200]!r}")
                    raise Gone()
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            lines = head.split(b"\r\n")
            match = re.fullmatch(rb"HTTP/1\.[01] (\d{3}) [ -~]*", lines[0])
            if not match:
                raise Fault(f"no status line: {lines[0][:100]!r}")
            status = int(match[1])
            if status == 100:
                continue
            headers = collections.defaultdict(list)
            for line in lines[1:]:
                match = re.fullmatch(rb"([!-9;-~]+): ?([\t -~\x80-\xff]*)", line)
                if not match:
                    raise Fault(f"a header of an answer is malformed: {line[:100]!r}")
                headers[match[1].decode().lower()].append(match[2].decode("latin-1"))
            lengths = headers["content-length"]
            if len(lengths) > 1 or (not lengths and status != 204):
                raise Fault(f"an answer {status} has {len(lengths)} lengths")
            length = 0 if is_head or not lengths else int(lengths[0])
            while len(self.buffer) < length:
                if not self.fill():
                    raise Fault(f"the body of an answer {status} ends early: {len(self.buffer)} of {length} bytes")
            body, self.buffer = self.buffer[:length], self.buffer[length:]
            if status not in STATUSES:
                raise Fault(f"status {status}: {body[:200]!r}")
            self.used = True
            return Answer(status, headers, body)

    def rest(self, seconds):
        """What comes until the end or for so long, read loosely."""
        end = time.monotonic() + seconds
        data = self.buffer
        while len(data) < 4 << 20:
            left = end - time.monotonic()
            if left <= 0:
                break
            self.socket.settimeout(left)
            try:
                piece = self.socket.recv(65536)
            except OSError:
                break
            if not piece:
                break
            data += piece
            # Something has come: what else belongs to it will not take long.
            end = min(end, time.monotonic() + 0.3)
        self.socket.settimeout(PATIENCE)
        if data and not b"HTTP/1.".startswith(data[:7]):
            raise Fault(f"what came is no HTTP: {data[:100]!r}")
        for status in re.findall(rb"(?:^|[}>\n])HTTP/1\.[01] (\d{3}) ", data):
            if int(status) not in STATUSES and not (status == b"500" and b"application/json" not in data):
                raise Fault(f"status {int(status)} to a spoiled request: {data[:300]!r}")
        return data


class Target:
    """The receiver and what is counted about it."""

    def __init__(self, options):
        host, port = options.address.rsplit(":", 1)
        self.address = (host, int(port))
        self.host = options.address.encode()
        self.store = options.store
        self.pid = options.pid
        self.counts = collections.Counter()
        self.statuses = collections.Counter()
        self.lock = threading.Lock()
        self.local = threading.local()

    def count(self, what, number=1):
        with self.lock:
            self.counts[what] += number

    def open_wires(self, wire):
        wires = getattr(self.local, "wires", None)
        if wires is not None:
            wires.append(wire)

    def sample(self):
        status = open(f"/proc/{self.pid}/status").read()
        return {
            "rss": int(re.search(r"VmRSS:\s+(\d+)", status)[1]) // 1024,
            "threads": int(re.search(r"Threads:\s+(\d+)", status)[1]),
            "fds": len(os.listdir(f"/proc/{self.pid}/fd")),
        }


# --- requests ---------------------------------------------------------------------------------------------------------


class Request:
    def __init__(self, method, path, headers=(), body=None):
        self.method, self.path, self.version = method, path, b"HTTP/1.1"
        self.headers = list(headers)
        self.body = body
        # None: as the body wants it. Else the lines that frame it, and the bytes that follow the head.
        self.framing = None
        self.payload = None
        self.end = b"\r\n"

    def is_last(self):
        """Whether the connection ends with it."""
        values = [v.lower() for n, v in self.headers if n.lower() == b"connection"]
        return b"close" in values or (self.version == b"HTTP/1.0" and b"keep-alive" not in values)

    def head(self):
        lines = list(self.headers)
        if self.framing is not None:
            lines += self.framing
        elif self.body is not None:
            lines.append((b"Content-Length", b"%d" % len(self.body)))
        first = b" ".join(part for part in (self.method, self.path, self.version) if part is not None)
        rendered = b"".join((n if v is None else n + b": " + v) + self.end for n, v in lines)
        return first + self.end + rendered + self.end

    def content(self):
        return self.payload if self.payload is not None else self.body or b""

    def bytes(self):
        return self.head() + self.content()


def chunked(rng, body, extras=True):
    """The body in chunks of any size, as the standard allows them."""
    out, position = [], 0
    while position < len(body):
        count = rng.choice([1, 2, 7, 100, 4096, len(body)])
        piece = body[position:position + count]
        size = (b"%x" if rng.random() < 0.5 else b"%X") % len(piece)
        if extras and rng.random() < 0.2:
            size = b"0" * rng.randint(1, 6) + size
        if extras and rng.random() < 0.2:
            size += rng.choice([b";a", b";a=b", b";a=\"b c\""])
        out.append(size + b"\r\n" + piece + b"\r\n")
        position += count
    out.append(b"0\r\n\r\n")
    return b"".join(out)


NUMBERS = [
    "", " ", "-1", "+1", "0", "00", "007", "1 ", " 1", "1.0", "1e3", "0x10", "\u0663", "\uff19", "1\u0301", "\u0661" * 400,
    "18446744073709551615", "18446744073709551616", "9223372036854775807", "9223372036854775808", "4294967296",
    "-9223372036854775808", "9999999999999999999", "0" * 19 + "1", "1" * 5000, "1\0", "\0", "NaN", "1\n", "1_000",
    "1,000", "2147483648", "1073741824", "1073741825", "None", "\u202e1", "\U0001f600", "1;1", "1\r\n", "true",
]

NAMES = [
    "../../../../tmp/escaped", "/tmp/escaped", "..", ".", "", "...", "....", "/", "//", "a" * 300, "\u00e9" * 200, "e" + "\u0301" * 3000,
    "\u202egnp.exe", "con", ".ingest", ".ingest/receiver.sqlite", ".ingest/parts/x", "a/b", "a\\b", "a\0b", "a%00b",
    "%2e%2e%2fescaped", "~", "~root/x", "-rf", "a%22b", "a%0D%0Ab", "x." + "y" * 300, "x." + "\u0301" * 40, "\u0301abc",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0600" * 90 + ".\u06dd", "a\tb\x1b[31m", "\x7f", "\x80\x9f", " ", ". .", "a.b.c.d",
    "\ud7ff\ue000\uffff", "\U0010ffff" * 70, "x" * 7000, "\u0f71\u0f72" * 1000, "ﷺ" * 90, "ß.ẞ", "İ.İ" * 60, "a;b", "a;name=block", "\\", "\\\"",
]

RAW_NAMES = [b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xae\xc0\xae/x", b"\xf8\x88\x80\x80\x80", b"a\xffb" * 90, b"\x80" * 4000, b"\xe2\x82"]

JUNK = [b"", b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b":", b" ", b"\t", b"\xff", b"--", b"%", b"%0", b"\x7f" * 10, b"A" * 300]


def token_text(rng, length=8):
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyzABCDEF0123456789") for _ in range(length))


def boundary_text(rng, content):
    while True:
        length = rng.choice([1, 2, 8, 24, 70])
        boundary = "".join(rng.choice("abcXYZ019'()+_-./:=?") for _ in range(length))
        # The receiver trims a value; quoting is needed for some of these characters, and done always.
        if f"\r\n--{boundary}".encode() not in b"\r\n" + content:
            return boundary


class Part:
    def __init__(self, name, content, file_name=None):
        self.name, self.content, self.file_name = name, content, file_name
        self.head = None

    def render_head(self, rng):
        if self.head is not None:
            return self.head
        head = b'Content-Disposition: form-data; name="' + self.name + b'"'
        if self.file_name is not None:
            head += b'; filename="' + self.file_name + b'"'
        head += b"\r\n"
        if self.file_name is not None:
            head += b"Content-Type: application/octet-stream\r\n"
        return head


class Form:
    """The parts of a request's body and how they are framed."""

    def __init__(self, parts, boundary):
        self.parts, self.boundary = parts, boundary.encode()
        self.preamble, self.epilogue, self.end = b"", b"\r\n", b"--"
        self.line = b"\r\n"

    def part(self, name):
        for part in self.parts:
            if part.name == name.encode():
                return part
        return None

    def set(self, name, value):
        part = self.part(name)
        if part:
            part.content = value
        else:
            self.parts.insert(0, Part(name.encode(), value))

    def bytes(self, rng):
        out = [self.preamble]
        for index, part in enumerate(self.parts):
            lead = b"" if index == 0 and not self.preamble else self.line
            head = part.render_head(rng).replace(b"\r\n", self.line)
            out.append(lead + b"--" + self.boundary + self.line + head + self.line + part.content)
        out.append(self.line + b"--" + self.boundary + self.end + self.epilogue)
        return b"".join(out)


# --- spoiling ---------------------------------------------------------------------------------------------------------


def spoil_form(rng, form):
    """Changes parts, fields and framing; says what."""
    kind = rng.randrange(22)
    if kind < 6:
        part = rng.choice(form.parts)
        part.content = rng.choice([
            lambda: rng.choice(NUMBERS).encode(), lambda: rng.choice(NUMBERS).encode(), lambda: rng.choice(NAMES).encode("utf-8", "surrogatepass"),
            lambda: rng.randbytes(rng.choice([1, 10, 5000])), lambda: part.content + rng.choice(JUNK),
            lambda: rng.choice(JUNK) + part.content, lambda: part.content[:-1], lambda: part.content * 2,
        ])()
        return "value of " + part.name.decode("latin-1")
    if kind < 9:
        block = form.part("block")
        if block:
            block.file_name = rng.choice(RAW_NAMES) if rng.random() < 0.2 else rng.choice(NAMES).encode("utf-8", "surrogatepass")
        return "file name"
    if kind == 9:
        del form.parts[rng.randrange(len(form.parts))]
        return "part missing"
    if kind == 10:
        form.parts.insert(rng.randrange(len(form.parts) + 1), rng.choice(form.parts))
        return "part twice"
    if kind == 11:
        for number in range(rng.choice([1, 60, 70, 3000])):
            form.parts.insert(0, Part(b"x%d" % number, b"y"))
        return "parts more"
    if kind == 12:
        form.end = rng.choice([b"", b"-", b"--x", b" --", b"\0\0", b"\r\n"])
        return "end of form"
    if kind == 13:
        form.line = rng.choice([b"\n", b"\r", b"", b"\r\r\n", b"\n\r"])
        return "line ends"
    if kind == 14:
        part = rng.choice(form.parts)
        lead = b"\r\n--" + form.boundary
        part.content += rng.choice([lead, lead + b"--", lead + b"\r\n\r\n", lead + b" \r\n", lead + b"\r", lead + lead, lead[:-1]])
        return "boundary inside"
    if kind == 15:
        part = rng.choice(form.parts)
        name = part.name
        part.head = rng.choice([
            b"", b"\r\n", b"Content-Disposition: form-data\r\n", b"Content-Disposition\r\n", b"X: y\r\n" * rng.choice([1, 500, 3000]),
            b"content-disposition:form-data;name=" + name + b"\r\n", b'Content-Disposition: form-data; name="' + name + b"\r\n",
            b'Content-Disposition: form-data; name="' + name + b'\\"\r\n', b"Content-Disposition: form-data; name=\r\n",
            b'Content-Disposition: form-data; ; ;; name="' + name + b'";;=;==\r\n', b"Content-Disposition: " + b";" * 8000 + b"\r\n",
            b'Content-Disposition: form-data; name="' + name + b'"; name="block"; filename="x"\r\n',
            b'Content-Disposition: form-data; name="' + name * 100 + b'"\r\n', b'Content-Disposition: form-data; filename*=UTF-8\'\'%ff; name="' + name + b'"\r\n',
            b'Content-Disposition: form-data; name="\xcc\x81' + name + b'"\r\n', b"Content-Disposition: form-data; name=\xff\xfe\r\n",
            b'Content-Disposition: form-data; name="' + b"\\" * 7000 + b'"\r\n', b'Content-Disposition: form-data; name="' + b"%22" * 2500 + b'"\r\n',
            b'Content-Disposition: form-data; name="' + name + b'"\r\nContent-Transfer-Encoding: base64\r\n', rng.randbytes(200),
        ])
        return "head of a part"
    if kind == 16:
        inner = Form(list(form.parts), rng.choice(["inner", form.boundary.decode(), form.boundary.decode() + "x"]))
        part = Part(b"nested", inner.bytes(rng))
        part.head = b'Content-Disposition: form-data; name="nested"\r\nContent-Type: multipart/mixed; boundary=inner\r\n'
        form.parts.insert(rng.randrange(len(form.parts) + 1), part)
        return "nested form"
    if kind == 17:
        form.preamble = rng.choice([rng.randbytes(50), b"\r\n" * 1000, b"--" + form.boundary, b"-" * 70000])
        form.epilogue = rng.choice([b"", rng.randbytes(5000), form.bytes(rng)])
        return "preamble and epilogue"
    if kind == 18:
        form.parts = []
        return "no parts"
    if kind == 19:
        rng.shuffle(form.parts)
        part = rng.choice(form.parts)
        part.name = rng.choice([part.name.upper(), b"", part.name + b" ", b"block", b"x" * 300, rng.randbytes(8)])
        return "name of a part"
    if kind == 20:
        for part in form.parts:
            if part.name in (b"blockSize", b"totFileSize", b"sequenceNo"):
                part.content = rng.choice(NUMBERS + ["1", "2", "3", "1073741824"] * 4).encode()
        return "numbers"
    block = form.part("block")
    if block:
        block.content = rng.choice([b"", block.content + b"x", block.content[:-1], rng.randbytes(len(block.content)), bytes(200_000)])
    return "block"


def spoil_content_type(rng, request, boundary):
    b = boundary.encode()
    value = rng.choice([
        None, b"", b"multipart/form-data", b"multipart/form-data; boundary=", b"multipart/form-data; boundary=wrong",
        b"multipart/form-data; boundary=" + b"b" * 71, b"multipart/form-data; boundary=" + b"b" * 60000, b"multipart/form-data; boundary=\"" + b,
        b"multipart/form-data; boundary=\"\"", b"multipart/form-data; boundary=\"", b"text/plain", b"multipart/mixed; boundary=" + b,
        b"MULTIPART/FORM-DATA; BOUNDARY=\"" + b + b"\"", b"multipart/form-data;;;boundary=" + b + b";charset=x", b"multipart/form-data; boundary=\xff\xfe",
        b"multipart/form-data; boundary=a\0b", b"multipart/form-data; boundary=" + b + b"; boundary=x", b";" * 20000,
    ])
    request.headers = [(n, v) for n, v in request.headers if n != b"Content-Type"]
    if value is not None:
        request.headers.append((b"Content-Type", value))
    return "content type"


def spoil_line(rng, request):
    kind = rng.randrange(14)
    if kind == 0:
        request.method = rng.choice([b"", b"post", b"PUT", b"OPTIONS", b"TRACE", b"CONNECT", b"PATCH", b"X" * 5000, b"\xff", b"GE\0T", b"HEAD", b"DELETE", b"PRI", b"*"])
    elif kind == 1:
        request.version = rng.choice([b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.10", b"HTTP/1", b"http/1.1", b"HTTP/-1.1", b"", b"HTTP/1.1 x", b"HTTP/9.9", b"X" * 100])
    elif kind == 2:
        request.version = None
    elif kind == 3:
        request.path = rng.choice([b"", b"*", b"/", b"//upload", b"/upload/", b"/upload/../upload", b"http://x/upload", b"upload", b"/%75pload", b"/upload%00", b"/upload%", b"/upload%2", b"/upload%zz", b"/UPLOAD", b"/upload;x", b"/upload#x", b"\\upload", b"/upload\0x"])
    elif kind == 4:
        request.path += b"?" + rng.choice([b"", b"&" * 3000, b"a=b&" * 2000, b"=", b"%", b"token=%ff%00", b"a" * 60000, b"token", b"?" * 100, b"\xff" * 100, b"a%00b=c%00d"])
    elif kind == 5:
        request.path = b"/received/" + rng.choice([b"", b"..", b"../../etc/passwd", b"..%2f..%2fetc%2fpasswd", b"%2e%2e/", b".ingest/receiver.sqlite", b".ingest%2freceiver.sqlite", b"/etc/passwd", b"%00", b"a" * 300, b"%ff" * 80, b".", b"\xff\xfe", b"a%00b", b"receiver.sqlite", b"%cc%81" * 100])
        request.method = rng.choice([b"GET", b"HEAD", b"GET", b"POST"])
    elif kind == 6:
        request.path = b"/" + b"a" * rng.choice([100, 8000, 32000, 130000, 200000])
    elif kind == 7:
        request.end = rng.choice([b"\n", b"\r", b"\r\r\n", b"\n\n"])
    elif kind == 8:
        request.method = rng.choice([b"\r\n", b"\r\n" * 50, b"\n", b" ", b"\t"]) + request.method
    elif kind == 9:
        request.path = request.path.replace(b"/", b" /", 1) + rng.choice([b"", b" ", b"\t", b"  "])
    else:
        request.path = request.path + rng.choice(JUNK)
    return "request line"


def spoil_headers(rng, request):
    kind = rng.randrange(14)
    add = request.headers.append
    if kind == 0:
        for number in range(rng.choice([10, 100, 1000, 5000])):
            add((b"X-%d" % number, b"y"))
    elif kind == 1:
        add((b"X", b"y" * rng.choice([1000, 30000, 70000, 130000, 300000])))
    elif kind == 2:
        add((rng.choice([b"", b" X", b"X ", b"X\t", b"\0", b"X\0Y", b"\xff", b"a" * 40000, b"X Y", b"(", b"\r"]), b"y"))
    elif kind == 3:
        add((rng.choice([b"no colon", b" folded", b"\tfolded", b":", b": x", b"\0", b"a\rb: c"]), None))
    elif kind == 4:
        add((rng.choice([b"Host", b"Idempotency-Key", b"Upload-Token", b"Range", b"Authorization", b"X"]), rng.choice(JUNK + [name.encode("utf-8", "surrogatepass") for name in NAMES])))
    elif kind == 5:
        if request.headers:
            add(rng.choice(request.headers))
    elif kind == 6:
        if request.headers:
            del request.headers[rng.randrange(len(request.headers))]
    elif kind == 7:
        add((b"Expect", rng.choice([b"100-continue", b"100-Continue", b"", b"200-ok", b"100-continue, x", b"\xff"])))
    elif kind == 8:
        add((b"Connection", rng.choice([b"close", b"keep-alive", b"upgrade", b"close, keep-alive", b"Content-Length", b"", b"\xff", b"te"])))
        add((b"Upgrade", rng.choice([b"h2c", b"websocket", b"TLS/1.0"])))
    elif kind == 9:
        add((b"Range", rng.choice([b"bytes=0-", b"bytes=-1", b"bytes=9223372036854775807-", b"bytes=-9223372036854775807", b"bytes=0-0,1-1" + b",2-2" * 1000, b"bytes=5-1", b"bytes=-0", b"bytes=--1", b"BYTES=0-1", b"bytes=", b"bytes=\xd9\xa3-", b"lines=1-2", b"bytes=1-99999999999999999999"])))
    elif kind == 10:
        add((b"Host", rng.choice([b"a b", b"evil\"><script>", b"[::1", b"x" * 300, b"\xc3\xa9", b"h:99999", b"//", b"a\0b", b"", b"\xe1\xba\x9e.ss"])))
    elif kind == 11:
        rng.shuffle(request.headers)
        request.headers = [(n.upper() if rng.random() < 0.5 else n.lower(), v) for n, v in request.headers]
    elif kind == 12:
        add((b"Idempotency-Key", rng.choice([b"", b"x" * 199, b"x" * 201, b"\xff" * 30, b"e" + b"\xcc\x81" * 400, b"same for many"])))
    else:
        add((b"Cookie", b"a=b; " * rng.choice([1, 100, 3000])))
    return "headers"


def spoil_framing(rng, request):
    body = request.body or b""
    length = len(body)
    name = b"Content-Length"
    kind = rng.randrange(5)
    if kind < 2:
        values = rng.choice([
            [b"%d" % max(0, length - rng.randint(1, 50))], [b"%d" % (length + rng.choice([1, 50, 1000]))], [b"-1"], [b"-%d" % length], [b"+%d" % length],
            [b"%d" % 2**31], [b"%d" % 2**32], [b"%d" % (2**63 - 1)], [b"%d" % 2**63], [b"%d" % (2**64 - 1)], [b"%d" % 2**64], [b"9" * 1000], [b"1073741824"], [b"1074003969"],
            [b"0"], [b""], [b" "], [b"0x%x" % length], [b"%d " % length], [b"%d, %d" % (length, length)], [b"%d" % length] * 2, [b"%d" % length, b"0"],
            [b"0", b"%d" % length], [b"000%d" % length], [b"%d\0" % length], [b"abc"], [b"%de0" % length], [], [b"%d;" % length], [b"5000000"], [b"4194305"],
        ])
        request.framing = [(name, value) for value in values]
    elif kind == 2:
        request.framing = [(b"Transfer-Encoding", rng.choice([b"gzip", b"gzip, chunked", b"chunked, chunked", b"Chunked", b"identity", b"", b"chunked, gzip", b"xchunked", b"chunked;q=1", b"\x0bchunked", b" chunked "]))]
        request.payload = chunked(rng, body)
        if rng.random() < 0.2:
            request.version = b"HTTP/1.0"
    elif kind == 3:
        request.framing = [(b"Transfer-Encoding", b"chunked"), (name, rng.choice([b"0", b"%d" % length, b"1", b"abc"]))]
        if rng.random() < 0.5:
            request.framing.reverse()
        if rng.random() < 0.3:
            request.framing.append((b"Transfer-Encoding", b"chunked"))
        request.payload = chunked(rng, body)
    else:
        request.framing = [(b"Transfer-Encoding", b"chunked")]
        good = chunked(rng, body)
        start = b"%x\r\n" % length + body
        request.payload = rng.choice([
            good[:-5], good[:-2], good[:-2] + b"X: y\r\n\r\n", good[:-2] + b"X: y\r\n" * 5000 + b"\r\n", good.replace(b"\r\n", b"\n"), b"-1\r\n" + body + b"\r\n0\r\n\r\n",
            b"ffffffffffffffff\r\n" + body, b"10000000000000000\r\n" + body, b"7fffffffffffffff\r\n" + body, b"0x5\r\n" + body, b"\r\n" + good, b"zz\r\n" + body, start + b"0\r\n\r\n",
            start + b"XX0\r\n\r\n", b"%x" % length + b";" + b"a" * 200000 + b"\r\n" + body + b"\r\n0\r\n\r\n", b"0" * 100000 + good, b" 5\r\n" + body, b"%x \r\n" % length + body + b"\r\n0\r\n\r\n",
            b"1\r\nx\r\n" * 3000 + b"0\r\n\r\n", b"0\r\n\r\n" + good, good + good, b"5\rhello\r0\r\r", b"", b"%x\r\n" % (length + 1) + body, good[:-2] + b"\0\0\0\0", b"00000000000000000000%x\r\n" % length + body + b"\r\n0\r\n\r\n",
        ])
    return "framing"


def spoil_bytes(rng, data, others):
    """Flips, cuts, doubles and splices, without any notion of what the bytes mean."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        if not data:
            break
        # Most of what matters stands in front.
        at = rng.randrange(min(len(data), rng.choice([50, 500, len(data)]) or 1) or 1)
        kind = rng.randrange(7)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.choice(b"\0\r\n :;\"-=%\xff/0")
        elif kind == 2:
            del data[at:at + rng.choice([1, 2, 10, 200])]
        elif kind == 3:
            data[at:at] = rng.choice(JUNK)
        elif kind == 4:
            count = rng.choice([1, 4, 100])
            data[at:at] = data[at:at + count] * rng.choice([1, 3, 50])
        elif kind == 5 and others:
            other = rng.choice(others)
            start = rng.randrange(len(other) or 1)
            data[at:] = other[start:]
        else:
            del data[at:]
    return bytes(data)


# --- conversations ----------------------------------------------------------------------------------------------------


class Upload:
    """What the receiver must know of an upload."""

    def __init__(self, rng, size=None, block_size=None):
        self.size = rng.choice([0, 1, 2, 10, 100, 999, 1000, 4096, 20_000, 150_000]) if size is None else size
        if block_size is None:
            block_size = max(1, rng.choice([self.size or 1, self.size * 3 + 1, self.size // 2, self.size // 3 + 1, self.size // 11 + 1]))
        self.block_size = block_size
        self.data = rng.randbytes(self.size)
        # Much that looks like the beginning of a boundary.
        if rng.random() < 0.5:
            parts = []
            while sum(map(len, parts)) < min(self.size, 5000):
                parts.append(rng.choice([b"\r\n--", b"\r\n", b"--", b"\r", b"-", b"\r\n--x", rng.randbytes(5)]))
            self.data = (b"".join(parts) + self.data)[:self.size]
        self.boundary = boundary_text(rng, self.data)
        self.total = -(-self.size // self.block_size)
        self.key = token_text(rng, 32) + str(time.time_ns()) if rng.random() < 0.7 else None
        self.name = rng.choice(["clip.mov", "a b.bin", "Ünïcödé.mp4", "x", "many.dots.in.it.mkv", "no-extension"])
        self.token = None
        self.received = 0
        self.url = None

    def block(self, number):
        return self.data[(number - 1) * self.block_size:number * self.block_size]


class Case:
    """One conversation."""

    def __init__(self, target, seed, number, corpus):
        self.target = target
        self.rng = random.Random(f"{seed}:{number}")
        self.corpus = corpus
        self.wire = None
        self.spoiling = self.rng.choice([0, 0.15, 0.4, 0.8])
        self.notes = []

    def connection(self, fresh=False):
        if fresh or self.wire is None:
            if self.wire:
                self.wire.close()
            self.wire = Wire(self.target)
        return self.wire

    def hang_up(self):
        if self.wire:
            self.wire.close(reset=self.rng.random() < 0.2)
        self.wire = None

    # Requests

    def headers(self):
        return [(b"Host", self.target.host), (b"User-Agent", b"fuzz")]

    def form(self, upload, number, block=None):
        rng = self.rng
        block = (upload.block(number) if number else b"") if block is None else block
        fields = [("sequenceNo", str(number)), ("blockSize", str(upload.block_size)), ("totFileSize", str(upload.size)), ("suffix", "bin"), ("token", "")]
        if number:
            fields += [("upToken", upload.token), ("crc", f"{zlib.crc32(block):08x}")]
        parts = [Part(name.encode(), value.encode()) for name, value in fields]
        parts.append(Part(b"block", block, upload.name.encode()))
        if rng.random() < 0.2:
            rng.shuffle(parts)
        return Form(parts, upload.boundary)

    def post(self, upload, number, block=None, form=None):
        rng = self.rng
        form = form or self.form(upload, number, block)
        request = Request(b"POST", b"/upload", self.headers(), form.bytes(rng))
        request.headers.append((b"Content-Type", b'multipart/form-data; boundary="' + form.boundary + b'"'))
        if upload.key:
            request.headers.append((b"Idempotency-Key", upload.key.encode()))
        style = rng.random()
        if style < 0.15:
            request.framing = [(b"Transfer-Encoding", b"chunked")]
            request.payload = chunked(rng, request.body)
        elif style < 0.2:
            request.version = b"HTTP/1.0"
        elif style < 0.25:
            request.headers.append((b"Connection", b"close"))
        elif style < 0.3:
            request.headers.append((b"Expect", b"100-continue"))
        return request

    def deliver(self, wire, data):
        """Sends a sound request, in pieces of some size."""
        rng = self.rng
        style = rng.random()
        if style < 0.7 or len(data) > 50_000:
            wire.send(data)
        elif style < 0.9:
            position = 0
            while position < len(data):
                count = rng.choice([1, 2, 3, 50, 1000])
                if len(data) > 3000:
                    count *= 50
                wire.send(data[position:position + count])
                position += count
        else:
            cut = rng.randrange(len(data))
            wire.send(data[:cut])
            time.sleep(rng.random() * 0.2)
            wire.send(data[cut:])

    def ask(self, request):
        """A sound request and its answer. A kept connection that was closed meanwhile is replaced once, as clients do.

        A spoiled one may have left sound requests behind it, which still are worked off; who comes last to write an
        upload cuts off the other. So it is tried again.
        """
        self.target.count("requests")
        attempts = 6 if self.spoiling else 2
        for attempt in range(attempts):
            wire = self.connection()
            reused = wire.used
            try:
                self.deliver(wire, request.bytes())
                answer = wire.answer(is_head=request.method == b"HEAD")
                break
            except (Gone, OSError) as error:
                self.hang_up()
                if attempt + 1 == attempts or not (reused or self.spoiling):
                    raise Fault(f"a sound request got no answer ({type(error).__name__} {error})")
                time.sleep(0.1 * attempt)
        with self.target.lock:
            self.target.statuses[answer.status] += 1
        if request.is_last() or "close" in answer.headers["connection"]:
            self.hang_up()
        return answer

    def expect(self, request, *statuses):
        answer = self.ask(request)
        if answer.status not in statuses:
            raise Fault(f"{request.method.decode()} {self.notes[-3:]} got {answer.status}, not {statuses}: {answer.body[:200]!r}")
        return answer

    # Steps

    def open(self, upload):
        data = self.expect(self.post(upload, 0), 200).json("data")
        if not re.fullmatch(r"[0-9a-f]{32}", data.get("upToken", "")):
            raise Fault(f"an opening got no token: {data}")
        if upload.token and upload.key and upload.token != data["upToken"]:
            raise Fault("a second opening under the same key got another token")
        upload.token = data["upToken"]
        count = data.get("receivedCount", -1)
        if not upload.received <= count <= upload.total:
            raise Fault(f"received {count}, though {upload.received} blocks were acknowledged")
        upload.received = count
        self.complete(upload, data, upload.received == upload.total)
        return data

    def complete(self, upload, data, is_expected):
        if is_expected and "fileUrl" not in data:
            raise Fault("a complete upload has no URL")
        if "fileUrl" not in data:
            return
        if data.get("size") != upload.size or data.get("sha256") != hashlib.sha256(upload.data).hexdigest():
            raise Fault(f"the receipt is wrong: {data} for {upload.size} bytes")
        if upload.url and upload.url != data["fileUrl"]:
            raise Fault("a file got a second URL")
        upload.url = data["fileUrl"]

    def send_block(self, upload, number):
        rng = self.rng
        if rng.random() < 0.05:
            wrong = bytearray(upload.block(number))
            form = self.form(upload, number)
            wrong[rng.randrange(len(wrong))] ^= 1
            form.part("block").content = bytes(wrong)
            if b"\r\n--" + form.boundary not in b"\r\n" + bytes(wrong):
                error = self.expect(self.post(upload, number, form=form), 400).json("error")
                if error["code"] != "crc":
                    raise Fault(f"wrong bytes were refused as {error}")
        # Spoiled requests may have carried sound blocks.
        if not self.spoiling and rng.random() < 0.1 and upload.received + 2 <= upload.total:
            ahead = min(upload.total, upload.received + rng.randint(2, 4))
            error = self.expect(self.post(upload, ahead), 409).json("error")
            if error["code"] != "sequence" or error.get("expectedSequenceNo") != upload.received + 1:
                raise Fault(f"block {ahead} instead of {number} was refused with {error}")
        data = self.expect(self.post(upload, number), 200).json("data")
        upload.received = max(upload.received, number)
        if data.get("receivedCount", -1) < upload.received:
            raise Fault(f"received {data} after block {number}")
        self.complete(upload, data, number == upload.total)

    def fetch(self, upload):
        rng = self.rng
        match = re.fullmatch(r"http://[^/]+(/received/[A-Za-z0-9._~%-]+)", upload.url)
        if not match:
            raise Fault(f"the URL {upload.url} is none")
        path = match[1].encode()
        answer = self.expect(Request(b"GET", path, self.headers()), 200)
        if answer.body != upload.data:
            raise Fault("the file is not what was sent")
        head = self.expect(Request(b"HEAD", path, self.headers()), 200)
        if head.headers["content-length"] != [str(upload.size)]:
            raise Fault("HEAD tells another size")
        for _ in range(rng.randrange(4)):
            first = rng.randrange(upload.size + 2)
            last = rng.choice([None, rng.randrange(upload.size + 5), 2**62])
            text = rng.choice([f"bytes={first}-{'' if last is None else last}", f"bytes=-{first}"])
            request = Request(b"GET", path, self.headers() + [(b"Range", text.encode())])
            answer = self.expect(request, 200, 206, 416)
            if answer.status == 206:
                match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers["content-range"][0])
                low, high, size = map(int, match.groups())
                if size != upload.size or answer.body != upload.data[low:high + 1]:
                    raise Fault(f"the range {text} is wrong")
        if rng.random() < 0.3:
            self.pipeline([Request(rng.choice([b"GET", b"HEAD"]), path, self.headers()) for _ in range(rng.randint(2, 20))])

    def pipeline(self, requests):
        wire = self.connection(fresh=True)
        self.target.count("requests", len(requests))
        wire.send(b"".join(request.bytes() for request in requests))
        for request in requests:
            try:
                if wire.answer(is_head=request.method == b"HEAD").status != 200:
                    raise Fault("a pipelined request was refused")
            except Gone:
                raise Fault("a pipelined request got no answer")

    def delete(self, upload):
        headers = self.headers() + [(b"Upload-Token", upload.token.encode())]
        # Spoiled requests may have completed it, and then it is not dropped.
        if self.expect(Request(b"DELETE", b"/upload", headers), 204, *([404] if self.spoiling else [])).status == 404:
            return
        self.expect(Request(b"DELETE", b"/upload", headers), 404)
        if upload.total:
            error = self.expect(self.post(upload, 1), 404).json("error")
            if error["code"] != "unknownToken":
                raise Fault(f"a dropped upload is {error}")

    def spoiled(self, upload, number):
        """A request that was sound once, however it is delivered. What comes back is read loosely."""
        rng = self.rng
        self.target.count("spoiled requests")
        form = self.form(upload, number)
        notes = []
        for _ in range(rng.choice([0, 1, 1, 2])):
            if not form.parts:
                break
            notes.append(spoil_form(rng, form))
        request = self.post(upload, number, form=form)
        if rng.random() < 0.2 and upload.url:
            request = Request(b"GET", upload.url.split("/", 3)[3].encode().join([b"/", b""]), self.headers())
        for spoil in (spoil_line, spoil_headers, spoil_framing):
            if rng.random() < 0.25:
                notes.append(spoil(rng, request))
        if rng.random() < 0.1:
            notes.append(spoil_content_type(rng, request, upload.boundary))
        data = request.bytes()
        if rng.random() < 0.2:
            data = b"".join([data] + [self.post(upload, rng.randint(0, min(upload.total, number + 1)) if upload.token else 0).bytes() for _ in range(rng.randint(1, 3))])
            notes.append("pipelined")
        if rng.random() < 0.25:
            data = spoil_bytes(rng, data, self.corpus.entries)
            notes.append("bytes")
        self.notes.append("+".join(notes))
        self.throw(data)

    def throw(self, data):
        rng = self.rng
        wire = self.connection(fresh=rng.random() < 0.5)
        self.wire = None
        style = rng.random()
        try:
            if style < 0.15 and data:
                wire.send(data[:rng.randrange(len(data))])
                ending = rng.randrange(4)
                if ending == 0:
                    wire.socket.shutdown(socket.SHUT_WR)
                elif ending == 1:
                    time.sleep(rng.random() * 0.05)
                else:
                    wire.close(reset=ending == 2)
                    return
            elif style < 0.25:
                for position in range(0, min(len(data), 3000), 100):
                    wire.send(data[position:position + 100])
                    time.sleep(0.002)
                wire.send(data[3000:])
            else:
                wire.send(data)
            if rng.random() < 0.1:
                wire.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            # An answer need not come: the receiver may wait for more.
            came = wire.rest(rng.choice([0.05, 0.3, 1]))
            for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", came):
                with self.target.lock:
                    self.target.statuses[int(status)] += 1
        finally:
            wire.close(reset=rng.random() < 0.3)
        self.corpus.remember(rng, data)

    # The whole

    def run(self):
        rng = self.rng
        upload = Upload(rng)
        fate = rng.random()
        stop = rng.randint(0, upload.total) if fate < 0.2 else None
        if rng.random() < self.spoiling:
            self.spoiled(upload, 0)
        self.open(upload)
        while upload.received < upload.total:
            number = upload.received + 1
            if stop is not None and number > stop:
                break
            if rng.random() < self.spoiling:
                self.spoiled(upload, number)
                if upload.key:
                    if rng.random() < 0.5:
                        self.open(upload)
                        continue
                self.hang_up()
            if rng.random() < 0.1 and upload.received:
                self.send_block(upload, rng.randint(1, upload.received))
            if rng.random() < 0.1 and upload.key:
                self.hang_up()
                self.open(upload)
                continue
            self.send_block(upload, number)
        if stop is not None and upload.received < upload.total:
            if rng.random() < 0.8:
                self.delete(upload)
            return
        if upload.total:
            self.send_block(upload, upload.total)
        if upload.key:
            self.open(upload)
        self.fetch(upload)
        for _ in range(3):
            if rng.random() < self.spoiling:
                self.spoiled(upload, upload.total)
        self.hang_up()
        self.fetch(upload)


class Corpus:
    """Connections as they were, raw. `@UPTOKEN@` in a file stands for a fresh upload of 10 bytes in blocks of 4."""

    def __init__(self, directory):
        self.files = []
        self.entries = []
        if directory and os.path.isdir(directory):
            for name in sorted(os.listdir(directory)):
                with open(os.path.join(directory, name), "rb") as file:
                    self.files.append((name, file.read()))
        self.entries += [data for _, data in self.files]

    def remember(self, rng, data):
        if len(data) < 20_000 and rng.random() < 0.1:
            if len(self.entries) > 300:
                self.entries[rng.randrange(len(self.files), len(self.entries))] = data
            else:
                self.entries.append(data)

    def replay(self, target, seed):
        for name, data in self.files:
            case = Case(target, seed, "corpus " + name, Corpus(None))
            if b"@UPTOKEN@" in data:
                upload = Upload(case.rng, size=10, block_size=4)
                case.open(upload)
                data = data.replace(b"@UPTOKEN@", upload.token.encode())
            wire = case.connection(fresh=True)
            try:
                wire.send(data)
            except OSError:
                pass
            wire.rest(2)
            wire.close()
            case.wire = None
            by_the_book(target, case.rng)


# --- bystanders -------------------------------------------------------------------------------------------------------


def stored(target, upload):
    return os.path.join(target.store, urllib.parse.unquote(upload.url.rsplit("/", 1)[1]))


def by_the_book(target, rng, size=None):
    """An upload as `ingest` does it. Returns the seconds it took."""
    begun = time.monotonic()
    case = Case(target, rng.random(), "oracle", Corpus(None))
    upload = Upload(rng, size=rng.randint(50_000, 300_000) if size is None else size, block_size=65_536 if size is None else 1 << 20)
    upload.key = token_text(rng, 32)
    case.open(upload)
    for number in range(1, upload.total + 1):
        case.send_block(upload, number)
    case.fetch(upload)
    case.hang_up()
    with open(stored(target, upload), "rb") as file:
        if file.read() != upload.data:
            raise Fault("the file in the store is not what was sent")
    target.count("uploads by the book")
    return time.monotonic() - begun, upload


class Crowd:
    """Connections that are opened and held, each stuck somewhere."""

    def __init__(self, target, count, rng, beginnings):
        self.sockets = []
        self.target = target
        self.refused = 0
        for index in range(count):
            connection = socket.socket()
            connection.setblocking(False)
            connection.bind((f"127.0.1.{index % 250 + 1}", 0))
            try:
                connection.connect(target.address)
            except BlockingIOError:
                pass
            self.sockets.append((connection, rng.choice(beginnings)))
            if index % 200 == 199:
                time.sleep(0.02)
        target.count("connections", count)

    def begin(self):
        for connection, beginning in self.sockets:
            try:
                if beginning:
                    connection.send(beginning)
            except OSError:
                self.refused += 1

    def drip(self):
        for connection, _ in self.sockets:
            try:
                connection.send(b"x")
            except OSError:
                pass

    def close(self):
        for connection, _ in self.sockets:
            connection.close()
        self.sockets = []


BEGINNINGS = [
    b"", b"", b"P", b"GET /received/x HTTP/1.1\r\nHost: x\r\n", b"POST /upload HTTP/1.1\r\nHost: x\r\nX: ",
    b"POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n",
    b"POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n5\r\n--b",
    b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\n\r\nx", b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
]


def hold(target, rng, count, seconds, what, beginnings):
    """Holds so many connections open, and uploads by the book meanwhile."""
    crowd = Crowd(target, count, rng, beginnings)
    try:
        crowd.begin()
        end = time.monotonic() + seconds
        slowest, uploads = 0, 0
        while time.monotonic() < end or uploads == 0:
            took, _ = by_the_book(target, rng)
            slowest, uploads = max(slowest, took), uploads + 1
            crowd.drip()
        note(f"{what}: {uploads} uploads beside {count} held connections, the slowest took {slowest:.1f} s; {target.sample()}")
        if slowest > 30:
            raise Fault(f"an upload beside {what} took more than 30 s")
    finally:
        crowd.close()


def late_readers(target, rng, count):
    """Clients that ask for a long file and do not read it."""
    _, upload = by_the_book(target, rng, size=24 << 20)
    path = upload.url.split("/", 3)[3]
    wires = []
    try:
        for _ in range(count):
            wire = Wire(target, small_window=True)
            wire.socket.sendall(f"GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            wires.append(wire)
        took, _ = by_the_book(target, rng)
        note(f"late readers: an upload beside {count} took {took:.1f} s; {target.sample()}")
    finally:
        for wire in wires:
            wire.close()
        os.remove(stored(target, upload))


def abandon(target, rng, count):
    """Uploads that are begun and never continued must not cost the others anything."""
    case = Case(target, rng.random(), "abandon", Corpus(None))
    for _ in range(count):
        upload = Upload(rng, size=10, block_size=4)
        upload.key = None
        case.open(upload)
        case.send_block(upload, 1)
    case.hang_up()
    took, _ = by_the_book(target, rng)
    note(f"abandoned: {count} uploads; one beside them took {took:.1f} s; {target.sample()}")


def half_blocks(target, rng, count):
    """Clients that send the first half of a block each and then nothing."""
    case = Case(target, rng.random(), "half blocks", Corpus(None))
    wires = []
    try:
        for _ in range(count):
            upload = Upload(rng, size=10_000, block_size=5000)
            upload.key = None
            case.open(upload)
            request = case.post(upload, 1, form=case.form(upload, 1))
            request.framing, request.payload, request.version = None, None, b"HTTP/1.1"
            request.headers = [header for header in request.headers if header[0] != b"Expect"]
            wire = Wire(target)
            wire.socket.sendall(request.bytes()[:-3000])
            wires.append(wire)
        case.hang_up()
        took, _ = by_the_book(target, rng)
        note(f"half blocks: an upload beside {count} took {took:.1f} s; {target.sample()}")
    finally:
        for wire in wires:
            wire.close()


def twins(target, rng):
    """Several connections that open the same upload at once, and send the same block at once: it stays one upload."""
    upload = Upload(rng, size=3000, block_size=1000)
    upload.key = token_text(rng, 32)
    cases = [Case(target, rng.random(), "twins", Corpus(None)) for _ in range(4)]
    for case in cases:
        # Who comes later cuts off who came before.
        case.spoiling = 0.01
    failures, tokens = [], []

    def together(work):
        gate = threading.Barrier(len(cases))

        def run(case):
            gate.wait()
            try:
                work(case)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=run, args=(case,)) for case in cases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def opening(case):
        tokens.append(case.expect(case.post(upload, 0), 200).json("data")["upToken"])

    def sending(case):
        try:
            status = case.ask(case.post(upload, number)).status
        except Fault:
            # Whoever comes later cuts the earlier one off.
            return
        if status not in (200, 503):
            raise Fault(f"one of several of the same block got {status}")

    together(opening)
    if len(set(tokens)) != 1:
        raise Fault(f"{len(set(tokens))} uploads under one key")
    upload.token = tokens[0]
    for number in range(1, upload.total + 1):
        together(sending)
        cases[0].hang_up()
        cases[0].send_block(upload, number)
    cases[0].fetch(upload)
    for case in cases:
        case.hang_up()


# --- the store --------------------------------------------------------------------------------------------------------


def tidy(target):
    """Drops, by the protocol, what the last batch left unfinished; takes finished files away. Checks their names."""
    parts = os.path.join(target.store, ".ingest", "parts")
    case = Case(target, 0, "tidy", Corpus(None))
    case.spoiling = 0
    for token in os.listdir(parts):
        if re.fullmatch(r"[0-9a-f]{32}", token):
            case.expect(Request(b"DELETE", b"/upload", case.headers() + [(b"Upload-Token", token.encode())]), 204, 404)
    case.hang_up()
    left = os.listdir(parts)
    if left:
        raise Fault(f"parts that no upload owns: {left[:5]}")
    for name in os.listdir(os.fsencode(target.store)):
        if name == b".ingest":
            continue
        path = os.path.join(os.fsencode(target.store), name)
        status = os.lstat(path)
        text = name.decode("utf-8", "strict")
        if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) != 0o600:
            raise Fault(f"{text!r} is no private file")
        if len(name) > 200 or not text.isprintable() or text[0] in ".-" or re.search(r"[\s/\\\"'<>|*?;&$`]", text):
            raise Fault(f"{text!r} is no safe name")
        os.remove(path)
        target.count("files")


def outside(around, store):
    found = []
    for directory, directories, files in os.walk(around):
        if os.path.samefile(directory, store):
            directories[:] = []
            continue
        found += [os.path.join(directory, name) for name in files]
    return sorted(found)


# --- the whole --------------------------------------------------------------------------------------------------------

begun = time.monotonic()


def note(text):
    print(f"{time.monotonic() - begun:7.1f}  {text}", file=sys.stderr, flush=True)


class Run:
    def __init__(self, options):
        self.options = options
        self.target = Target(options)
        self.corpus = Corpus(options.corpus)
        self.faults = collections.Counter()
        self.next_case = options.first
        self.lock = threading.Lock()
        self.most = {}
        self.is_over = False

    def fault(self, error, what, wires=()):
        text = re.sub(r"[0-9a-f]{32}", "TOKEN", f"{what}: {error}")
        kind = re.sub(r"\d+", "N", text)[:60]
        with self.lock:
            self.faults[kind] += 1
            first = self.faults[kind] == 1
        if first:
            note("FAULT " + text)
            if self.options.faults:
                os.makedirs(self.options.faults, exist_ok=True)
                stem = os.path.join(self.options.faults, f"{len(self.faults)}")
                with open(stem + ".txt", "w") as file:
                    file.write(text + "\n")
                for index, wire in enumerate(wires):
                    with open(f"{stem}.{index}", "wb") as file:
                        file.write(wire.sent)

    def guarded(self, what, work):
        self.target.local.wires = []
        try:
            return work()
        except Fault as error:
            self.fault(error, what, self.target.local.wires)
        except Exception as error:
            self.fault(f"{type(error).__name__}: {error}", what, self.target.local.wires)
            traceback.print_exc()
        finally:
            self.target.local.wires = None

    def work(self, end):
        while time.monotonic() < end and self.is_alive():
            with self.lock:
                number = self.next_case
                self.next_case += 1
            case = Case(self.target, self.options.seed, number, self.corpus)
            self.guarded(f"case {number}", case.run)
            self.target.count("cases")
            case.hang_up()

    def watch(self):
        """Keeps the most that was ever held."""
        while self.is_alive() and not self.is_over:
            try:
                now = self.target.sample()
            except (OSError, TypeError):
                return
            self.most = {key: max(self.most.get(key, 0), now[key]) for key in now}
            time.sleep(0.2)

    def is_alive(self):
        return os.path.exists(f"/proc/{self.target.pid}/fd")

    def batch(self, number, rng, seconds):
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self.work, args=(end,)) for _ in range(self.options.workers)]
        held = Crowd(self.target, 40, rng, BEGINNINGS)
        held.begin()
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            held.drip()
            time.sleep(1)
        self.guarded(f"oracle after batch {number}", lambda: by_the_book(self.target, rng))
        held.close()
        self.guarded("twins", lambda: twins(self.target, rng))
        self.guarded(f"store after batch {number}", lambda: tidy(self.target))

    def run(self):
        options, target = self.options, self.target
        rng = random.Random(f"{options.seed}:bystanders")
        before = outside(options.around, target.store) if options.around else []
        self.guarded("corpus", lambda: self.corpus.replay(target, options.seed))
        self.guarded("first oracle", lambda: by_the_book(target, rng))
        start = target.sample()
        threading.Thread(target=self.watch, daemon=True).start()
        note(f"at the start: {start}")
        end = begun + options.minutes * 60
        batch = 0
        while time.monotonic() < end and self.is_alive():
            batch += 1
            self.batch(batch, rng, min(options.batch, max(3, end - time.monotonic())))
            if batch % 6 == 1:
                self.guarded("a crowd", lambda: hold(target, rng, 1500, 5, "a crowd", BEGINNINGS))
                self.guarded("late readers", lambda: late_readers(target, rng, 60))
            if batch == 3 or batch % 30 == 0:
                self.guarded("ten thousand", lambda: hold(target, rng, options.crowd, 25, "ten thousand", BEGINNINGS))
            if batch == 4 or batch % 20 == 0:
                self.guarded("half blocks", lambda: half_blocks(target, rng, 600))
                self.guarded("many late readers", lambda: late_readers(target, rng, 1200))
                self.guarded("store", lambda: tidy(target))
            if batch == 2:
                self.guarded("abandoned uploads", lambda: abandon(target, rng, 990))
                self.guarded("store", lambda: tidy(target))
            now = target.sample()
            if batch % 3 == 0:
                note(f"batch {batch}: {now} {dict(target.counts)}")
        if not self.is_alive():
            self.fault("it has ended", "the receiver")
        else:
            deadline = time.monotonic() + 60
            while True:
                last = target.sample()
                if (last["fds"] <= start["fds"] + 8 and last["threads"] <= start["threads"] + 8) or time.monotonic() > deadline:
                    break
                time.sleep(1)
            if last["fds"] > start["fds"] + 8:
                self.fault(f"{last['fds']} descriptors, {start['fds']} at the start", "a leak")
            if last["threads"] > start["threads"] + 8:
                self.fault(f"{last['threads']} threads, {start['threads']} at the start", "a leak")
            if last["rss"] > options.most_memory:
                self.fault(f"{last['rss']} MiB, {start['rss']} at the start", "memory")
            self.is_over = True
            note(f"start {start}\n         most  {self.most}\n         end   {last}")
        if options.around and outside(options.around, target.store) != before:
            self.fault(f"{sorted(set(outside(options.around, target.store)) - set(before))}", "outside the store")
        note(f"seed {options.seed}, cases {options.first}…{self.next_case - 1}, {dict(target.counts)}")
        note(f"answers: {dict(sorted(target.statuses.items()))}")
        for kind, count in self.faults.most_common():
            note(f"{count} × {kind}")
        return 1 if self.faults else 0


def main():
    parser = argparse.ArgumentParser(description="Fuzzes a running receiver.")
    parser.add_argument("--address", required=True)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--store", required=True)
    parser.add_argument("--around", help="a directory in which no file may appear outside the store")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the case to begin with")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--batch", type=float, default=20, help="seconds between two uploads by the book")
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--crowd", type=int, default=10_000)
    parser.add_argument("--corpus")
    parser.add_argument("--faults", help="where to leave what was sent in cases that failed")
    parser.add_argument("--most-memory", type=int, default=1500, help="MiB that the receiver may hold in the end")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sys.exit(Run(options).run())


if __name__ == "__main__":
    main()
