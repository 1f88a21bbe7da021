"""Changes recordings in ways that break programs, and has ingest-media work on each. See scripts/fuzz-media."""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

MEBIBYTE = 1 << 20
LONGEST_BASE = 5 * MEBIBYTE
LONGEST_MUTANT = 6 * MEBIBYTE
MOST_MEMORY = 512 * MEBIBYTE
# What programs trip over: nothing, one, the ends of the integers, and what lies beside them.
NUMBERS = [0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x00FFFFFF, 0x10000000, 0x3FFFFFFF, 0x7FFFFFFE,
           0x7FFFFFFF, 0x80000000, 0x80000001, 0xC0000000, 0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF]
# The same for eight bytes: the ends of the integers, times that add up beyond them, and floating-point numbers that are none.
LONG_NUMBERS = [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 62, 3 << 62, (1 << 61) + 1, 1 << 32, 1 << 48,
                0x7FF0000000000000, 0x7FF8000000000000, 0xFFF0000000000000, 0x7E37E43C8800759C]
SUFFIXES = [".mp4", ".mov", ".mkv", ".webm", ".avi", ".wav", ".ts", ".flv", ".m4a", ".ogg", ".mp3", ".mxf", ".jpg", ""]


# MARK: What a file is made of


class Part:
    """A box, element or chunk: where it is, where its size stands, and where its content begins."""

    def __init__(self, name, start, body, end, size_at, size_length, parents=()):
        self.name, self.start, self.body, self.end = name, start, body, end
        self.size_at, self.size_length, self.parents = size_at, size_length, parents


BOXES = {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"udta", b"dinf", b"moof", b"traf", b"mvex", b"ilst", b"gmhd",
         b"tref"}


def boxes(data, start, end, parents=()):
    found = []
    while start + 8 <= end and len(found) < 4000:
        size, name = struct.unpack_from(">I4s", data, start)
        body, size_at, length = start + 8, start, 4
        if size == 1 and start + 16 <= end:
            size, body, size_at, length = struct.unpack_from(">Q", data, start + 8)[0], start + 16, start + 8, 8
        if size == 0:
            size = end - start
        if size < body - start or start + size > end:
            break
        part = Part(name, start, body, start + size, size_at, length, parents)
        found.append(part)
        if name in BOXES:
            found += boxes(data, body, start + size, parents + (part,))
        elif name == b"meta" and body + 4 < start + size:
            found += boxes(data, body + 4, start + size, parents + (part,))
        elif name == b"stsd" and body + 8 < start + size:
            found += boxes(data, body + 8, start + size, parents + (part,))
        elif parents and parents[-1].name == b"stsd":
            # What describes the codec stands behind the fixed fields of pictures (78 bytes) or sound (28).
            for skip in (78, 28):
                inner = boxes(data, body + skip, start + size, parents + (part,))
                if inner:
                    found += inner
                    break
        start += size
    return found


ELEMENTS = {0x1A45DFA3, 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0, 0xE1, 0x1F43B675, 0xA0, 0x1C53BB6B, 0xBB, 0xB7, 0x114D9B74,
            0x4DBB, 0x6D80, 0x6240, 0x5034, 0x1254C367, 0x7373, 0x67C8, 0x1043A770, 0x45B9, 0xB6, 0x1941A469, 0x61A7}


def vint(data, at, keep):
    if at >= len(data) or data[at] == 0:
        return None
    length = 9 - data[at].bit_length()
    if at + length > len(data):
        return None
    value = int.from_bytes(data[at : at + length], "big")
    return (value if keep else value & ((1 << 7 * length) - 1)), length


def elements(data, start, end, parents=()):
    found = []
    while start < end and len(found) < 4000:
        identity = vint(data, start, True)
        size = identity and vint(data, start + identity[1], False)
        if not size:
            break
        size_at = start + identity[1]
        body = size_at + size[1]
        unknown = size[0] == (1 << 7 * size[1]) - 1
        stop = end if unknown else min(body + size[0], end)
        part = Part(identity[0], start, body, stop, size_at, size[1], parents)
        found.append(part)
        if identity[0] in ELEMENTS:
            found += elements(data, body, stop, parents + (part,))
        start = stop
    return found


