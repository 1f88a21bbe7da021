#!/usr/bin/env python3
"""Plays random histories of file operations in a folder that `ingest watch` watches, and holds what arrives against a model.

The model knows which contents were whole recordings at rest under a name that counts, and at the end looks at the folder:
every whole recording that lies there has arrived exactly once, nothing arrived twice, and nothing arrived that was never whole
(a beginning, a state in the middle of being written, a temporary or hidden name). Contents are told apart by SHA-256.

Most histories share one watching program, each in a directory of its own; some have a program to themselves that is killed,
stopped while more happens than the kernel remembers, started anew, or whose folder goes away and comes back.

A history's operations follow from its seed; what the program meets on the way does not.
usage: see scripts/watch-histories.
"""

import argparse
import collections
import errno
import hashlib
import itertools
import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

# How long what is owed may take to arrive, in seconds. Generous: other things may be running on the machine.
PATIENCE = 120

# Provable by their containers, and not.
PROVABLE = ("mp4", "mkv", "wav", "avi")
UNPROVABLE = ("ts", "bin")

TEMPORARY_ENDINGS = (".part", ".crdownload", ".tmp", "~", ".!qB", ".filepart")
SKIPPED_DIRECTORIES = ("@eaDir", "#recycle", ".hidden")


class Wrong(Exception):
    """The program did what it must not, or left undone what it must do."""


# --- contents ---------------------------------------------------------------------------------------------------------


