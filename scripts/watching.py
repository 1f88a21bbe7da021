"""What the scripts share that watch `ingest watch`: a home, small recordings, and what the kernel says of a process."""

import os
import re
import signal
import socket
import sqlite3
import struct
import subprocess
import time
from pathlib import Path


def recording(number):
    """A complete WAV file of 76 bytes, with other bytes for every number."""
    sound = struct.pack("<QQQQ", number, 0x1234567, number, 0x1234567)
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    body = b"WAVE" + form + b"data" + struct.pack("<I", len(sound)) + sound
    return b"RIFF" + struct.pack("<I", len(body)) + body


def processor_time(pid):
    """Seconds of processor time of a process so far, to the nanosecond: its clock, as clock_getcpuclockid(3) makes it."""
    return time.clock_gettime((~pid << 3) | 2)


def memory(pid, name="VmRSS"):
    """Bytes, of a line of /proc/PID/status."""
    return int(re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


class Home:
    """A home of its own for the program, and the processes that end with it."""

    def __init__(self, directory, program):
        self.directory, self.program = Path(directory), str(program)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.list = self.directory / "state/ingest/list.sqlite"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.directory), "LANG": "C.UTF-8"}
        for name in ("cache", "state", "data", "config"):
            self.environment[f"XDG_{name.upper()}_HOME"] = str(self.directory / name)
        self.processes = []

    def start(self, *command, is_fed=False, **more):
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.PIPE if is_fed else subprocess.DEVNULL,
                                   start_new_session=True, **more)
        self.processes.append(process)
        return process

    def receive(self):
        """Starts a receiver on loopback; the destination that it is."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        receiver = self.start(self.program, "receive", "--listen", f"127.0.0.1:{port}", "--store",
                              str(self.directory / "received"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            if receiver.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return f"block+http://127.0.0.1:{port}/upload"
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the receiver does not answer")

    def watch(self, folder, *options):
        """Starts `ingest watch`; returns once it says that it watches."""
        log = self.directory / f"watch{len(self.processes)}.log"
        with open(log, "wb") as said:
            watching = self.start(self.program, "watch", str(folder), *options, stdout=said, stderr=said)
        for _ in range(200):
            if b"watching " in log.read_bytes():
                return watching
            if watching.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"ingest watch does not start: {log.read_text(errors='replace')}")

    def query(self, sql, *values):
        with sqlite3.connect(f"file:{self.list}?mode=ro", uri=True, timeout=30) as connection:
            rows = connection.execute(sql, values).fetchall()
        connection.close()
        return rows

    def stop(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGCONT)
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process in self.processes:
            self.processes.remove(process)

    def end(self):
        for process in list(self.processes):
            self.stop(process)