def chunks(data, start, end, parents=()):
    found = []
    while start + 8 <= end and len(found) < 4000:
        name, size = struct.unpack_from("<4sI", data, start)
        stop = min(start + 8 + size, end)
        part = Part(name, start, start + 8, stop, start + 4, 4, parents)
        found.append(part)
        if name in (b"RIFF", b"LIST"):
            found += chunks(data, start + 12, stop, parents + (part,))
        start = stop + size % 2
    return found


def tags(data):
    """Of a Flash video: 11 bytes of head, content, and its length once more."""
    found, start = [Part("head", 0, 3, 13, 5, 4)], 13
    while start + 15 <= len(data) and len(found) < 4000:
        size = int.from_bytes(data[start + 1 : start + 4], "big")
        stop = min(start + 15 + size, len(data))
        found.append(Part("tag", start, start + 4, stop, start + 1, 3))
        start = stop
    return found


def parts(data):
    """What the container is made of; nothing where that is not known."""
    if data[4:8] in (b"ftyp", b"moov", b"wide", b"mdat", b"free", b"skip"):
        return boxes(data, 0, len(data))
    if data[:4] == b"\x1aE\xdf\xa3":
        return elements(data, 0, len(data))
    if data[:4] == b"RIFF":
        return chunks(data, 0, len(data))
    if data[:3] == b"FLV":
        return tags(data)
    if data[:4] == b"OggS":
        starts = [match.start() for match in re.finditer(b"OggS", data)] + [len(data)]
        return [Part("page", at, at + 6, end, at + 26, 1) for at, end in zip(starts, starts[1:]) if end > at + 27]
    for length, lead in ((188, 0), (192, 4)):
        if len(data) > 4 * length and all(data[at * length + lead] == 0x47 for at in range(4)):
            packets = range(0, len(data) - length + 1, length)
            return [Part("packet", at, at + lead + 1, at + length, at + lead + 4, 1) for at in packets]
    return []


def is_media(part):
    """Whether the part is what the recording holds, rather than what describes it."""
    return part.name in (b"mdat", b"movi", b"data", 0xA3, 0xA1, 0xA0, 0x1F43B675, 0x18538067, b"RIFF", "packet")


# MARK: Ways to change one: each takes a random source, the file and a second file, and tells what it did


def place(rng, data, found):
    """Somewhere in the file, for the most part where something is described."""
    heads = [part for part in found if not is_media(part) and part.end > part.body]
    if heads and rng.random() < 0.7:
        part = rng.choice(heads)
        return rng.randrange(part.start, part.end)
    return rng.randrange(min(len(data), 4096)) if rng.random() < 0.3 else rng.randrange(len(data))


def flip(rng, data, found, other):
    count = rng.choice([1, 1, 2, 4, 16, 64])
    places = [place(rng, data, found) for _ in range(count)]
    for at in places:
        data[at] ^= 1 << rng.randrange(8) if rng.random() < 0.5 else rng.randrange(1, 256)
    return f"bits turned at {places[:4]}"


def overwrite(rng, data, found, other):
    at = place(rng, data, found)
    length = min(len(data) - at, rng.choice([4, 16, 64, 512, 4096]))
    zero = rng.random() < 0.5
    data[at : at + length] = bytes(length) if zero else rng.randbytes(length)
    return f"{length} {'zeroes' if zero else 'random bytes'} at {at}"


def truncate(rng, data, found, other):
    edges = [edge for part in found for edge in (part.start, part.body, part.end) if 0 < edge < len(data)]
    at = rng.choice(edges) if edges and rng.random() < 0.6 else rng.randrange(1, max(2, len(data)))
    del data[at:]
    return f"cut off at {at}"


def insert(rng, data, found, other):
    at = place(rng, data, found)
    length = rng.choice([1, 2, 4, 7, 188, 4096])
    data[at:at] = rng.randbytes(length)
    return f"{length} bytes put in at {at}"


def take_out(rng, data, found, other):
    at = place(rng, data, found)
    length = rng.choice([1, 2, 4, 7, 188, 4096])
    del data[at : at + length]
    return f"{length} bytes taken out at {at}"


