"""Each recording is made, taken, uploaded to a receiver on loopback and deleted (`--after=delete`) by one `ingest watch`."""

import argparse
import collections
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from watching import Home, descriptors, memory, processor_time, recording, threads

# So many recordings are on their way at once.
AHEAD = 300
PARTS = 10
MIB = 2**20


def size(path):
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def main():
    parser = argparse.ArgumentParser(prog="scripts/watch-year")
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--directories", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=4, help="uploads at once (default 4)")
    parser.add_argument("--place", help="where everything lies (default: the directory for temporary files)")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(dir=options.place, prefix="watch-year.") as place:
        home = Home(Path(place) / "home", options.program)
        try:
            failures = run(home, Path(place) / "tree", options)
        finally:
            home.end()
    for failure in failures:
        print(f"FAILED: {failure}")
    raise SystemExit(1 if failures else 0)


def run(home, tree, options):
    directories = [tree / f"{i % 20:02}" / f"{i:04}" for i in range(options.directories)]
    for directory in directories:
        directory.mkdir(parents=True)
    destination = home.receive()
    watching = home.watch(tree, "--after=delete", f"--jobs={options.jobs}", "--to", destination)
    pid = watching.pid

    parts, made, under_way = [], 0, collections.deque()
    print(f"{options.files} recordings, {options.directories} directories, {options.jobs} jobs")
    print("| of all | files/s | ms of processor a file | resident | most | descriptors | threads | list | its log |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for part in range(PARTS):
        end = options.files * (part + 1) // PARTS
        count, began, used, samples, next_sample = end - made, time.monotonic(), processor_time(pid), [], 0.0
        last_news = began
        while made < end or (under_way and part == PARTS - 1):
            while made < end and len(under_way) < AHEAD:
                path = directories[made % options.directories] / f"take{made:06}.wav"
                path.write_bytes(recording(made))
                under_way.append(path)
                made += 1
            left = collections.deque(path for path in under_way if path.exists())
            now = time.monotonic()
            if len(left) < len(under_way):
                last_news = now
            under_way = left
            if now - last_news > 120 or watching.poll() is not None:
                return [f"nothing moves any more; {len(under_way)} are left, such as {under_way[0]}"]
            if now >= next_sample:
                samples.append((memory(pid), descriptors(pid), threads(pid), size(f"{home.list}-wal")))
                next_sample = now + 0.25
            time.sleep(0.02)
        seconds = time.monotonic() - began
        figures = {
            "rate": count / seconds, "cpu": (processor_time(pid) - used) / count * 1000,
            "resident": statistics.median(s[0] for s in samples), "peak": memory(pid, "VmHWM"),
            "descriptors": statistics.median(s[1] for s in samples), "threads": statistics.median(s[2] for s in samples),
            "list": size(home.list), "log": max(s[3] for s in samples),
        }
        parts.append(figures)
        print(f"| {(part + 1) * 100 // PARTS} % | {figures['rate']:.1f} | {figures['cpu']:.2f} | "
              f"{figures['resident'] / MIB:.1f} MiB | {figures['peak'] / MIB:.1f} MiB | {figures['descriptors']:g} | "
              f"{figures['threads']:g} | {figures['list'] / MIB:.1f} MiB | {figures['log'] / MIB:.1f} MiB |", flush=True)

    failures = []
    done = home.query("SELECT count(*) FROM items WHERE state = 'done' AND after_state IS NULL")[0][0]
    states = home.query("SELECT state, after_state, count(*) FROM items GROUP BY 1, 2")
    print(f"\nitems: {states}; log at the end: {size(f'{home.list}-wal') / MIB:.1f} MiB")
    received = sum(1 for name in os.listdir(home.directory / "received") if name.endswith(".wav"))
    if received != options.files:
        failures.append(f"{received} of {options.files} have been received ({done} items are done)")
    early, late = parts[1], parts[-1]
    if late["resident"] > early["resident"] + 16 * MIB:
        failures.append("its memory has grown by more than 16 MiB since the second tenth")
    for what in ("descriptors", "threads"):
        if late[what] > early[what] + 4:
            failures.append(f"its {what} have grown since the second tenth")
    if late["cpu"] > early["cpu"] * 1.5:
        failures.append("a file takes half as much processor time again as in the second tenth")
    return failures


# Whoever ends this ends what it has started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
main()