class Makers:
    """Recordings, made once with ffmpeg; each one handed out has bytes of its own."""

    def __init__(self, place):
        self.templates = collections.defaultdict(list)
        for size, rate, seconds in (("64x48", "15k", 1), ("160x120", "300k", 2), ("320x240", "2500k", 3)):
            source = f"testsrc2=size={size}:rate=25:duration={seconds}"
            noise = f"anoisesrc=duration={seconds}:sample_rate=22050"
            for kind, options in (
                ("mp4", ["-c:v", "mpeg4", "-c:a", "aac"]),
                ("faststart", ["-c:v", "mpeg4", "-c:a", "aac", "-movflags", "+faststart"]),
                ("mkv", ["-c:v", "mpeg4", "-c:a", "aac"]),
                ("avi", ["-c:v", "mpeg4", "-c:a", "mp2"]),
                ("ts", ["-c:v", "mpeg2video", "-c:a", "mp2"]),
            ):
                ending = "mp4" if kind == "faststart" else kind
                path = os.path.join(place, f"{kind}-{size}.{ending}")
                subprocess.run(
                    ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source, "-f", "lavfi", "-i", noise,
                     "-b:v", rate, *options, path], check=True)
                data = pathlib.Path(path).read_bytes()
                self.templates[ending].append(data)

    def make(self, rng, kind):
        """A whole recording that nobody else has."""
        if kind == "wav":
            data = rng.randbytes(rng.choice((rng.randrange(3000, 60000), rng.randrange(60000, 1500000))) & ~1)
            head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 22050, 44100, 2, 16)
            body = b"WAVE" + head + struct.pack("<4sI", b"data", len(data)) + data
            return b"RIFF" + struct.pack("<I", len(body)) + body
        if kind == "bin":
            return b"bin\x01" + rng.randbytes(rng.choice((rng.randrange(2000, 90000), rng.randrange(200000, 2000000))))
        data = bytearray(rng.choice(self.templates[kind]))
        # In the pictures, where no container looks, but every fingerprint does.
        middle = self.payload(data, kind)
        data[middle:middle + 24] = rng.randbytes(24)
        if kind == "mp4" and rng.random() < 0.6:
            fill = rng.randrange(1000, 900000) if rng.random() < 0.5 else rng.randrange(16, 3000)
            # No page of zeros, as in space that is still to be filled.
            data += struct.pack(">I4s", 8 + fill, b"free") + rng.randbytes(fill)
        return bytes(data)

    def payload(self, data, kind):
        if kind == "mp4":
            return data.index(b"mdat") + 600
        return min(len(data), 60000) * 2 // 5

    def cut(self, rng, data):
        """Where a beginning may end, so that its container shows that it is one."""
        if data[4:8] != b"ftyp":
            return rng.randrange(len(data) // 10 + 1, len(data) * 9 // 10)
        # Not behind the index, where only reserved space may follow.
        offset, last = 0, 0
        while offset + 8 <= len(data):
            length, name = struct.unpack(">I4s", data[offset:offset + 8])
            if name in (b"moov", b"mdat"):
                last = offset + length
            offset += length
        return rng.randrange(200, last - 1)


def sha(data):
    return hashlib.sha256(data).hexdigest()


def sha_file(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def is_admitted(relative):
    """Whether a file of this path counts, by its names."""
    parts = relative.split("/")
    if any(part.startswith(".") or part in SKIPPED_DIRECTORIES for part in parts[:-1]):
        return False
    name = parts[-1]
    if name.startswith(".") or name.endswith(TEMPORARY_ENDINGS):
        return False
    return name.rsplit(".", 1)[-1] in PROVABLE + UNPROVABLE


# --- the model --------------------------------------------------------------------------------------------------------


class Model:
    """What may arrive of one history. Everything it is told is a fact at that moment."""

    def __init__(self, root, settle):
        self.root, self.settle = root, settle
        self.whole = {}  # digest → what it is
        self.allowed = set()  # whole, at rest, under a name that counts, at some moment
        self.known = {}  # digests of states that were never whole → what they are
        self.log = []
        self.begun = time.monotonic()

    def note(self, text):
        self.log.append(f"{time.monotonic() - self.begun:7.3f}  {text}")

    def closes(self):
        self.closed = time.time()

    def relative(self, path):
        return os.path.relpath(path, self.root)

    def is_whole(self, data, what):
        digest = sha(data)
        self.whole[digest] = what
        return digest

    def rests(self, path, digest):
        """A state that is at rest stands at the path."""
        if digest in self.whole and is_admitted(self.relative(path)):
            self.allowed.add(digest)

    def look(self, path):
        """Whole recordings below a path that has come into being: they count if their names do."""
        if os.path.islink(path):
            path = os.path.realpath(path)
            if not os.path.exists(path):
                return
        found = [path] if os.path.isfile(path) else [
            os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
        for file in found:
            try:
                digest = sha_file(file)
            except OSError:
                continue
            if digest in self.whole:
                self.allowed.add(digest)

    def seen_resting(self, data, path, seconds, is_provable):
        """A state that was no whole recording has been left alone for at most so long."""
        digest = sha(data)
        if not is_provable and seconds >= self.settle and is_admitted(self.relative(path)):
            # Nothing could tell: this is what --settle is for.
            self.allowed.add(digest)
            self.whole.setdefault(digest, "a state that rested")
        else:
            self.known.setdefault(digest, f"a beginning of {len(data)} bytes, left alone for {seconds:.2f} s")


# --- writers ----------------------------------------------------------------------------------------------------------


def write_all(descriptor, data, at=None):
    view = memoryview(data)
    while len(view):
        count = os.write(descriptor, view) if at is None else os.pwrite(descriptor, view, at)
        view = view[count:]
        if at is not None:
            at += count


def pieces(rng, data, most=8):
    cuts = sorted({rng.randrange(1, len(data)) for _ in range(rng.randrange(1, most))})
    return list(zip([0] + cuts, cuts + [len(data)]))


def writer_steps(rng, path, data, style, is_provable, model, makers):
    """Writes a recording at a path (made new), and pauses by yielding seconds. The file may be renamed meanwhile."""
    create = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
    if style in ("plain", "pieces", "idle"):
        file = os.open(path, create, 0o644)
        try:
            for start, end in [(0, len(data))] if style == "plain" else pieces(rng, data):
                write_all(file, data[start:end])
                if style != "plain":
                    yield rng.choice((0, 0.01, 0.05, 0.3))
            if style == "idle":
                yield rng.uniform(0.5, 2.5)
        finally:
            model.closes()
            os.close(file)
    elif style in ("reserved", "backwards", "sparse", "shuffled"):
        file = os.open(path, create, 0o644)
        try:
            if style == "sparse":
                os.ftruncate(file, len(data))
            else:
                try:
                    os.posix_fallocate(file, 0, len(data))
                except OSError:
                    os.ftruncate(file, len(data))
            order = pieces(rng, data)
            if style == "backwards":
                order.reverse()
            if style == "shuffled":
                rng.shuffle(order)
            yield rng.choice((0, 0.2, 0.8))
            for start, end in order:
                write_all(file, data[start:end], start)
                yield rng.choice((0, 0.01, 0.1, 0.4))
        finally:
            model.closes()
            os.close(file)
    elif style == "mapped":
        file = os.open(path, create, 0o644)
        os.ftruncate(file, len(data))
        mapped = mmap.mmap(file, len(data))
        os.close(file)
        try:
            yield rng.choice((0, 0.3, 0.8))
            for start, end in pieces(rng, data):
                mapped[start:end] = data[start:end]
                yield rng.choice((0, 0.05, 0.3, 0.7))
        finally:
            model.closes()
            mapped.close()
    elif style == "reopened":
        # A recorder that closes and opens again within its burst.
        written = 0
        closed = None
        for start, end in pieces(rng, data, 5):
            file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
            write_all(file, data[start:end])
            if closed is not None and 0 < written < len(data):
                model.seen_resting(data[:written], path, time.monotonic() - closed, is_provable)
            closed = time.monotonic()
            model.closes()
            os.close(file)
            written = end
            if end < len(data):
                yield rng.uniform(0, 0.7 * model.settle) if not is_provable else rng.choice((0, 0.1, 0.6))
    elif style == "held":
        # Whole from the first moment on, and held open for long.
        file = os.open(path, create, 0o644)
        write_all(file, data)
        yield rng.uniform(0.2, 3)
        model.closes()
        os.close(file)
    else:
        raise AssertionError(style)


STYLES = ("plain", "pieces", "idle", "reserved", "backwards", "sparse", "shuffled", "mapped", "reopened", "held")


# --- histories --------------------------------------------------------------------------------------------------------


class History:
    def __init__(self, seed, directory, outside, settle, makers):
        self.seed, self.directory, self.outside = seed, directory, outside
        self.rng = random.Random(f"history {seed}")
        self.makers = makers
        self.model = Model(directory, settle)
        self.number = 0
        self.writers = []
        self.counts = collections.Counter()
        self.pace = self.rng.choice((0, 0, 0.02, 0.1, 0.5))
        self.failure = None

    def name(self, kind):
        self.number += 1
        name = f"{self.seed}-{self.number}"
        odd = self.rng.random()
        if odd < 0.03:
            name += " \u00fc\u4e2d\n\"'$x"
        elif odd < 0.05:
            name += "n" * (255 - len(name) - 1 - len(kind))
        elif odd < 0.07:
            return (name + "-").encode() + b"\xff\xfe." + kind.encode()
        return f"{name}.{kind}"

    def join(self, directory, name):
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        return os.path.join(directory, name)

    def directories(self):
        return [self.directory] + [
            os.path.join(at, name) for at, names, _ in os.walk(self.directory) for name in names
            if not os.path.islink(os.path.join(at, name))]

    def visible_directories(self):
        return [path for path in self.directories()
                if path == self.directory or is_admitted(os.path.relpath(path, self.directory) + "/x.mp4")]

    def files(self, admitted=True):
        busy = {writer.path for writer in self.writers}
        found = []
        for at, _, names in os.walk(self.directory):
            for name in names:
                path = os.path.join(at, name)
                relative = os.path.relpath(path, self.directory)
                if os.path.islink(path) or path in busy or (admitted and not is_admitted(relative)):
                    continue
                if any(os.path.exists(writer.path) and os.path.samefile(writer.path, path) for writer in self.writers):
                    continue
                found.append(path)
        return found

    def target(self):
        return self.rng.choice(self.visible_directories())

    def kind(self):
        return self.rng.choice(PROVABLE + PROVABLE + UNPROVABLE)

    # Steps. Each is a generator that yields the seconds it pauses.

    def step_write(self):
        kind = self.kind()
        path = self.join(self.target(), self.name(kind))
        data = self.makers.make(self.rng, kind)
        yield from self.write(path, data, kind, self.rng.choice(STYLES))

    def write(self, path, data, kind, style, final=None):
        model = self.model
        digest = model.is_whole(data, f"{kind}, {style}, {len(data)} bytes")
        model.note(f"write {style} {model.relative(path)!r} {len(data)} {digest[:8]}")
        self.counts[style] += 1
        yield from writer_steps(self.rng, path, data, style, kind in PROVABLE, model, self.makers)
        model.note(f"written {model.relative(path)!r}")
        if final:
            yield self.rng.choice((0, 0.2, 1.5))
            os.rename(path, final)
            model.note(f"renamed to {model.relative(final)!r}")
            path = final
        model.rests(path, digest)

    def step_background(self):
        """A writer that goes on while other things happen."""
        kind = self.kind()
        path = self.join(self.target(), self.name(kind))
        data = self.makers.make(self.rng, kind)
        style = self.rng.choice(("idle", "pieces", "reserved", "mapped", "held", "shuffled"))
        self.writers.append(Background(self, path, data, kind, style))
        yield 0

    def step_rename_open(self):
        """Another name, or a second one, for what is being written."""
        if not self.writers:
            return
        writer = self.rng.choice(self.writers)
        if not os.path.exists(writer.path):
            return
        target = self.join(self.target(), self.name(writer.kind))
        if self.rng.random() < 0.3:
            os.link(writer.path, target)
            self.counts["link of what is written"] += 1
            self.model.note(f"link open {self.model.relative(writer.path)!r} {self.model.relative(target)!r}")
        else:
            os.rename(writer.path, target)
            self.counts["rename of what is written"] += 1
            self.model.note(f"rename open {self.model.relative(writer.path)!r} {self.model.relative(target)!r}")
            writer.path = target
        yield 0

    def step_temporary(self):
        kind = self.kind()
        directory = self.target()
        name = f"{self.seed}-{self.number}t.{kind}"
        self.number += 1
        final = os.path.join(directory, name)
        temporary = os.path.join(directory, self.rng.choice(
            [name + ending for ending in TEMPORARY_ENDINGS] + [f".{name}.{self.rng.randrange(10**6):06}"]))
        data = self.makers.make(self.rng, kind)
        style = self.rng.choice(("plain", "pieces", "sparse"))
        self.counts["temporary name"] += 1
        yield from self.write(temporary, data, kind, style, final if self.rng.random() < 0.8 else None)

    def pick(self, files):
        """One of them, if there is any."""
        return self.rng.choice(files) if files else None

    def step_append(self):
        path = self.pick([path for path in self.files() if path.endswith(UNPROVABLE)])
        if not path:
            return
        self.counts["append"] += 1
        data = open(path, "rb").read()
        more = self.rng.randbytes(self.rng.randrange(1000, 200000))
        self.model.is_whole(data + more, "appended to")
        self.model.note(f"append {self.model.relative(path)!r} {len(data)}+{len(more)}")
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        for start, end in pieces(self.rng, more, 4):
            write_all(file, more[start:end])
            yield self.rng.choice((0, 0.1, 0.5))
        os.close(file)
        self.model.rests(path, sha(data + more))

    def step_rewrite(self):
        """New bytes in the old inode, from the beginning or in the middle of it."""
        path = self.pick(self.files())
        if not path:
            return
        if os.stat(path).st_nlink > 1:
            return
        kind = path.rsplit(".", 1)[-1]
        old = open(path, "rb").read()
        if self.rng.random() < 0.5 or kind not in ("wav", "bin") or len(old) < 2000 or sha(old) not in self.model.whole:
            data = self.makers.make(self.rng, kind)
            digest = self.model.is_whole(data, "rewritten")
            self.model.note(f"rewrite {self.model.relative(path)!r} {len(data)} {digest[:8]}")
            self.counts["truncate and rewrite"] += 1
            file = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
            yield self.rng.choice((0, 0.3))
            for start, end in pieces(self.rng, data):
                write_all(file, data[start:end])
                yield self.rng.choice((0, 0.01, 0.3))
            os.close(file)
        else:
            data = bytearray(old)
            middle = self.rng.randrange(len(old) // 3, len(old) - 100)
            patch = self.rng.randbytes(32)
            data[middle:middle + 32] = patch
            digest = self.model.is_whole(bytes(data), "changed in the middle")
            self.model.note(f"patch {self.model.relative(path)!r} at {middle} {digest[:8]}")
            self.counts["bytes in the middle changed"] += 1
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if self.rng.random() < 0.5:
                os.pwrite(file, patch, middle)
                os.close(file)
            else:
                mapped = mmap.mmap(file, 0)
                os.close(file)
                yield self.rng.choice((0, 0.3, 1))
                mapped[middle:middle + 32] = patch
                mapped.flush()
                yield self.rng.choice((0, 0.2))
                mapped.close()
        self.model.rests(path, digest)

    def step_half(self):
        """Cut short, left alone for longer than anybody waits, and finished."""
        path = self.pick([path for path in self.files() if path.endswith(("mp4", "mkv", "wav", "avi"))])
        if not path:
            return
        if os.stat(path).st_nlink > 1:
            return
        kind = path.rsplit(".", 1)[-1]
        data = self.makers.make(self.rng, kind)
        digest = self.model.is_whole(data, "after half of it had lain there")
        cut = self.makers.cut(self.rng, data)
        self.counts["half, then all"] += 1
        self.model.note(f"half {self.model.relative(path)!r} {cut} of {len(data)} {digest[:8]}")
        with open(path, "wb") as file:
            file.write(data[:cut])
        self.model.known[sha(data[:cut])] = "a half"
        yield self.rng.choice((0.1, 1, 3.5, 4.5))
        if not os.path.exists(path):
            return
        with open(path, "ab") as file:
            file.write(data[cut:])
        self.model.rests(path, digest)

    def step_replace(self):
        """The same name, other bytes: deleted and made anew, or another moved over it. Now and then all else is the same."""
        path = self.pick(self.files())
        if not path:
            return
        kind = path.rsplit(".", 1)[-1]
        status = os.stat(path)
        old = open(path, "rb").read()
        same = kind in ("wav", "bin") and len(old) > 2000 and sha(old) in self.model.whole and self.rng.random() < 0.5
        if same:
            data = bytearray(old)
            # Where every fingerprint looks: what has the same time and differs elsewhere nobody could tell.
            data[-64:] = self.rng.randbytes(64)
            data = bytes(data)
        else:
            data = self.makers.make(self.rng, kind)
        digest = self.model.is_whole(data, "in place of another")
        over = self.rng.random() < 0.4
        self.counts["replaced, all else the same" if same else "replaced"] += 1
        self.model.note(f"replace {self.model.relative(path)!r} same={same} over={over} {digest[:8]}")
        if over:
            temporary = os.path.join(os.path.dirname(path), f".{self.seed}-{self.number}.new")
            self.number += 1
            with open(temporary, "wb") as file:
                file.write(data)
            if same:
                os.utime(temporary, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.rename(temporary, path)
        else:
            os.unlink(path)
            yield self.rng.choice((0, 0, 0.05))
            file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
            write_all(file, data)
            if same:
                os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.close(file)
        self.model.rests(path, digest)
        yield 0

    def step_rotate(self):
        """The old one gets another name, a new one its name."""
        path = self.pick(self.files())
        if not path:
            return
        kind = path.rsplit(".", 1)[-1]
        other = self.join(os.path.dirname(path), self.name(kind))
        data = self.makers.make(self.rng, kind)
        self.counts["rotated"] += 1
        self.model.note(f"rotate {self.model.relative(path)!r} to {self.model.relative(other)!r}")
        os.rename(path, other)
        yield from self.write(path, data, kind, self.rng.choice(("plain", "pieces", "held")))

    def step_rename(self):
        path = self.pick(self.files(admitted=False))
        if not path:
            return
        kind = path.rsplit(".", 1)[-1]
        if kind not in PROVABLE + UNPROVABLE:
            return
        target = self.join(self.target(), self.name(kind))
        self.counts["renamed"] += 1
        self.model.note(f"rename {self.model.relative(path)!r} {self.model.relative(target)!r}")
        os.rename(path, target)
        self.model.look(target) if is_admitted(self.model.relative(target)) else None
        yield 0

    def step_link(self):
        path = self.pick(self.files())
        if not path:
            return
        target = self.join(self.target(), self.name(path.rsplit(".", 1)[-1]))
        self.model.note(f"link {self.model.relative(path)!r} {self.model.relative(target)!r}")
        os.link(path, target)
        if self.rng.random() < 0.4:
            yield self.rng.choice((0, 0, 0.1, 1))
            if os.path.exists(path):
                os.unlink(path)
                self.counts["linked, then the first name removed"] += 1
                self.model.note(f"  unlink {self.model.relative(path)!r}")
        else:
            self.counts["hard link"] += 1
        yield 0

    def step_symlink(self):
        kind = self.kind()
        what = self.rng.choice(("file", "dir", "loop", "dangling", "outside"))
        directory = self.target()
        self.number += 1
        link = os.path.join(directory, f"{self.seed}-{self.number}l")
        self.counts[f"symbolic link: {what}"] += 1
        self.model.note(f"symlink {what} {self.model.relative(link)!r}")
        if what == "file" and self.files():
            os.symlink(self.rng.choice(self.files()), link + f".{kind}")
        elif what == "dir":
            os.symlink(self.target(), link)
        elif what == "loop":
            os.symlink(".." if directory != self.directory else ".", link)
        elif what == "dangling":
            os.symlink("nowhere." + kind, link + f".{kind}")
        elif what == "outside":
            place = os.path.join(self.outside, f"linked-{self.number}")
            os.makedirs(place)
            path = os.path.join(place, f"{self.seed}-{self.number}.{kind}")
            data = self.makers.make(self.rng, kind)
            digest = self.model.is_whole(data, "behind a link to a directory")
            with open(path, "wb") as file:
                file.write(data)
            self.model.allowed.add(digest)
            os.symlink(place, link)
            if self.rng.random() < 0.5:
                yield self.rng.choice((0, 0.3))
                later = self.makers.make(self.rng, kind)
                self.model.allowed.add(self.model.is_whole(later, "later behind a link to a directory"))
                with open(os.path.join(place, f"{self.seed}-{self.number}b.{kind}"), "wb") as file:
                    file.write(later)
        yield 0

    def step_tree(self):
        """A tree is made outside, and moved in."""
        self.number += 1
        top = os.path.join(self.outside, f"tree-{self.number}")
        digests = []
        for index in range(self.rng.randrange(1, 5)):
            kind = self.kind()
            place = os.path.join(top, *[self.rng.choice("abc") for _ in range(self.rng.randrange(4))])
            os.makedirs(place, exist_ok=True)
            data = self.makers.make(self.rng, kind)
            digests.append(self.model.is_whole(data, "in a tree moved in"))
            with open(os.path.join(place, f"{self.seed}-{self.number}-{index}.{kind}"), "wb") as file:
                file.write(data)
        target = os.path.join(self.target(), f"tree-{self.number}")
        self.counts["tree moved in"] += 1
        self.model.note(f"tree in {self.model.relative(target)!r} {[d[:8] for d in digests]}")
        os.rename(top, target)
        self.model.allowed.update(digests)
        yield 0

    def step_deep(self):
        """mkdir -p, and a file at once."""
        self.number += 1
        kind = self.kind()
        place = os.path.join(self.target(), f"d{self.number}", "e", "f")
        data = self.makers.make(self.rng, kind)
        self.counts["mkdir -p and a file"] += 1
        os.makedirs(place)
        yield from self.write(self.join(place, self.name(kind)), data, kind, self.rng.choice(("plain", "pieces")))

    def step_move_directory(self):
        directories = [path for path in self.directories() if path != self.directory]
        if not directories:
            return
        path = self.rng.choice(directories)
        if any(os.path.commonpath([writer.path, path]) == path for writer in self.writers):
            return
        self.number += 1
        how = self.rng.choice(("rename", "out and in", "away", "hidden", "recreated", "swapped"))
        self.counts[f"directory: {how}"] += 1
        self.model.note(f"directory {how} {self.model.relative(path)!r}")
        parent = os.path.dirname(path)
        if how == "rename":
            target = os.path.join(self.rng.choice(
                [d for d in self.visible_directories() if os.path.commonpath([d, path]) != path]), f"r{self.number}")
            os.rename(path, target)
            self.note_moved(target)
        elif how == "out and in":
            away = os.path.join(self.outside, f"away-{self.number}")
            os.rename(path, away)
            yield self.rng.choice((0, 0.02, 0.4))
            target = path if self.rng.random() < 0.5 else os.path.join(parent, f"i{self.number}")
            if not os.path.exists(parent) or os.path.exists(target):
                return
            os.rename(away, target)
            self.note_moved(target)
        elif how == "away":
            os.rename(path, os.path.join(self.outside, f"gone-{self.number}"))
        elif how == "hidden":
            hidden = os.path.join(self.directory, self.rng.choice(SKIPPED_DIRECTORIES))
            os.makedirs(hidden, exist_ok=True)
            if os.path.commonpath([hidden, path]) == path:
                return
            os.rename(path, os.path.join(hidden, f"h{self.number}"))
        elif how == "recreated":
            away = os.path.join(self.outside, f"old-{self.number}")
            os.rename(path, away)
            os.mkdir(path)
            kind = self.kind()
            yield from self.write(
                self.join(path, self.name(kind)), self.makers.make(self.rng, kind), kind, "plain")
        elif how == "swapped":
            others = [d for d in directories if d != path and os.path.commonpath([d, path]) not in (d, path)
                      and not any(os.path.commonpath([w.path, d]) == d for w in self.writers)]
            if not others:
                return
            other = self.rng.choice(others)
            between = os.path.join(self.outside, f"between-{self.number}")
            os.rename(path, between)
            os.rename(other, path)
            os.rename(between, other)
            self.note_moved(path)
            self.note_moved(other)
        yield 0

    def note_moved(self, target):
        if is_admitted(self.model.relative(target) + "/x.mp4"):
            for at, _, names in os.walk(target):
                for name in names:
                    path = os.path.join(at, name)
                    if is_admitted(self.model.relative(path)) and not os.path.islink(path):
                        self.model.look(path)

    def step_copy(self):
        path = self.pick(self.files())
        if not path:
            return
        target = self.join(self.target(), self.name(path.rsplit(".", 1)[-1]))
        how = self.rng.choice(("cp", "cp -p", "slowly"))
        self.counts[f"copy: {how}"] += 1
        self.model.note(f"copy {how} {self.model.relative(path)!r} {self.model.relative(target)!r}")
        if how == "slowly":
            data = open(path, "rb").read()
            with open(target, "xb") as file:
                for start, end in pieces(self.rng, data):
                    file.write(data[start:end])
                    file.flush()
                    yield self.rng.choice((0, 0.1, 0.6))
        else:
            (shutil.copy2 if how == "cp -p" else shutil.copyfile)(path, target)
        self.model.look(target)
        yield 0

    def step_twin(self):
        """Like another but for bytes where no fingerprint looks: only reading both tells."""
        data = bytearray(self.makers.make(self.rng, "bin")[:4] + self.rng.randbytes(self.rng.randrange(900000, 1500000)))
        self.counts["twins"] += 1
        for _ in range(2):
            path = self.join(self.target(), self.name("bin"))
            data[70000:70032] = self.rng.randbytes(32)
            yield from self.write(path, bytes(data), "bin", "plain")
            # Or their times would be the same as well.
            yield self.rng.choice((0.05, 1, 4))

    def step_touch(self):
        files = self.files()
        if files:
            path = self.rng.choice(files)
            self.counts["touched"] += 1
            self.model.note(f"touch {self.model.relative(path)!r}")
            os.utime(path, None if self.rng.random() < 0.7 else (1_000_000_000, self.rng.randrange(10**9, 2 * 10**9)))
        yield 0

    def step_permissions(self):
        files = self.files()
        if files:
            path = self.rng.choice(files)
            self.counts["permissions"] += 1
            self.model.note(f"chmod {self.model.relative(path)!r}")
            os.chmod(path, 0)
            yield self.rng.choice((0, 0.2))
            if os.path.exists(path):
                os.chmod(path, 0o644)
        yield 0

    def step_delete(self):
        files = self.files(admitted=False)
        if files and self.rng.random() < 0.7:
            path = self.rng.choice(files)
            self.counts["deleted"] += 1
            self.model.note(f"delete {self.model.relative(path)!r}")
            os.unlink(path)
        else:
            directories = [path for path in self.directories() if path != self.directory
                           and not any(os.path.commonpath([w.path, path]) == path for w in self.writers)]
            if directories:
                path = self.rng.choice(directories)
                self.counts["directory deleted"] += 1
                self.model.note(f"rm -r {self.model.relative(path)!r}")
                shutil.rmtree(path)
                if self.rng.random() < 0.5:
                    os.mkdir(path)
                    kind = self.kind()
                    yield from self.write(
                        self.join(path, self.name(kind)), self.makers.make(self.rng, kind), kind, "plain")
        yield 0

    def step_unfinished(self):
        """A recording that never gets its end, under its own name."""
        kind = self.rng.choice(PROVABLE)
        data = self.makers.make(self.rng, kind)
        part = data[:self.makers.cut(self.rng, data)]
        path = self.join(self.target(), self.name(kind))
        self.counts["never finished"] += 1
        self.model.known[sha(part)] = "never finished"
        self.model.note(f"unfinished {self.model.relative(path)!r}")
        with open(path, "xb") as file:
            file.write(part)
        yield 0

    STEPS = (
        ("write", 10), ("background", 4), ("rename_open", 2), ("temporary", 3), ("append", 3), ("rewrite", 3), ("half", 1),
        ("replace", 3), ("rotate", 2), ("rename", 3), ("link", 3), ("symlink", 2), ("tree", 3), ("deep", 2),
        ("move_directory", 4), ("copy", 3), ("touch", 2), ("twin", 1), ("permissions", 1), ("delete", 2), ("unfinished", 1))

    def play(self, between=None):
        """Everything that happens, pauses included. `between` is called now and then."""
        steps = self.rng.randrange(4, 16)
        names = [name for name, _ in self.STEPS]
        weights = [weight for _, weight in self.STEPS]
        for number in range(steps):
            try:
                for pause in getattr(self, "step_" + self.rng.choices(names, weights)[0])():
                    self.advance()
                    if pause:
                        time.sleep(pause)
            except OSError as error:
                # Another disk, or one in use.
                if error.errno not in (errno.EXDEV, errno.EBUSY):
                    raise
                self.model.note(f"  {error.strerror}")
            if self.pace:
                time.sleep(self.rng.uniform(0, 2 * self.pace))
            if between:
                between(number)
        while self.writers:
            self.advance()
            time.sleep(0.02)
        self.model.note("over")

    def advance(self):
        for writer in list(self.writers):
            writer.advance()
            if writer.is_over:
                self.writers.remove(writer)

    def owed(self):
        """Digests that have to arrive, with a path of each."""
        owed = {}
        for at, directories, names in os.walk(self.directory):
            for name in names:
                path = os.path.join(at, name)
                if os.path.islink(path) and not os.path.exists(path):
                    continue
                if not is_admitted(os.path.relpath(path, self.directory)):
                    continue
                digest = sha_file(path)
                if digest in self.model.whole:
                    owed[digest] = os.path.relpath(path, self.directory)
            for name in directories:
                # What links lead to, unless it has gone; loops and links within are there already.
                path = os.path.join(at, name)
                real = os.path.realpath(path)
                if not os.path.islink(path) or not real.startswith(self.outside + "/") or not is_admitted(
                        os.path.relpath(path, self.directory) + "/x.mp4"):
                    continue
                for file in os.listdir(real):
                    if is_admitted(file) and os.path.isfile(os.path.join(real, file)):
                        digest = sha_file(os.path.join(real, file))
                        if digest in self.model.whole:
                            owed[digest] = os.path.relpath(path, self.directory) + "/" + file
        return owed


class Background:
    """A writer that is advanced between the other steps."""

    def __init__(self, history, path, data, kind, style):
        self.history, self.path, self.kind, self.data = history, path, kind, data
        self.digest = history.model.is_whole(data, f"{kind}, {style} in the background")
        history.model.note(f"background {style} {history.model.relative(path)!r} {len(data)} {self.digest[:8]}")
        history.counts[f"in the background: {style}"] += 1
        self.steps = writer_steps(history.rng, path, data, style, kind in PROVABLE, history.model, history.makers)
        self.due = 0
        self.is_over = False

    def advance(self):
        if time.monotonic() < self.due:
            return
        try:
            self.due = time.monotonic() + next(self.steps)
        except StopIteration:
            self.is_over = True
            model = self.history.model
            model.note(f"background over {model.relative(self.path)!r}")
            # Under whatever names it has by now.
            model.allowed.add(self.digest)


# --- the program ------------------------------------------------------------------------------------------------------


class Watching:
    """A home, and `ingest watch` in it."""

    def __init__(self, program, place, settle, options=()):
        self.program, self.place, self.settle, self.options = program, place, settle, list(options)
        self.home = os.path.join(place, "home")
        self.folder = os.path.join(place, "in")
        self.outside = os.path.join(place, "outside")
        for path in (self.home, self.folder, self.outside):
            os.makedirs(path, exist_ok=True)
        self.environment = {
            "HOME": self.home, "NO_COLOR": "1", "LANG": "C.UTF-8", "PATH": os.environ.get("PATH", "/usr/bin:/bin")}
        self.process = None
        self.patience = PATIENCE
        self.starts = 0
        self.digests = {}
        self.names = collections.defaultdict(list)

    def arguments(self):
        includes = [word for kind in PROVABLE + UNPROVABLE for word in ("--include", f"*.{kind}")]
        return [self.program, "watch", self.folder, "--jobs", "64", "--settle", f"{self.settle}s", "--min-free", "1",
                *includes, *self.options]

    def start(self):
        self.starts += 1
        self.errors = os.path.join(self.place, f"stderr-{self.starts}")
        with open(self.errors, "wb") as errors, open(os.path.join(self.place, f"stdout-{self.starts}"), "wb") as output:
            self.process = subprocess.Popen(
                self.arguments(), stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=self.environment,
                cwd=self.place)
        end = time.monotonic() + PATIENCE
        while b"watching " not in pathlib.Path(self.errors).read_bytes():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Wrong(f"it does not start: {pathlib.Path(self.errors).read_bytes()[-2000:]!r}")
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong("it does not end on SIGTERM")
        if status != 0:
            raise Wrong(f"it ended with {status}: {pathlib.Path(self.errors).read_bytes()[-2000:]!r}")

    def list(self):
        ran = subprocess.run(
            [self.program, "list", "--all", "--json"], capture_output=True, env=self.environment, timeout=PATIENCE)
        return json.loads(ran.stdout.decode("utf-8", "replace"))

    def rows(self):
        path = os.path.join(self.home, ".local/state/ingest/list.sqlite")
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)
        try:
            return connection.execute("SELECT id, state, recording, fault FROM items ORDER BY id").fetchall()
        finally:
            connection.close()

    def received(self):
        """How often each digest has arrived."""
        place = os.path.join(self.home, ".local/share/ingest/received")
        found = collections.Counter()
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else []:
            path = os.path.join(place, name)
            if name.startswith(".") or not os.path.isfile(path):
                continue
            status = os.stat(path)
            key = (path, status.st_mtime_ns, status.st_size)
            if key not in self.digests:
                self.digests[key] = sha_file(path)
                self.names[self.digests[key]].append(name)
            found[self.digests[key]] += 1
        return found


class Check:
    """Waits until what is owed has arrived and nothing is under way, then judges."""

    def __init__(self, watching, histories):
        self.watching, self.histories = watching, histories

    def is_at_rest(self):
        return all(state in ("done", "cancelled", "waiting", "failed") or "recordingMissing" in (fault or "")
                   for _, state, _, fault in self.watching.rows())

    def settle(self):
        watching = self.watching
        owed = {digest: history for history in self.histories for digest in history.owed()}
        end = time.monotonic() + watching.patience
        while time.monotonic() < end:
            if watching.process.poll() is not None:
                raise Wrong(f"it has ended by itself with {watching.process.returncode}")
            if not set(owed) - set(watching.received()) and self.is_at_rest():
                # What comes twice would be on the list by then, and what is unproven is taken.
                time.sleep(watching.settle + 1.2)
                if self.is_at_rest():
                    return
            time.sleep(0.2)

    def judge(self):
        watching = self.watching
        received = watching.received()
        failures = []
        ours = {}
        for history in self.histories:
            wrong = []
            owed = history.owed()
            model = history.model
            for digest, path in owed.items():
                if received[digest] == 0:
                    wrong.append(f"MISSED: {path!r} ({model.whole[digest]}) {digest[:8]}")
            for digest in set(model.whole) | set(model.known):
                ours[digest] = history
                if received[digest] > 1:
                    wrong.append(f"TWICE: {model.whole.get(digest)} {digest[:8]} as {watching.names[digest][-2:]}")
                if received[digest] and digest not in model.allowed:
                    what = model.known.get(digest) or model.whole.get(digest)
                    wrong.append(f"EARLY, or not meant: {what} {digest[:8]}")
            if wrong:
                failures.append((history, wrong))
        for number, state, path, fault in watching.rows():
            if state not in ("done", "cancelled", "waiting", "failed") and "recordingMissing" not in (fault or ""):
                name = os.fsdecode(path)
                owner = next((h for h in self.histories if f"/{h.seed}/" in name), self.histories[0])
                failures.append((owner, [f"NEVER DONE: item {number} {state} {name!r} {fault}"]))
        strangers = [(digest, watching.names[digest][-1]) for digest in received if digest not in ours]
        for digest, name in strangers:
            owner = next((h for h in self.histories if f"-{h.seed}-" in name or name.split("-", 1)[-1].startswith(f"{h.seed}-")),
                         self.histories[0])
            failures.append((owner, [f"EARLY: what arrived as {name!r} was at no time whole {digest[:8]}"]))
        return failures


# --- kinds of histories -----------------------------------------------------------------------------------------------


class Runner:
    def __init__(self, options, place):
        self.options = options
        self.place = place
        self.makers = Makers(self.sub("templates"))
        self.counts = collections.Counter()
        self.played = 0
        self.arrived = 0
        self.failed = []

    def sub(self, name):
        path = os.path.join(self.place, name)
        os.makedirs(path, exist_ok=True)
        return path

    def finish(self, watching, histories, name):
        """Judges what has happened, once more after a new start, and tidies up."""
        try:
            if watching.process is None or watching.process.poll() is not None:
                watching.start()
            check = Check(watching, histories)
            watching.patience = self.options.patience
            check.settle()
            failures = check.judge()
            before = watching.received()
            watching.stop()
            if not failures and random.random() < self.options.again:
                # Everything is known: another start brings nothing.
                watching.start()
                check.settle()
                watching.stop()
                more = watching.received() - before
                if more:
                    failures = [(histories[0], [f"TWICE: a new start brought {sum(more.values())} more: "
                                                f"{[watching.names[d][-2:] for d in more]}"])]
            self.arrived += sum(before.values())
        except Wrong as wrong:
            failures = [(history, [str(wrong)]) for history in histories[:1]]
            watching.process and watching.process.poll() is None and watching.kill()
        for history in histories:
            self.played += 1
            self.counts.update(history.counts)
            if history.failure:
                failures.append((history, [history.failure]))
        for history, wrong in failures:
            self.failed.append(history.seed)
            print(f"\nNOT WELL: history --only {history.seed} ({name}; settle {watching.settle})", flush=True)
            for line in wrong:
                print(f"  {line}")
            for line in history.model.log:
                print(f"    {line}")
            for row in watching.rows():
                text = os.fsdecode(row[2])
                if f"/{history.seed}/" in text:
                    print(f"    item {row[0]} {row[1]} {text!r} {row[3] or ''}")
            sys.stdout.flush()
        if failures:
            print(f"  kept in {watching.place}", flush=True)
        elif not self.options.keep:
            shutil.rmtree(watching.place, ignore_errors=True)

    def new(self, seed, watching):
        directory = os.path.join(watching.folder, str(seed))
        outside = os.path.join(watching.outside, str(seed))
        os.makedirs(directory)
        os.makedirs(outside)
        return History(seed, directory, outside, watching.settle, self.makers)

    def play(self, history, between=None):
        try:
            history.play(between)
        except Exception:
            history.failure = "the script: " + traceback.format_exc()

    def shared(self, seeds):
        """Many histories beside each other before one program."""
        first = seeds[0]
        settle = 2 if random.Random(f"settle {first}").random() < 0.2 else 0.3
        options = ["--poll", "--rescan", "5s"] if random.Random(f"poll {first}").random() < 0.1 else []
        watching = Watching(self.options.program, self.sub(f"shared-{first}"), settle, options)
        histories = [self.new(seed, watching) for seed in seeds]
        late = [history for history in histories if history.seed % 8]
        # Some have happened before anybody watches.
        threads = [threading.Thread(target=self.play, args=(history,)) for history in histories if history not in late]
        for thread in threads:
            thread.start()
        if threads:
            time.sleep(0.5)
        watching.start()
        threads += [threading.Thread(target=self.play, args=(history,)) for history in late]
        for thread in threads[-len(late):] if late else []:
            thread.start()
        for thread in threads:
            thread.join()
        self.finish(watching, histories, "shared" + (" polled" if options else ""))

    def alone(self, seed):
        """One with a program to itself, which has a hard time."""
        rng = random.Random(f"alone {seed}")
        kind = rng.choice(["killed", "killed", "stopped", "flooded", "moved"] + (["mounted"] if self.can_mount() else []))
        settle = rng.choice((0.3, 0.3, 2))
        watching = Watching(self.options.program, self.sub(f"alone-{seed}"), settle)
        mounted = None
        if kind == "mounted":
            mounted = os.path.join(watching.folder, str(seed), "mounted")
        history = self.new(seed, watching)
        history.counts[f"program: {kind}"] += 1
        watching.start()
        flood = itertools.count()

        def between(number):
            if kind == "killed" and rng.random() < 0.35:
                history.model.note("kill -9")
                watching.kill()
                if rng.random() < 0.5:
                    time.sleep(rng.uniform(0, 0.5))
                    watching.start()
            elif kind == "killed" and watching.process.poll() is not None and rng.random() < 0.6:
                watching.start()
            elif kind == "stopped" and rng.random() < 0.4:
                stopped = watching.process.poll() is None and is_stopped(watching.process.pid)
                history.model.note("continued" if stopped else "stopped")
                watching.process.send_signal(signal.SIGCONT if stopped else signal.SIGSTOP)
            elif kind == "flooded" and number == 1:
                history.model.note("flooded")
                watching.process.send_signal(signal.SIGSTOP)
            elif kind == "flooded" and number == 2:
                place = os.path.join(history.directory, f"flood-{next(flood)}")
                os.mkdir(place)
                # More than the kernel remembers.
                for index in range(9000):
                    path = os.path.join(place, f".{index}")
                    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
                for index in range(9000):
                    os.unlink(os.path.join(place, f".{index}"))
            elif kind == "flooded" and number == 4:
                watching.process.send_signal(signal.SIGCONT)
            elif kind == "moved" and rng.random() < 0.3:
                away = watching.folder + "-away"
                history.model.note("the whole folder goes, and comes back")
                os.rename(watching.folder, away)
                time.sleep(rng.choice((0, 0.1, 1.5)))
                os.rename(away, watching.folder)
            elif kind == "mounted" and rng.random() < 0.4:
                self.mount_or_unmount(history, mounted, rng)

        self.play(history, between)
        if mounted and not os.path.ismount(mounted):
            self.mount_or_unmount(history, mounted, rng)
        if watching.process.poll() is None:
            watching.process.send_signal(signal.SIGCONT)
        try:
            self.finish(watching, [history], f"alone, {kind}")
        finally:
            if mounted and os.path.ismount(mounted):
                subprocess.run(["umount", "-l", mounted], check=True)
                shutil.rmtree(watching.place, ignore_errors=True)

    def can_mount(self):
        if not hasattr(self, "mounts"):
            place = self.sub("mount-trial")
            self.mounts = subprocess.run(
                ["mount", "-t", "tmpfs", "trial", place], capture_output=True).returncode == 0
            if self.mounts:
                subprocess.run(["umount", place], check=True)
        return self.mounts

    def mount_or_unmount(self, history, place, rng):
        model = history.model
        if os.path.ismount(place):
            if any(os.path.commonpath([writer.path, place]) == place for writer in history.writers):
                return
            model.note("unmount")
            subprocess.run(["umount", "-l", place], check=True)
        else:
            os.makedirs(place, exist_ok=True)
            model.note("mount")
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "histories", place], check=True)
            data = self.makers.make(rng, "wav")
            digest = model.is_whole(data, "on a disk that comes and goes")
            path = os.path.join(place, f"{history.seed}-m.wav")
            with open(path, "wb") as file:
                file.write(data)
            # All have the same name, time and inode number, and differ in their bytes.
            os.utime(path, (1_700_000_000, 1_700_000_000))
            model.allowed.add(digest)

    def guard(self, play, seeds):
        try:
            play(seeds)
        except Exception:
            print(f"\nNOT WELL: the script, at {seeds}", flush=True)
            traceback.print_exc()
            self.failed.append(seeds)

    def run(self):
        options = self.options
        begun = time.monotonic()
        if options.only is not None:
            # As it was: alone ones have seeds of their own.
            (self.alone if options.only % 10 == 9 else lambda seed: self.shared([seed]))(options.only)
        else:
            seed = options.seed
            end = seed + options.count if options.count else None
            while (end is None or seed < end) and not (options.seconds and time.monotonic() - begun > options.seconds):
                seeds = list(range(seed, min(seed + options.batch, end or seed + options.batch)))
                seed = seeds[-1] + 1
                if options.alone:
                    seeds = [number * 10 + 9 for number in seeds]
                threads = [threading.Thread(target=self.guard, args=(self.alone, s)) for s in seeds if s % 10 == 9]
                shared = [s for s in seeds if s % 10 != 9]
                if shared:
                    threads.append(threading.Thread(target=self.guard, args=(self.shared, shared)))
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                print(f"{self.played} histories, {self.arrived} recordings, {len(self.failed)} not well, "
                      f"{time.monotonic() - begun:.0f} s", flush=True)
        for name, count in sorted(self.counts.items()):
            print(f"  {count:6} {name}")
        print(f"{self.played} histories from seed {options.only if options.only is not None else options.seed}, "
              f"{self.arrived} recordings arrived, {len(self.failed)} not well "
              f"in {time.monotonic() - begun:.0f} s", flush=True)
        return not self.failed


# --- adversarial copies -----------------------------------------------------------------------------------------------


class Copies:
    """Copies made in every way that has fooled somebody; when each was on its way is read from the list."""

    PROGRAMS = ("cp", "cp -p", "dd", "rsync", "rsync --inplace", "ffmpeg +faststart", "ffmpeg")

    def __init__(self, runner):
        self.options, self.makers = runner.options, runner.makers
        self.settle = 2
        self.watching = Watching(self.options.program, runner.sub("copies"), self.settle)
        self.rng = random.Random(f"copies {self.options.seed}")
        self.lock = threading.Lock()
        self.made = []
        self.queued = {}
        self.is_over = False

    def one(self, number):
        rng = random.Random(f"copy {self.options.seed} {number}")
        kind = rng.choice(PROVABLE * 3 + UNPROVABLE)
        data = self.makers.make(rng, kind)
        programs = [name for name in self.PROGRAMS if shutil.which(name.split()[0])]
        style = rng.choice(STYLES + ("renamed", *programs))
        model = Model(self.watching.folder, self.settle)
        path = os.path.join(self.watching.folder, f"{number}.{kind}")
        expected = sha(data)
        if style in programs:
            source = os.path.join(self.watching.outside, f"{number}.{kind}")
            if style.startswith("ffmpeg"):
                kind = "mp4" if "faststart" in style else "mkv"
                path = os.path.join(self.watching.folder, f"{number}.{kind}")
                data, source = self.makers.make(rng, "mp4"), source + ".mp4"
            with open(source, "wb") as file:
                file.write(data)
            command = {
                "cp": ["cp", source, path], "cp -p": ["cp", "-p", source, path],
                "dd": ["dd", f"if={source}", f"of={path}", f"bs={rng.choice((512, 4096, 65536))}", "status=none"],
                "rsync": ["rsync", "-t", "--bwlimit=2000", source, path],
                "rsync --inplace": ["rsync", "-t", "--inplace", "--bwlimit=2000", source, path],
                "ffmpeg": ["ffmpeg", "-v", "error", "-nostdin", "-re", "-i", source, "-c", "copy", path],
                "ffmpeg +faststart": ["ffmpeg", "-v", "error", "-nostdin", "-re", "-i", source, "-c", "copy",
                                      "-movflags", "+faststart", path]}[style]
            subprocess.run(command, check=True)
            expected = sha_file(path)
            closed = None
        else:
            written = path
            if style == "renamed":
                written, inner = os.path.join(self.watching.folder, f".{number}.{kind}.Xy12Zz"), "pieces"
            else:
                inner = style
            for pause in writer_steps(rng, written, data, inner, kind in PROVABLE, model, self.makers):
                time.sleep(pause)
            closed = model.closed
            if style == "renamed":
                closed = time.time()
                os.rename(written, path)
        with self.lock:
            self.made.append((path, style, kind, closed, expected))

    def look(self):
        """Writes down when each was first more than waiting."""
        path = os.path.join(self.watching.home, ".local/state/ingest/list.sqlite")
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20, isolation_level=None)
        while not self.is_over:
            for recording, updated in connection.execute(
                    "SELECT recording, updated FROM items WHERE state NOT IN ('waiting', 'done')"):
                self.queued.setdefault(os.fsdecode(recording), updated)
            time.sleep(0.005)
        connection.close()

    def run(self):
        watching = self.watching
        watching.start()
        looking = threading.Thread(target=self.look)
        looking.start()
        begun = time.monotonic()
        numbers = iter(range(self.options.copies))

        def work():
            while True:
                with self.lock:
                    number = next(numbers, None)
                if number is None:
                    return
                self.one(number)

        threads = [threading.Thread(target=work) for _ in range(self.options.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        end = time.monotonic() + self.options.patience
        expected = {digest for *_, digest in self.made}
        while time.monotonic() < end and set(watching.received()) < expected:
            time.sleep(0.3)
        time.sleep(5)
        self.is_over = True
        looking.join()
        received = watching.received()
        watching.stop()
        wrong = []
        if len(self.made) < self.options.copies:
            wrong.append(f"the script: {self.options.copies - len(self.made)} copies failed")
        early = 0
        delays = collections.defaultdict(list)
        for path, style, kind, closed, digest in self.made:
            if received[digest] != 1:
                wrong.append(f"arrived {received[digest]} times: {path} ({style})")
            queued = self.queued.get(path)
            if queued is None:
                wrong.append(f"never seen on its way: {path} ({style})")
            elif closed is not None:
                if queued < closed:
                    early += 1
                    wrong.append(f"EARLY by {closed - queued:.3f} s: {path} ({style})")
                name = "unprovable" if kind in UNPROVABLE else "mapped, provable" if style == "mapped" else "provable"
                delays[name].append((queued - closed) * 1000)
        strangers = set(received) - expected
        early += len(strangers)
        wrong += [f"EARLY: {self.watching.names[digest]} was never whole" for digest in strangers]
        for line in wrong:
            print(f"  {line}")
        styles = collections.Counter(style for _, style, *_ in self.made)
        for style, count in sorted(styles.items()):
            print(f"  {count:6} {style}")
        for name, values in sorted(delays.items()):
            values.sort()
            print(f"  from the last close to queued, {name}: median {statistics.median(values):.0f} ms, 95 % "
                  f"{values[int(len(values) * 0.95)]:.0f} ms, most {values[-1]:.0f} ms ({len(values)} copies)")
        print(f"{len(self.made)} copies, seed {self.options.seed}, {early} early starts, {len(wrong)} not well "
              f"in {time.monotonic() - begun:.0f} s", flush=True)
        return not wrong


def is_stopped(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, help="the built ingest")
    parser.add_argument("--seed", type=int, help="of the first history; random otherwise")
    parser.add_argument("--count", type=int, help="so many histories")
    parser.add_argument("--seconds", type=float, help="none is begun after so many seconds")
    parser.add_argument("--only", type=int, metavar="SEED", help="this history alone")
    parser.add_argument("--keep", metavar="DIR", help="keep everything there")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds for what is owed to arrive")
    parser.add_argument("--batch", type=int, default=40, help="histories at once")
    parser.add_argument("--again", type=float, default=1.0, help="how often a new start has to bring nothing more")
    parser.add_argument("--copies", type=int, help="so many adversarial copies instead of histories")
    parser.add_argument("--alone", action="store_true", help="only histories with a program to themselves")
    parser.add_argument("--threads", type=int, default=16, help="copies at once")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1000, 10**8) // 10 * 10
    if options.count is None and options.seconds is None:
        options.count = 40
    place = options.keep or tempfile.mkdtemp(prefix="watch-histories.")
    os.makedirs(place, exist_ok=True)
    print(f"seed {options.seed}", flush=True)
    runner = Runner(options, place)
    is_well = Copies(runner).run() if options.copies else runner.run()
    if not options.keep and is_well:
        shutil.rmtree(place, ignore_errors=True)
    print("all well" if is_well else f"NOT WELL; kept in {place}", flush=True)
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
