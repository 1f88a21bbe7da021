"""Interleaved pairs: ours, theirs, theirs, ours … each pair gives one ratio of wall times and one of processor times.

Said of a row: the median of the ratios, and the interval that covers the true median with at least 95 % probability (order
statistics, no assumption about the distribution). A demand is missed only if the whole interval lies above it. Both sides
sync what they write. Processor time and memory are the client's (all of its processes); servers are not counted.
"""

import argparse
import math
import json
import os
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import bench_watch


@dataclass
class Run:
    wall: float  # seconds
    cpu: float  # seconds, user and system, children included
    peak: int  # bytes, of the largest process


@dataclass
class Row:
    title: str
    ours: list = field(default_factory=list)
    theirs: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    demands: list = field(default_factory=list)  # (text, median, interval, limit or None)


# A process that Python starts counts Python's own memory as its peak (getrusage(2): kept over execve); this one is small.
STOPWATCH = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words) {
    struct timespec begin, end;
    struct rusage used;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pid_t child = fork();
    if (child == 0) { close(3); execvp(words[1], words + 1); _exit(127); }
    if (wait4(child, &status, 0, &used) != child) return 126;
    clock_gettime(CLOCK_MONOTONIC, &end);
    dprintf(3, "%.6f %.6f %ld\n", (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec) / 1e9,
            used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
            used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
"""


def compiled(directory, name, source, *libraries):
    program = directory / name
    program.with_suffix(".c").write_text(source)
    subprocess.run(["gcc", "-O2", "-o", program, program.with_suffix(".c"), *libraries], check=True)
    return str(program)


def interval(values):
    """The narrowest symmetric pair of order statistics that covers the median with at least 95 %."""
    values = sorted(values)
    n = len(values)
    tail, drop = 0.0, 0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 2 * tail > 0.05:
            break
        drop = k
    return values[drop], values[n - 1 - drop]


def ratios(row, what):
    return [getattr(a, what) / getattr(b, what) for a, b in zip(row.ours, row.theirs)]


def pairs(title, count, ours, theirs):
    """`ours` and `theirs` each make one run. The first pair only warms up."""
    row = Row(title)
    for index in range(count + 1):
        first, second = (ours, theirs) if index % 2 == 0 else (theirs, ours)
        a, b = first(), second()
        if index == 0:
            continue
        mine, peer = (a, b) if index % 2 == 0 else (b, a)
        row.ours.append(mine)
        row.theirs.append(peer)
        print(f"  {title} {index}/{count}: {mine.wall:.3f} s, peer {peer.wall:.3f} s", file=sys.stderr)
    return row


def demand(row, text, values, limit):
    low, high = interval(values) if len(values) > 5 else (min(values), max(values))
    row.demands.append((text, statistics.median(values), (low, high), limit))


def show(rows):
    print("| work | ours: wall, CPU, memory | peer: wall, CPU, memory | ratio | 95 % | demand | |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        def median(runs):
            wall = statistics.median(r.wall for r in runs)
            cpu = statistics.median(r.cpu for r in runs)
            peak = max(r.peak for r in runs) / 2**20
            return f"{wall:.3f} s, {cpu:.3f} s, {peak:.0f} MiB"

        for index, (text, value, (low, high), limit) in enumerate(row.demands):
            head = f"| {row.title} | {median(row.ours)} | {median(row.theirs)} " if index == 0 else "| | | "
            asked, verdict = ("", "") if limit is None else (f"≤ {limit:g}", "missed" if low > limit else "held")
            print(f"{head}| {text} {value:.2f} | {low:.2f}–{high:.2f} | {asked} | {verdict} |")
        for note in row.notes:
            print(f"| | {note} | | | | | |")


class Place:
    """Directories, the program and its environment, and servers that end with us."""

    def __init__(self, root, home):
        self.root, self.home = root, home
        self.ingest = str(root / ".build/release/ingest")
        self.servers = []
        self.stopwatch = compiled(home, "stopwatch", STOPWATCH)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8",
            "XDG_CACHE_HOME": str(home / "cache"), "XDG_STATE_HOME": str(home / "state"),
            "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config"),
        }

    def measure(self, command, environment=None):
        """Runs a command to its end. It must succeed: a failed run measures nothing."""
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as figures:
            ended = subprocess.run(
                ["bash", "-c", f'exec "$@" 3>&{figures.fileno()}', "bash", self.stopwatch, *command],
                env=environment or self.environment, pass_fds=[figures.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
            )
            if ended.returncode != 0:
                said.seek(0)
                raise SystemExit(f"{command} ended with {ended.returncode}:\n{said.read().decode(errors='replace')}")
            figures.seek(0)
            wall, cpu, peak = figures.read().split()
            return Run(float(wall), float(cpu), int(peak) * 1024)

    def serve(self, command, port):
        server = subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.servers.append(server)
        for _ in range(200):
            if server.poll() is not None:
                raise SystemExit(f"{command[0]} did not start")
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return server
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{command[0]} does not answer")

    def end(self):
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
            server.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def emptied(directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def start(place, count):
    """`ingest list` on an empty list against a C program that is linked with the same libraries and only starts them."""
    program = compiled(
        place.home, "start",
        "#include <curl/curl.h>\n#include <sqlite3.h>\n#include <microhttpd.h>\n#include <stdio.h>\n"
        "int main(void) { puts(curl_version()); puts(sqlite3_libversion()); puts(MHD_get_version()); }\n",
        "-lcurl", "-lsqlite3", "-lmicrohttpd",
    )
    many = 20

    def repeated(command):
        line = f'for i in $(seq {many}); do "$@" >/dev/null || exit 1; done'
        run = place.measure(["bash", "-c", line, "bash", *command])
        return Run(run.wall / many, run.cpu / many, run.peak)

    row = pairs("start-up (`ingest list`, nothing on it)", count,
                lambda: repeated([place.ingest, "list"]), lambda: repeated([program]))
    demand(row, "wall", ratios(row, "wall"), 2)
    return row


def many_items(place, count):
    """`ingest list` with 100,000 finished items, against the same with none."""
    home = place.home / "long"
    environment = dict(place.environment, XDG_STATE_HOME=str(home / "state"), XDG_CACHE_HOME=str(home / "cache"),
                       XDG_DATA_HOME=str(home / "data"))
    small = place.home / "small.bin"
    small.write_bytes(b"recording")
    place.measure([place.ingest, str(small)], environment)
    with sqlite3.connect(home / "state/ingest/list.sqlite") as list_:
        columns = [c[1] for c in list_.execute("PRAGMA table_info(items)") if c[1] not in ("id", "uuid", "cached_name")]
        names = ", ".join(columns)
        list_.execute(
            f"INSERT INTO items (uuid, cached_name, {names}) "
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
            f"SELECT 'u' || i, CAST('c' || i AS BLOB), {names} FROM n, items WHERE items.id = 1"
        )
    list_.close()
    row = pairs("list with 100,000 finished items (peer: with none)", count,
                lambda: place.measure([place.ingest, "list"], environment),
                lambda: place.measure([place.ingest, "list"]))
    demand(row, "seconds more", [a.wall - b.wall for a, b in zip(row.ours, row.theirs)], 0.2)
    return row


def ordinary_clip(place):
    """12 s of 1080p at 30 frames a second and about 20 Mbit/s: movement, detail and a little noise, two channels of sound."""
    clip = place.root / ".build/bench/clip.mov"
    if not clip.exists():
        clip.parent.mkdir(parents=True, exist_ok=True)
        half = clip.with_name("half.mov")
        subprocess.run(
            ["ffmpeg", "-loglevel", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=30:d=12",
             "-f", "lavfi", "-i", "mandelbrot=s=960x540:r=30:maxiter=300",
             "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=12",
             "-f", "lavfi", "-i", "anoisesrc=c=pink:r=48000:a=0.1:d=12:seed=7", "-filter_complex",
             "[1:v]scale=1920:1080:flags=bilinear,format=yuv420p[m];[0:v]format=yuv420p[t];[t][m]blend=all_mode=average,"
             "noise=alls=3:allf=t:all_seed=11,format=yuv420p[v];[2:a][3:a]amix=inputs=2,aformat=channel_layouts=stereo[a]",
             "-map", "[v]", "-map", "[a]", "-t", "12", "-c:v", "libx264", "-preset", "superfast", "-b:v", "20M",
             "-maxrate", "25M", "-bufsize", "25M", "-g", "30", "-c:a", "aac", "-b:a", "192k", half], check=True)
        half.rename(clip)
    return clip


def compress(place, count, clip):
    """The whole of ours (encode, check, upload to a receiver, receipt) against ffmpeg's encode and sync."""
    clip = Path(clip) if clip else ordinary_clip(place)
    port = free_port()
    store = emptied(place.home / "store")
    place.serve([place.ingest, "receive", "--listen", f"127.0.0.1:{port}", "--store", str(store)], port)
    out = place.home / "out.mp4"
    sizes = {"ours": 0, "theirs": 0}

    def ours():
        run = place.measure([place.ingest, str(clip), "--compress=fast", "--codec", "h264", "--quality", "23",
                       "--to", f"block+http://127.0.0.1:{port}/upload"])
        received = [f for f in store.iterdir() if f.suffix == ".mp4"]
        sizes["ours"] = received[0].stat().st_size
        for file in received:
            file.unlink()
        return run

    def theirs():
        out.unlink(missing_ok=True)
        line = 'ffmpeg -nostdin -loglevel error -y -i "$1" -c:v libx264 -preset veryfast -crf 23 -c:a aac ' \
               '-movflags +faststart "$2" && sync "$2"'
        run = place.measure(["bash", "-c", line, "bash", str(clip), str(out)])
        sizes["theirs"] = out.stat().st_size
        return run

    row = pairs("`--compress=fast` and upload (peer: `ffmpeg` veryfast, crf 23, sync)", count, ours, theirs)
    demand(row, "wall", ratios(row, "wall"), 1.05)
    demand(row, "CPU", ratios(row, "cpu"), None)
    demand(row, "size", [sizes["ours"] / sizes["theirs"]], 1.01)
    demand(row, "MiB more than the peer", [(max(r.peak for r in row.ours) - max(r.peak for r in row.theirs)) / 2**20], 64)
    return row


def large_clip(place):
    """1 GiB of the ordinary clip, over and over, its index behind."""
    clip = place.root / ".build/bench/1g.mov"
    if not clip.exists():
        half = clip.with_name("1g-half.mov")
        subprocess.run(
            ["ffmpeg", "-loglevel", "error", "-y", "-stream_loop", "-1", "-i", ordinary_clip(place), "-c", "copy",
             "-fs", str(2**30), half], check=True)
        half.rename(clip)
    return clip


def remux(place, count):
    """What the media process does for `--remux` (write, index in front, verification), and sync, against ffmpeg's and sync."""
    clip = large_clip(place)
    out = place.home / "out.mp4"
    care = {"isStrict": False, "damaged": "fail", "badResult": "original", "verification": "sample"}
    job = json.dumps({"prepare": {"_0": {
        "input": str(clip), "output": str(out), "threads": 2, "stripsLocation": False, "care": care}}})
    # Its input stays open until it ends; whoever closes that wants no result.
    media = 'exec 3<&0; printf "%s\\n" "$1" > "$3.in"; : > "$2"; ' \
            'mkfifo "$3.pipe"; "$4" < "$3.pipe" > "$3.out" & exec 9> "$3.pipe"; cat "$3.in" >&9; wait $! && ' \
            'rm "$3.pipe" && tail -n 1 "$3.out" | grep -q \'^{"made"\' && sync "$2"'
    line = 'ffmpeg -nostdin -loglevel error -y -i "$1" -c copy -movflags +faststart "$2" && sync "$2"'

    def ours():
        out.unlink(missing_ok=True)
        return place.measure(
            ["bash", "-c", media, "bash", job, str(out), str(place.home / "job"), place.ingest + "-media"])

    def theirs():
        out.unlink(missing_ok=True)
        return place.measure(["bash", "-c", line, "bash", str(clip), str(out)])

    row = pairs("`--remux` of 1 GiB, verified (peer: `ffmpeg -c copy -movflags +faststart`, sync)", count, ours, theirs)
    demand(row, "wall", ratios(row, "wall"), 1.0)
    demand(row, "CPU", ratios(row, "cpu"), None)
    demand(row, "MiB more than the peer", [(max(r.peak for r in row.ours) - max(r.peak for r in row.theirs)) / 2**20], 64)
    return row


def upload(place, count):
    """1 GiB as it is, through the cache, in blocks, with receipt, against `cp`, `curl -T` to nginx and sync of both."""
    recording = place.root / ".build/bench/1g.bin"
    if not recording.exists():
        recording.parent.mkdir(parents=True, exist_ok=True)
        half = recording.with_name("1g.half")
        with open(half, "wb") as file:
            for _ in range(1024):
                file.write(os.urandom(2**20))
        half.rename(recording)

    port = free_port()
    store = emptied(place.home / "store")
    place.serve([place.ingest, "receive", "--listen", f"127.0.0.1:{port}", "--store", str(store)], port)

    sink, nginx_port = emptied(place.home / "nginx"), free_port()
    for name in ("put", "tmp", "logs"):
        (sink / name).mkdir()
    configuration = sink / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    configuration.write_text(
        f"{user} worker_processes 1; pid {sink}/nginx.pid; error_log {sink}/logs/error.log; daemon off;\n"
        f"events {{ worker_connections 64; }}\n"
        f"http {{ access_log off; client_body_temp_path {sink}/tmp; proxy_temp_path {sink}/tmp; fastcgi_temp_path {sink}/tmp;\n"
        f" uwsgi_temp_path {sink}/tmp; scgi_temp_path {sink}/tmp;\n"
        f" server {{ listen 127.0.0.1:{nginx_port}; root {sink}/put; client_max_body_size 0;\n"
        f"  location / {{ dav_methods PUT; create_full_put_path on; }} }} }}\n"
    )
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    place.serve([nginx, "-p", str(sink), "-c", str(configuration), "-e", str(sink / "logs/error.log")], nginx_port)
    copy = place.home / "copy.bin"

    def ours():
        run = place.measure([place.ingest, str(recording), "--to", f"block+http://127.0.0.1:{port}/upload"])
        received = [f for f in store.iterdir() if f.suffix == ".bin"]
        if len(received) != 1 or received[0].stat().st_size != recording.stat().st_size:
            raise SystemExit("the recording did not arrive")
        received[0].unlink()
        return run

    def theirs():
        copy.unlink(missing_ok=True)
        (sink / "put/t.bin").unlink(missing_ok=True)
        line = 'cp "$1" "$2" && sync "$2" && curl -fsS -T "$2" "$3" >/dev/null && sync "$4" && rm "$2"'
        run = place.measure(["bash", "-c", line, "bash", str(recording), str(copy), f"http://127.0.0.1:{nginx_port}/t.bin",
                       str(sink / "put/t.bin")])
        return run

    row = pairs("1 GiB as it is: cache, blocks, receipt (peer: cp + `curl -T` to nginx, sync)", count, ours, theirs)
    version = place.measure([place.ingest, "--version"])
    demand(row, "wall", ratios(row, "wall"), 2.5)
    demand(row, "CPU", ratios(row, "cpu"), 2.5)
    demand(row, "MiB more than `--version`", [(max(r.peak for r in row.ours) - version.peak) / 2**20], 32)
    return row


def network(place, count, link, block):
    """64 MiB in blocks over a link with delay, against curl that puts the same blocks one after another on one connection."""
    size, megabits, delay = 64, 200, 100
    recording = place.home / "64m.bin"
    recording.write_bytes(os.urandom(size * 2**20))
    pieces = []
    for number in range(size // block):
        piece = place.home / f"piece{number:02}"
        with open(recording, "rb") as file:
            file.seek(number * block * 2**20)
            piece.write_bytes(file.read(block * 2**20))
        pieces.append(piece)
    store, sink = emptied(place.home / "store"), emptied(place.home / "nginx")
    for name in ("put", "tmp", "logs"):
        (sink / name).mkdir()
    user = "user root;" if os.geteuid() == 0 else ""
    (sink / "nginx.conf").write_text(
        f"{user} worker_processes 1; pid {sink}/nginx.pid; error_log {sink}/logs/error.log; daemon off;\n"
        f"events {{ worker_connections 64; }}\nhttp {{ access_log off; keepalive_requests 1000; client_body_temp_path {sink}/tmp;"
        f" proxy_temp_path {sink}/tmp; fastcgi_temp_path {sink}/tmp; uwsgi_temp_path {sink}/tmp; scgi_temp_path {sink}/tmp;\n"
        f" server {{ listen 10.77.0.2:8081; root {sink}/put; client_max_body_size 0;\n"
        f"  location / {{ dav_methods PUT; create_full_put_path on; }} }} }}\n"
    )
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    subprocess.run([link, "up", str(delay), "0", str(megabits)], check=True, stdout=subprocess.DEVNULL)
    try:
        for command in ([place.ingest, "receive", "--open", "--listen", "10.77.0.2:8080", "--store", str(store)],
                        [nginx, "-p", str(sink), "-c", str(sink / "nginx.conf"), "-e", str(sink / "logs/error.log")]):
            place.servers.append(subprocess.Popen([link, "srv", *command], env=place.environment, stdin=subprocess.DEVNULL,
                                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(2)

        def ours():
            return place.measure([link, "cli", place.ingest, str(recording), "--block-size", f"{block}MiB",
                                  "--to", "block+http://10.77.0.2:8080/upload"])

        def theirs():
            words = [word for piece in pieces for word in ("-T", str(piece), f"http://10.77.0.2:8081/{piece.name}")]
            # Without it curl waits a round trip a piece for permission.
            return place.measure([link, "cli", "curl", "-fsS", "-H", "Expect:", *words])

        row = pairs(f"64 MiB in blocks of {block} MiB, {delay} ms, {megabits} Mbit/s (peer: curl, the same pieces)", count,
                    ours, theirs)
    finally:
        place.end()
        place.servers = []
        subprocess.run([link, "down"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    demand(row, "wall", ratios(row, "wall"), 1.10)
    floor = size * 2**20 * 8 / (megabits * 1e6) + (size // block + 2) * delay / 1000
    row.notes.append(f"link and round trips alone, without TCP's slow start: {floor:.1f} s")
    return row


def main():
    known = ["start", "list", "compress", "remux", "upload", "network", "watch"]
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measures ingest against other programs.")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, default=11, help="pairs a row, at least 6 for an interval (default 11)")
    parser.add_argument("--link", help="for the row network: a program that makes a slow link between two network namespaces "
                        "(up RTT_MS LOSS_PCT RATE_MBIT, down, cli COMMAND..., srv COMMAND...; the server is 10.77.0.2)")
    parser.add_argument("--clip", help="the recording for the row compress")
    parser.add_argument("--parts", default=",".join(bench_watch.PARTS), help="of the row watch (default: %(default)s)")
    parser.add_argument("--files", type=int, default=100_000, help="for the row watch: recordings in its tree, ten a directory")
    parser.add_argument("--burst", type=int, default=9000, help="for the row watch: recordings made while it is stopped")
    parser.add_argument("--rescan", type=int, default=240, help="for the row watch: seconds between two full scans")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(known)}; default: all")
    options = parser.parse_args()
    for name in options.rows:
        if name not in known:
            parser.error(f"no row {name}; rows: {', '.join(known)}")
    for part in options.parts.split(","):
        if part not in bench_watch.PARTS:
            parser.error(f"no part {part}; parts: {', '.join(bench_watch.PARTS)}")

    (options.root / ".build/bench").mkdir(parents=True, exist_ok=True)
    rows = []
    for name in options.rows or [row for row in known if row != "network" or options.link]:
        with tempfile.TemporaryDirectory(dir=options.root / ".build/bench", prefix="home.") as home:
            place = Place(options.root, Path(home))
            try:
                if name == "start":
                    rows.append(start(place, options.pairs))
                elif name == "list":
                    rows.append(many_items(place, options.pairs))
                elif name == "compress":
                    rows.append(compress(place, options.pairs, options.clip))
                elif name == "remux":
                    rows.append(remux(place, options.pairs))
                elif name == "network":
                    if not options.link:
                        raise SystemExit("the row network wants --link")
                    for block in (1, 16):
                        rows.append(network(place, options.pairs, options.link, block))
                elif name == "watch":
                    bench_watch.watch(place, options.parts.split(","), options.files, options.burst, options.rescan)
                else:
                    rows.append(upload(place, options.pairs))
            finally:
                place.end()
    processors = os.cpu_count()
    print(f"{time.strftime('%Y-%m-%d')}, {processors} processors, {options.pairs} pairs a row\n")
    if rows:
        show(rows)


# Whoever ends this ends what it has started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
main()