def far_cluster(rng, data, found, other):
    """A time of eight bytes for a cluster of Matroska's."""
    times = [part for part in found if part.name == 0xE7 and part.size_length == 1 and part.parents]
    if not times:
        return number(rng, data, found, other)
    part = rng.choice(times)
    cluster = part.parents[-1]
    length = cluster.size_length
    size = cluster.end - cluster.body + 8 - (part.end - part.body)
    if size < (1 << 7 * length) - 1:
        data[cluster.size_at : cluster.size_at + length] = (1 << 7 * length | size).to_bytes(length, "big")
    value = rng.choice(LONG_NUMBERS)
    data[part.size_at : part.end] = b"\x88" + value.to_bytes(8, "big")
    return f"the cluster at {cluster.start} begins at {value:#x}"


def number(rng, data, found, other):
    at = place(rng, data, found)
    width = rng.choice([1, 2, 4, 4, 8])
    value = rng.choice(NUMBERS if width < 8 else LONG_NUMBERS)
    order = rng.choice(["big", "big", "little"])
    data[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, order)
    return f"{width} bytes of {value:#x} at {at}"


def splice(rng, data, found, other):
    ends = [part.end for part in found if part.end <= len(data)]
    at = rng.choice(ends) if ends and rng.random() < 0.6 else rng.randrange(len(data))
    begin = rng.randrange(len(other))
    most = max(1, LONGEST_MUTANT - at)
    data[at:] = other[begin : begin + most]
    return f"from {at} on another file from {begin} on"


def grow(data, part, change):
    """Keeps the sizes of what a changed part is in right, so that the change is reached at all."""
    for parent in part.parents:
        at, length = parent.size_at, parent.size_length
        old = int.from_bytes(data[at : at + length], "big")
        if 0 < old + change < 1 << 8 * length:
            data[at : at + length] = (old + change).to_bytes(length, "big")


def duplicate(rng, data, found, other):
    part = rng.choice(found)
    times = rng.choice([1, 1, 2, 20])
    piece = bytes(data[part.start : part.end])
    if len(piece) * times > MEBIBYTE:
        times = 1
    if part.parents and isinstance(part.name, bytes) and data[:4] != b"RIFF" and rng.random() < 0.8:
        grow(data, part, len(piece) * times)
    data[part.end : part.end] = piece * times
    return f"{part.name} at {part.start} {times} times more"


def remove(rng, data, found, other):
    part = rng.choice(found)
    if part.parents and isinstance(part.name, bytes) and data[:4] != b"RIFF" and rng.random() < 0.8:
        grow(data, part, part.start - part.end)
    del data[part.start : part.end]
    return f"{part.name} at {part.start} removed"


def exchange(rng, data, found, other):
    one, two = sorted(rng.sample(found, 2), key=lambda part: part.start) if len(found) > 1 else (found[0], found[0])
    if one.end > two.start:
        return remove(rng, data, found, other)
    first, second = bytes(data[one.start : one.end]), bytes(data[two.start : two.end])
    data[two.start : two.end] = first
    data[one.start : one.end] = second
    return f"{one.name} at {one.start} and {two.name} at {two.start} exchanged"


