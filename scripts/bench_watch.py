"""`ingest watch` on a large tree, and beside other watchers; a table of its own, for there are no pairs here.

The tree's recordings are known before the program starts: their sizes and fingerprints are written into the list's table `seen`,
as the program writes them, after a first recording that it has brought itself has shown that they are the same.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path

from watching import Home, descriptors, memory, processor_time, recording, threads

PARTS = ("scale", "poll", "latency", "overflow")
MIB = 2**20
FILES_A_DIRECTORY = 10


def tell(text):
    print(f"  watch: {text}", file=sys.stderr, flush=True)


# MARK: What is measured with


def until_quiet(pid, seconds=3.0):
    """Waits until a process has used next to no processor time for so long; since when that is."""
    last, since = processor_time(pid), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(0.1)
        now = processor_time(pid)
        if now - last > 0.002 * seconds:
            last, since = now, time.monotonic()
    return since


def share(pid, seconds, used=processor_time):
    before = used(pid)
    time.sleep(seconds)
    return (used(pid) - before) / seconds * 100


class List:
    """Looks at the list of a home while the program writes it."""

    def __init__(self, home):
        self.connection = sqlite3.connect(f"file:{home.list}?mode=ro", uri=True, timeout=30)

    def newest(self):
        return self.connection.execute("SELECT coalesce(max(id), 0) FROM items").fetchone()[0]

    def queued(self, after):
        return self.connection.execute("SELECT count(*) FROM items WHERE id > ? AND state <> 'waiting'", (after,)).fetchone()[0]

    def has(self, path, after):
        return self.connection.execute("SELECT 1 FROM items WHERE id > ? AND recording = ? AND state <> 'waiting'",
                                       (after, os.fsencode(path))).fetchone() is not None


def latencies(directories, count, numbers, is_found, before=lambda: None):
    """Seconds from the writer's close to `is_found`, for each of so many new recordings."""
    found = []
    for _ in range(count):
        path = random.choice(directories) / f"new{next(numbers):07}.wav"
        time.sleep(random.uniform(0.1, 0.4))
        mark = before()
        path.write_bytes(recording(next(numbers)))
        closed = time.monotonic()
        while not is_found(path, mark):
            if time.monotonic() - closed > 60:
                return found + [float("inf")]
            time.sleep(0.001)
        found.append(time.monotonic() - closed)
    return found


def spoken(seconds):
    return f"{statistics.median(seconds) * 1000:.0f} ms, at most {max(seconds) * 1000:.0f} ms"


class Figures:
    def __init__(self):
        self.lines = []

    def add(self, title, value, demand="", held=None):
        self.lines.append(f"| {title} | {value} | {demand} | {'' if held is None else 'held' if held else 'missed'} |")
        tell(f"{title}: {value}")

    def show(self):
        print("\n| watching | measured | demand | |\n| --- | --- | --- | --- |")
        print("\n".join(self.lines))


# MARK: The tree


def make_tree(tree, count, numbers):
    directories = []
    for index in range(count // FILES_A_DIRECTORY):
        directory = tree / f"{index // 100:03}" / f"{index:05}"
        directory.mkdir(parents=True)
        directories.append(directory)
        for _ in range(FILES_A_DIRECTORY):
            number = next(numbers)
            (directory / f"take{number:07}.wav").write_bytes(recording(number))
    return directories


def seen(path, destination):
    """The row of a recording that has been brought (schema: Sources/UploadList/Schema.swift)."""
    content, status = path.read_bytes(), path.stat()
    fingerprint = hashlib.sha256(f"{len(content)}\n".encode() + content).hexdigest()
    identity = {
        "device": status.st_dev, "fingerprint": fingerprint, "inode": status.st_ino,
        "modified": {"nanoseconds": status.st_mtime_ns % 10**9, "seconds": status.st_mtime_ns // 10**9},
        "sha256": hashlib.sha256(content).hexdigest(), "size": len(content),
    }
    return (destination, len(content), fingerprint, json.dumps(identity, separators=(",", ":")), os.fsencode(path))


def fill_ledger(home, tree, empty, destination, numbers):
    """Has all recordings of the tree known."""
    first = empty / "first.wav"
    first.write_bytes(recording(next(numbers)))
    watching = home.watch(empty, "--to", destination)
    columns = "destination, source_size, source_fingerprint, identity, recording"
    for _ in range(300):
        rows = home.query(f"SELECT {columns} FROM seen")
        if rows:
            break
        time.sleep(0.1)
    home.stop(watching)
    if not rows or rows[0] != seen(first, destination):
        raise SystemExit(f"what this script writes into the list is not what the program does: {rows}")
    first.unlink()
    with sqlite3.connect(home.list) as connection:
        connection.executemany(
            f"INSERT INTO seen ({columns}, item, outcome, time) VALUES (?, ?, ?, ?, ?, 1, 'brought', {time.time()})",
            (seen(path, destination) for path in tree.rglob("*.wav")))
    connection.close()


# MARK: Parts


def scale(figures, home, tree, empty, directories, destination, numbers, rescan):
    base = home.watch(empty, "--to", destination)
    until_quiet(base.pid)
    base_memory, base_peak = memory(base.pid), memory(base.pid, "VmHWM")
    figures.add("idle in an empty folder, 30 s", f"{share(base.pid, 30):.3f} % of a processor")
    home.stop(base)

    began = time.monotonic()
    watching = home.watch(tree, "--to", destination, f"--rescan={rescan}s")
    pid, known = watching.pid, List(home)
    newest = known.newest()
    end = until_quiet(pid)
    figures.add("first full scan, all known", f"{end - began:.1f} s; {processor_time(pid):.2f} s of processor time")
    idle = share(pid, 60)
    figures.add("idle between scans, 60 s", f"{idle:.3f} % of a processor", "< 0.1 %", idle < 0.1)
    more = memory(pid) - base_memory
    figures.add("resident memory", f"{memory(pid) / MIB:.1f} MiB ({base_memory / MIB:.1f} MiB in an empty folder)",
                "≤ + 64 MiB", more <= 64 * MIB)
    most = memory(pid, "VmHWM") - base_peak
    figures.add("most memory", f"{memory(pid, 'VmHWM') / MIB:.1f} MiB ({base_peak / MIB:.1f} MiB)", "≤ + 64 MiB", most <= 64 * MIB)
    if known.newest() != newest:
        raise SystemExit("recordings that are known were taken")
    times = latencies(directories, 50, numbers, known.has, known.newest)
    figures.add("close to *queued*, 50 files in the tree", spoken(times), "< 1 s", max(times) < 1)
    until_quiet(pid)
    left = began + rescan - time.monotonic() - 2
    if left > 0:
        time.sleep(left)
        used, before = processor_time(pid), time.monotonic()
        time.sleep(4)
        seconds = until_quiet(pid) - before - 2
        figures.add("a later full scan", f"{processor_time(pid) - used:.2f} s of processor time in {max(0, seconds):.1f} s")
        most = memory(pid, "VmHWM") - base_peak
        figures.add("most memory after it", f"{memory(pid, 'VmHWM') / MIB:.1f} MiB", "≤ + 64 MiB", most <= 64 * MIB)
    else:
        figures.add("a later full scan", "not measured: the first one took too long")
    figures.add("descriptors, threads", f"{descriptors(pid)}, {threads(pid)}")
    home.stop(watching)


def poll(figures, home, tree, destination):
    watching = home.watch(tree, "--to", destination, "--poll")
    until_quiet(watching.pid)
    # Several rounds, whole ones or not.
    figures.add("with --poll, 180 s", f"{share(watching.pid, 180):.2f} % of a processor; {memory(watching.pid) / MIB:.1f} MiB")
    home.stop(watching)


def latency(figures, home, folder, destination, numbers):
    watching = home.watch(folder, "--to", destination)
    until_quiet(watching.pid)
    known = List(home)
    times = latencies([folder], 200, numbers, known.has, known.newest)
    figures.add("close to *queued*, 200 files in an empty folder", spoken(times), "median < 200 ms", statistics.median(times) < 0.2)
    home.stop(watching)


# MARK: Beside others


class Ours:
    name = "ingest watch"

    def __init__(self, home, tree, destination):
        self.home = home
        self.process = home.watch(tree, "--to", destination, "--verbose")
        self.log = home.directory / f"watch{len(home.processes) - 1}.log"
        self.known = List(home)
        until_quiet(self.process.pid)
        self.mark = self.known.newest()

    def used(self, _):
        return processor_time(self.process.pid)

    def has(self, path, mark):
        return self.known.has(path, mark)

    def count(self, _):
        return self.known.queued(self.mark)

    def before_burst(self):
        self.mark = self.known.newest()

    def end(self):
        self.home.stop(self.process)


class Peer:
    """A watcher that writes the paths it finds to a file."""

    def __init__(self, home, words, is_ready):
        self.home, self.out = home, home.directory / "peer.out"
        with open(self.out, "wb") as said, open(home.directory / "peer.err", "wb") as errors:
            self.process = home.start(*words, stdout=said, stderr=errors)
        self.started, self.position = time.monotonic(), 0
        while not is_ready(self):
            if self.process.poll() is not None or time.monotonic() - self.started > 120:
                raise SystemExit(f"{words[0]} does not start: {(home.directory / 'peer.err').read_text(errors='replace')}")
            time.sleep(0.1)

    def used(self, _):
        """With its children that have ended, which are counted in hundredths of a second."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return processor_time(self.process.pid) + sum(int(f) for f in fields[13:15]) / os.sysconf("SC_CLK_TCK")

    def has(self, path, _):
        with open(self.out, "rb") as out:
            out.seek(self.position)
            return path.name.encode() in out.read()

    def count(self, names):
        words = self.out.read_bytes().decode(errors="replace").replace('"', "/").replace("\n", "/").split("/")
        return len(set(names).intersection(words))

    def before_burst(self):
        pass

    def end(self):
        self.home.stop(self.process)


def inotifywait(home, tree, *events):
    words = ["inotifywait", "-m", "-r", "--format", "%w%f"]
    for event in events:
        words += ["-e", event]
    return Peer(home, words + [str(tree)], lambda peer: b"established" in (home.directory / "peer.err").read_bytes())


class Watchman(Peer):
    def __init__(self, home, tree):
        place = home.directory / "watchman"
        place.mkdir(exist_ok=True)
        socket_ = place / "sock"
        common = ["watchman", f"--sockname={socket_}", f"--statefile={place / 'state'}", f"--pidfile={place / 'pid'}",
                  f"--logfile={place / 'log'}"]
        super().__init__(home, common + ["--foreground"], lambda peer: socket_.exists())
        common += ["--no-spawn", "--no-pretty", "--server-encoding=json", "--output-encoding=json"]
        subprocess.run([*common, "watch", str(tree)], env=home.environment, check=True, stdout=subprocess.DEVNULL)
        self.client = home.start("stdbuf", "-oL", *common, "--persistent", "--json-command", is_fed=True, stdout=open(self.out, "wb"))
        command = ["subscribe", str(tree), "bench", {"fields": ["name"], "expression": ["suffix", "wav"]}]
        self.client.stdin.write(json.dumps(command).encode() + b"\n")
        self.client.stdin.flush()
        until_quiet(self.process.pid)
        self.position = self.out.stat().st_size

    def used(self, _):
        return super().used(_) + processor_time(self.client.pid)

    def end(self):
        self.home.stop(self.client)
        super().end()


POLLING = r"""
touch "$2"
while :; do
    touch "$2.next"
    find "$1" -type f -name '*.wav' -newer "$2"
    mv "$2.next" "$2"
    sleep 1
done
"""


def polling(home, tree):
    return Peer(home, ["bash", "-c", POLLING, "bash", str(tree), str(home.directory / "stamp")],
                lambda peer: time.monotonic() - peer.started > 3)


def overflow(home, tree, directories, destination, numbers, count):
    makers = [
        ("`ingest watch`", None, lambda: Ours(home, tree, destination)),
        ("`inotifywait -m -r -e close_write`", "inotifywait", lambda: inotifywait(home, tree, "close_write")),
        ("`inotifywait`, create and moved_to too", "inotifywait",
         lambda: inotifywait(home, tree, "close_write", "create", "moved_to")),
        ("watchman", "watchman", lambda: Watchman(home, tree)),
        ("`find -newer` every second", None, lambda: polling(home, tree)),
    ]
    lines = []
    for index, (title, program, make) in enumerate(makers):
        if program and not shutil.which(program):
            lines.append(f"| {title} | not installed | | | |")
            tell(f"{title}: not installed")
            continue
        watcher = make()
        try:
            idle = share(None, 30, watcher.used)
            before = watcher.known.newest if isinstance(watcher, Ours) else lambda: None
            times = latencies(directories, 20, numbers, watcher.has, before)
            time.sleep(3)
            watcher.before_burst()
            burst = tree / f"burst{index}"
            burst.mkdir()
            time.sleep(3)
            names = [f"burst{index}-{number:05}.wav" for number in range(count)]
            os.killpg(watcher.process.pid, signal.SIGSTOP)
            for name in names:
                (burst / name).write_bytes(recording(next(numbers)))
            os.killpg(watcher.process.pid, signal.SIGCONT)
            began = last = time.monotonic()
            found = 0
            while found < count and time.monotonic() - last < 30:
                time.sleep(0.2)
                now = watcher.count(names)
                if now != found:
                    found, last = now, time.monotonic()
            figures = [f"{found:,} of {count:,}", f"{last - began:.1f} s", spoken(times), f"{idle:.3f} %"]
            if isinstance(watcher, Ours):
                lost = b"events were lost" in watcher.log.read_bytes()
                figures[0] += " (the kernel dropped events)" if lost else " (no events were dropped)"
            lines.append(f"| {title} | {' | '.join(figures)} |")
            tell(f"{title}: {', '.join(figures)}")
        finally:
            watcher.end()
        shutil.rmtree(burst)
    print("\n| watcher, on the same tree | found of those made while it was stopped | after | from close, 20 files | idle, 30 s |")
    print("| --- | --- | --- | --- | --- |")
    print("\n".join(lines))


def watch(place, parts, files, burst, rescan):
    """`place`: of bench.py."""
    figures, numbers = Figures(), iter(range(10**12))
    home = Home(place.home / "watch", place.ingest)
    tree, empty, folder = place.home / "tree", place.home / "empty", place.home / "folder"
    for directory in (tree, empty, folder):
        directory.mkdir()
    try:
        destination = home.receive()
        directories = []
        if set(parts) - {"latency"}:
            directories = make_tree(tree, files, numbers)
            tell(f"{files} recordings in {len(directories)} directories are made")
            fill_ledger(home, tree, empty, destination, numbers)
        if "scale" in parts:
            scale(figures, home, tree, empty, directories, destination, numbers, rescan)
        if "poll" in parts:
            poll(figures, home, tree, destination)
        if "latency" in parts:
            latency(figures, home, folder, destination, numbers)
        figures.show()
        if "overflow" in parts:
            overflow(home, tree, directories, destination, numbers, burst)
    finally:
        home.end()