def resize(rng, data, found, other):
    part = rng.choice(found)
    length = part.size_length
    old = int.from_bytes(data[part.size_at : part.size_at + length], "big")
    if isinstance(part.name, int) and data[:4] == b"\x1aE\xdf\xa3":
        largest = (1 << 7 * length) - 1
        size = rng.choice([0, 1, largest, largest - 1, part.end - part.body + rng.choice([-1, 1, 100])])
        value = 1 << 7 * length | max(0, min(size, largest))
    else:
        value = rng.choice([0, 1, 2, 7, 8, 9, 15, 16, old - 1, old + 1, old * 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62,
                            (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
        value = max(0, value) & ((1 << 8 * length) - 1)
        if value == 1 and length == 4 and rng.random() < 0.7:
            # A size of 64 bits follows.
            data[part.body : part.body + 8] = rng.choice([0, 8, 16, 1 << 32, (1 << 63) - 1, (1 << 64) - 1]).to_bytes(8, "big")
    data[part.size_at : part.size_at + length] = value.to_bytes(length, "little" if data[:4] == b"RIFF" else "big")
    return f"{part.name} at {part.start} has the size {value:#x}"


def rename(rng, data, found, other):
    part, model = rng.choice(found), rng.choice(found)
    if not isinstance(part.name, bytes):
        return resize(rng, data, found, other)
    at = part.size_at - 4 if data[:4] == b"RIFF" else part.start + 4
    data[at : at + 4] = model.name
    return f"{part.name} at {part.start} called {model.name}"


# Fields of boxes by their offsets from the content's beginning, in version 0, and their widths (ISO/IEC 14496-12).
FIELDS = {
    b"mvhd": [("time scale", 12, 4), ("duration", 16, 4), ("version", 0, 1)],
    b"mdhd": [("time scale", 12, 4), ("duration", 16, 4), ("version", 0, 1)],
    b"tkhd": [("duration", 20, 4), ("matrix", 40, 4), ("matrix", 44, 4), ("matrix", 72, 4), ("width", 76, 4), ("height", 80, 4),
              ("track id", 12, 4)],
    b"elst": [("count", 4, 4), ("duration", 8, 4), ("media time", 12, 4), ("rate", 16, 4), ("version", 0, 1)],
    b"stts": [("count", 4, 4), ("samples", 8, 4), ("delta", 12, 4)],
    b"ctts": [("count", 4, 4), ("samples", 8, 4), ("offset", 12, 4), ("version", 0, 1)],
    b"stss": [("count", 4, 4), ("sample", 8, 4)],
    b"stsc": [("count", 4, 4), ("first chunk", 8, 4), ("samples", 12, 4), ("description", 16, 4)],
    b"stsz": [("sample size", 4, 4), ("count", 8, 4), ("size", 12, 4)],
    b"stco": [("count", 4, 4), ("offset", 8, 4)],
    b"co64": [("count", 4, 4), ("offset", 8, 8)],
    b"stsd": [("count", 4, 4)],
    b"avc1": [("width", 24, 2), ("height", 26, 2), ("depth", 74, 2)],
    b"hvc1": [("width", 24, 2), ("height", 26, 2), ("depth", 74, 2)],
    b"mp4a": [("version", 8, 2), ("channels", 16, 2), ("bits", 18, 2), ("rate", 24, 4)],
    b"sowt": [("version", 8, 2), ("channels", 16, 2), ("bits", 18, 2), ("rate", 24, 4)],
    b"trun": [("flags", 0, 4), ("count", 4, 4), ("offset", 8, 4)],
    b"tfhd": [("flags", 0, 4), ("track id", 4, 4)],
    b"tfdt": [("time", 4, 8)],
    b"trex": [("duration", 12, 4), ("size", 16, 4)],
    b"pasp": [("horizontal", 0, 4), ("vertical", 4, 4)],
    b"mehd": [("duration", 4, 4)],
    # Matroska: times, sizes, rates.
    0x2AD7B1: [("time scale", 0, 3)],
    0x4489: [("duration", 0, 8)],
    0xB0: [("width", 0, 2)],
    0xBA: [("height", 0, 2)],
    0x23E383: [("default duration", 0, 4)],
    0x23314F: [("time scale of the track", 0, 8)],
    0xB5: [("rate", 0, 8)],
    0x9F: [("channels", 0, 1)],
    0xE7: [("time of the cluster", 0, 2)],
    0x9B: [("duration of the block", 0, 1)],
    0xA3: [("time of the block", 1, 2), ("lacing", 3, 1)],
    0x56AA: [("delay", 0, 4)],
    "page": [("granule", 0, 8)],
    # RIFF
    b"strh": [("scale", 20, 4), ("rate", 24, 4), ("start", 28, 4), ("length", 32, 4), ("sample size", 44, 4)],
    b"strf": [("size", 0, 4), ("width", 4, 4), ("height", 8, 4), ("bits", 14, 2)],
    b"avih": [("time of a picture", 0, 4), ("pictures", 16, 4), ("streams", 24, 4), ("width", 32, 4)],
    b"fmt ": [("format", 0, 2), ("channels", 2, 2), ("rate", 4, 4), ("rate of bytes", 8, 4), ("alignment", 12, 2), ("bits", 14, 2)],
    b"idx1": [("offset", 8, 4), ("size", 12, 4)],
}


def field(rng, data, found, other):
    known = [part for part in found if part.name in FIELDS]
    if not known:
        return number(rng, data, found, other)
    # First the kind, then which one: blocks are many.
    name = rng.choice(sorted({str(part.name) for part in known}))
    part = rng.choice([part for part in known if str(part.name) == name])
    what, offset, width = rng.choice(FIELDS[part.name])
    at = part.body + offset
    if part.name in (b"stts", b"ctts", b"stsc", b"stsz", b"stco", b"elst") and offset >= 8 and rng.random() < 0.5:
        at += 4 * rng.randrange(max(1, (part.end - at) // 4))
    width = min(width, part.end - at)
    if width <= 0:
        return number(rng, data, found, other)
    value = rng.choice(NUMBERS if width <= 4 else LONG_NUMBERS)
    value &= (1 << 8 * width) - 1
    data[at : at + width] = value.to_bytes(width, "little" if data[:4] == b"RIFF" else "big")
    return f"{part.name} at {part.start}: {what} {value:#x}"


ANYWHERE = [flip, flip, overwrite, truncate, insert, take_out, number, number, splice]
STRUCTURED = [far_cluster, duplicate, remove, exchange, resize, rename, field, field, field, field]


def ogg_checksums():
    table = []
    for value in range(256):
        value <<= 24
        for _ in range(8):
            value = (value << 1) ^ (0x104C11DB7 if value & 1 << 31 else 0)
        table.append(value & 0xFFFFFFFF)
    return table


OGG_TABLE = ogg_checksums()


def mend_pages(data):
    """Makes the checksums of Ogg's pages right again: else nobody looks into a changed page."""
    start = data.find(b"OggS")
    while start >= 0 and start + 27 <= len(data):
        end = data.find(b"OggS", start + 4)
        page = data[start : end if end >= 0 else len(data)]
        page[22:26] = bytes(4)
        checksum = 0
        for byte in page:
            checksum = (checksum << 8 & 0xFFFFFFFF) ^ OGG_TABLE[checksum >> 24 ^ byte]
        data[start + 22 : start + 26] = checksum.to_bytes(4, "little")
        start = end


class Mutant:
    """Number `number` of a seed: a recording, what was done to it, and what came of that."""

    def __init__(self, seed, number, bases):
        rng = random.Random(f"{seed}:{number}")
        self.number = number
        self.base = rng.choice(bases)
        data = bytearray(self.base.data)
        self.steps = []
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
            found = parts(data) or (self.base.parts if len(data) == len(self.base.data) else [])
            way = rng.choice(STRUCTURED if found and rng.random() < 0.6 else ANYWHERE)
            self.steps.append(f"{way.__name__}: {way(rng, data, found, rng.choice(bases).data)}")
            del data[LONGEST_MUTANT:]
            if not data:
                break
        if data[:4] == b"OggS" and rng.random() < 0.7:
            mend_pages(data)
        self.suffix = self.base.path.suffix
        if rng.random() < 0.05:
            self.suffix = rng.choice(SUFFIXES)
            self.steps.append(f"called {self.suffix}")
        self.data = bytes(data)


class Base:
    def __init__(self, path):
        self.path = path
        self.data = path.read_bytes()
        self.parts = parts(self.data)


def find_bases(options):
    places = [(options.root / "fixtures", 3)]
    if os.environ.get("INGEST_MEDIA"):
        places.append((Path(os.environ["INGEST_MEDIA"]), 1))
    if options.recordings:
        places = [(options.recordings, 1)]
    found = []
    for place, weight in places:
        for path in sorted(place.iterdir()) if place.is_dir() else []:
            if path.suffix in (".md", ".tsv") or not path.is_file() or not 0 < path.stat().st_size < LONGEST_BASE:
                continue
            found += [Base(path)] * weight
    return found


# MARK: Running


class Outcome:
    def __init__(self, verdict, words="", seconds=0.0, memory=0, errors=""):
        self.verdict, self.words, self.seconds, self.memory, self.errors = verdict, words, seconds, memory, errors


SETTINGS = {"preset": "fast", "codec": "auto"}
# Whatever decodes of a damaged recording is to be written: so that what follows is reached.
CARE = {"isStrict": False, "damaged": "salvage", "badResult": "original", "verification": "full"}


def request(work, source, output):
    if work == "probe":
        return {"probe": {"input": source, "settings": SETTINGS}}
    job = {"input": source, "output": output, "threads": 2, "stripsLocation": False, "care": CARE}
    if work == "compress":
        job["settings"] = SETTINGS
    return {"prepare": {"_0": job}}


def processor_time(pid):
    """Seconds that a process has computed: on a busy machine the clock says little."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Runner:
    """Starts ingest-media as `ingest` does, and judges how it ends."""

    def __init__(self, options):
        self.options = options
        self.usual = {}
        self.lock = threading.Lock()
        self.variables = {"LANG": "C.UTF-8", "SVT_LOG": "1", "MALLOC_ARENA_MAX": "4"}
        if options.sanitised:
            # What cannot be allocated is refused as the C library does; no symbols: nothing can be started there.
            self.variables["ASAN_OPTIONS"] = "allocator_may_return_null=1:max_allocation_size_mb=6000:symbolize=0"

    def run(self, work, source, output):
        Path(output).write_bytes(b"")
        begin = time.monotonic()
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                [self.options.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=self.variables
            )
            said, stopped = self.listen(process, (json.dumps(request(work, source, output)) + "\n").encode(), begin)
            if stopped:
                # Not by `process`, which would wait for it as well.
                os.kill(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.stdin.close()
            process.stdout.close()
            errors.seek(0)
            text = errors.read(20000).decode(errors="replace")
        seconds, memory = time.monotonic() - begin, usage.ru_maxrss * 1024
        return Outcome(*self.judge(process.returncode, said, stopped, text), seconds, memory, text)

    def run_mutant(self, mutant, work, source, output):
        outcome = self.run(work, source, output)
        # A sanitizer's memory is its own.
        if outcome.verdict in ("ok", "refused", "stopped") and outcome.memory > MOST_MEMORY and not self.options.sanitised:
            before = self.usual_memory(mutant.base, work, output)
            if outcome.memory > before * 5 / 4:
                outcome.words = f"{outcome.memory // MEBIBYTE} MiB, unchanged {before // MEBIBYTE} MiB ({outcome.words})"
                outcome.verdict = "memory"
        return outcome

    def usual_memory(self, base, work, output):
        """What the recording takes as it is: large pictures take what they take."""
        with self.lock:
            if (base.path, work) not in self.usual:
                self.usual[base.path, work] = self.run(work, str(base.path), output).memory
            return self.usual[base.path, work]

    def listen(self, process, line, begin):
        """What it says, and why it had to be ended, if it had to."""
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            pass
        said, heard = b"", time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if selector.select(0.1):
                    piece = os.read(process.stdout.fileno(), 1 << 16)
                    if not piece:
                        return said, None
                    said, heard = said + piece, time.monotonic()
                now = time.monotonic()
                if now - heard > self.options.patience:
                    return said, "hang"
                if b'"progress"' in said and now - heard < 5 and processor_time(process.pid) > self.options.enough:
                    return said, "stopped"
                if now - begin > 300:
                    return said, "hang"

    def judge(self, code, said, stopped, errors):
        if "AddressSanitizer" in errors or "runtime error:" in errors:
            return "sanitizer", (re.findall(r"ERROR: (AddressSanitizer:[^\n]*)", errors) or [errors[:200]])[0]
        if stopped:
            return stopped, ""
        if code < 0:
            # A trap is how Swift ends; FFmpeg ends by an assertion, or by reading where nothing is.
            name = signal.Signals(-code).name
            own = name in ("SIGILL", "SIGTRAP") or "Fatal error" in errors
            return ("crash in our code" if own else "crash in FFmpeg"), f"{name} {errors[:300]}"
        lines = [line for line in said.decode(errors="replace").split("\n") if line]
        try:
            events = [json.loads(line) for line in lines]
        except ValueError:
            return "nonsense", lines[-1][:200]
        last = events[-1] if events else {}
        if code != 0 or not last:
            return "crash in our code", f"status {code}, {len(events)} events"
        if max(map(len, lines)) > MEBIBYTE:
            return "nonsense", "a line of more than 1 MiB"
        if "failed" in last:
            fault = last["failed"]["_0"]
            reason = fault["reason"]
            if not reason or "\n" in reason or len(reason) > 500 or not reason.isprintable():
                return "nonsense", reason[:300]
            return "refused", f"{fault['code']}: {reason}"
        return ("ok" if last.keys() & {"made", "probed", "notWorthwhile"} else "nonsense"), ""


def attempt(mutant, runner, directory, works):
    source = str(directory / f"m{mutant.number}{mutant.suffix}")
    Path(source).write_bytes(mutant.data)
    output = str(directory / f"m{mutant.number}.out")
    outcomes = {work: runner.run_mutant(mutant, work, source, output) for work in works}
    os.unlink(source)
    os.unlink(output)
    return outcomes


FAULTS = ("crash in our code", "crash in FFmpeg", "hang", "memory", "sanitizer", "nonsense")


class Campaign:
    def __init__(self, options, bases):
        self.options, self.bases, self.runner = options, bases, Runner(options)
        self.numbers = iter([options.only] if options.only is not None else range(options.first, options.first + options.count))
        self.counts = collections.Counter()
        self.slowest, self.largest = (0.0, ""), (0, "")
        self.lock = threading.Lock()
        self.log = open(options.log, "a") if options.log else None

    def work(self, directory):
        while True:
            with self.lock:
                number = next(self.numbers, None)
            if number is None:
                return
            mutant = Mutant(self.options.seed, number, self.bases)
            if mutant.data:
                self.note(mutant, attempt(mutant, self.runner, directory, self.options.work.split(",")))

    def note(self, mutant, outcomes):
        with self.lock:
            for work, outcome in outcomes.items():
                self.counts[work, outcome.verdict] += 1
                name = f"{mutant.number} ({mutant.base.path.name}, {work})"
                self.slowest = max(self.slowest, (outcome.seconds, name))
                self.largest = max(self.largest, (outcome.memory, name))
                if self.log:
                    print(json.dumps({
                        "number": mutant.number, "base": mutant.base.path.name, "steps": mutant.steps, "work": work,
                        "verdict": outcome.verdict, "words": outcome.words, "seconds": round(outcome.seconds, 2),
                        "memory": outcome.memory // MEBIBYTE, "errors": outcome.errors[:6000]}), file=self.log, flush=True)
                if outcome.verdict in FAULTS or self.options.only is not None:
                    print(f"{outcome.verdict}: {name}: {'; '.join(mutant.steps)}\n    {outcome.words[:400]}", flush=True)
            if self.options.keep and (self.options.only is not None or any(o.verdict in FAULTS for o in outcomes.values())):
                Path(self.options.keep).mkdir(parents=True, exist_ok=True)
                (Path(self.options.keep) / f"{mutant.number}-{mutant.base.path.stem}{mutant.suffix}").write_bytes(mutant.data)
            done = sum(self.counts.values()) // len(outcomes)
            if done % 250 == 0:
                print(f"{done} mutants", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--program", required=True, help="ingest-media")
    parser.add_argument("--recordings", type=Path, help="change these rather than the fixtures and those of INGEST_MEDIA")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", default="probe,compress,remux")
    parser.add_argument("--patience", type=float, default=60, help="seconds without a word that count as a hang")
    parser.add_argument("--enough", type=float, default=3, help="seconds of computing after which an encoding is let off")
    parser.add_argument("--sanitised", action="store_true", help="the program is built with the address sanitizer")
    parser.add_argument("--keep", help="directory for mutants that show a fault")
    parser.add_argument("--log", help="file for a line of JSON for each piece of work")
    options = parser.parse_args()
    campaign = Campaign(options, find_bases(options))
    with tempfile.TemporaryDirectory(prefix="fuzz-media-") as directory:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for worker in [pool.submit(campaign.work, Path(directory)) for _ in range(options.jobs)]:
                worker.result()
    for (work, verdict), count in sorted(campaign.counts.items()):
        print(f"{work:10} {verdict:20} {count}")
    print(f"longest: {campaign.slowest[0]:.1f} s, {campaign.slowest[1]}")
    print(f"most memory: {campaign.largest[0] // MEBIBYTE} MiB, {campaign.largest[1]}")
    sys.exit(1 if any(verdict in FAULTS for _, verdict in campaign.counts) else 0)


main()
