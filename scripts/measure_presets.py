"""What the presets make of recordings: size, SSIM, VMAF and processor time, as a table in Markdown.

Each recording's picture is decoded once and kept without loss; the program compresses that, so that there is a copy to
look at even where the recording itself would go as it is. Sizes are those of the picture alone, held against the
recording's own over the same seconds. VMAF is judged at the picture's own size: model vmaf_v0.6.1, vmaf_4k_v0.6.1 above
1080 lines. It is made for 8 bits and a standard range; elsewhere it says which of two is better, not how good they are.
"""

import argparse
import json
import math
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CODECS = ("h264", "hevc", "av1")
PRESETS = ("fast", "balanced", "small")
CLASSES = ("≤ 720p", "≤ 1080p", "≤ 2160p")
JUDGED = 150  # pictures that VMAF looks at, spread over the clip; SSIM looks at all

# How the made ones are recorded: as much as a fast encoder in a recorder leaves.
RECORDER = "-c:v libx264 -preset superfast -crf 21 -pix_fmt yuv420p -g 60".split()
MADE = {
    "made: fractal with grain, 360p": (
        "-f lavfi -i mandelbrot=size=640x360:rate=25:maxiter=400:end_pts=3000,format=yuv420p,noise=alls=4:allf=t".split(), 60),
    "made: text on a screen, 1080p": (
        "-loop 1 -framerate 10 -i page.pgm -vf crop=1920:1080:0:'mod(60*floor(t/2)+8*mod(n,20)*lt(mod(t,8),2),2900)'".split(), 60),
    "made: fractal with grain, 2160p": (
        "-f lavfi -i mandelbrot=size=3840x2160:rate=25:maxiter=300:end_pts=3000,format=yuv420p,noise=alls=3:allf=t".split(), 1),
    "made: gradients with grain, 720p": (
        "-f lavfi -i gradients=size=1280x720:rate=12:n=6:speed=0.008:seed=7,format=yuv420p,noise=alls=3:allf=t".split(), 20),
}  # fmt: skip


class Trouble(Exception):
    """One sentence for whoever called."""


def run(words, **options):
    words = [str(word) for word in words]
    said = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, **options)
    if said.returncode != 0:
        lines = said.stderr.decode(errors="replace").strip().splitlines() or ["no word why"]
        raise Trouble(f"{Path(words[0]).name} failed: {lines[-1]}")
    return said


def probe(path, entries):
    words = "ffprobe -v error -select_streams v:0 -of json -show_entries".split()
    return json.loads(run([*words, entries, "file:" + str(path)]).stdout)


def packets(path, seconds=math.inf):
    """Bytes and number of the picture's packets that are shown in the first seconds."""
    found = probe(path, "packet=pts_time,dts_time,size")["packets"]
    timed = [(float(p.get("pts_time", p.get("dts_time", 0))), int(p["size"])) for p in found]
    first = min((at for at, _ in timed), default=0)
    within = [size for at, size in timed if at - first < seconds - 0.001]
    return sum(within), len(within)


# Recordings


def page(path):
    """A long page of writing: signs of strokes in lines, so that no font is needed."""
    rng = random.Random(5)
    signs = [[[rng.random() < 0.45 for _ in range(5)] for _ in range(7)] for _ in range(40)]
    width, height = 1920, 4000
    rows = [bytearray(b"\xf4" * width) for _ in range(height)]
    for top in range(20, height - 20, 24):
        left, end = 60, rng.randint(700, 1860)
        while left < end:
            if rng.random() < 0.17:
                left += 12
                continue
            for y, line in enumerate(rng.choice(signs)):
                for x, inked in enumerate(line):
                    if inked:
                        for down in range(2):
                            rows[top + 2 * y + down][left + 2 * x : left + 2 * x + 2] = b"\x28\x28"
            left += 12
    path.write_bytes(b"P5 %d %d 255\n" % (width, height) + b"".join(rows))


def made(name, ffmpeg, directory):
    words, seconds = MADE[name]
    path = directory / (re.sub(r"\W+", "-", name) + ".mp4")
    if not path.exists():
        page(directory / "page.pgm")
        part = path.with_suffix(".part.mp4")
        run([ffmpeg, "-v", "error", "-y", *words, "-t", seconds, *RECORDER, part.name], cwd=directory)
        part.rename(path)
    return path


class Clip:
    """A recording's first seconds, and the same without loss."""

    def __init__(self, name, path, seconds, ffmpeg, directory):
        self.name, self.path = name, path
        stream = (probe(path, "stream=width,height,pix_fmt,color_transfer").get("streams") or [None])[0]
        if not stream or not stream.get("width"):
            raise Trouble(f"{path}: there is no picture in it")
        self.short = min(stream["width"], stream["height"])
        self.bits = 10 if re.search(r"p1[0-6]|p9", stream["pix_fmt"]) else 8
        self.wide = stream.get("color_transfer") in ("smpte2084", "arib-std-b67")
        self.group = CLASSES[0 if self.short <= 720 else 1 if self.short <= 1080 else 2]
        if self.bits > 8:
            self.group += ", 10 bits"
        full = stream["pix_fmt"].startswith("yuvj")
        layout = "yuv420p10le" if self.bits > 8 else "yuvj420p" if full else "yuv420p"
        self.plain = directory / (re.sub(r"\W+", "-", name) + ".lossless.mp4")
        if not self.plain.exists():
            part = self.plain.with_suffix(".part.mp4")
            lossless = "-c:v libx264 -preset ultrafast -qp 0 -g 50 -fps_mode passthrough -enc_time_base 1:90000"
            run([
                ffmpeg, "-v", "error", "-y", "-noautorotate", "-i", "file:" + str(path), "-t", seconds, "-map", "0:v:0",
                "-pix_fmt", layout, *lossless.split(), "-video_track_timescale", "90000", "-map_metadata", "-1", part,
            ])  # fmt: skip
            part.rename(self.plain)
        self.bytes, _ = packets(path, seconds)
        _, self.pictures = packets(self.plain)


# Copies


def compress(program, clip, codec, preset, directory):
    """The copy, its processor time, and what the program says of its encoder."""
    home = directory / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [program, f"--compress={preset}", "--codec", codec, "--cache", "link", "--quiet", "--", clip.plain]
    said = subprocess.run(words, capture_output=True, env=environment, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if said.returncode != 0:
        raise Trouble(f"{clip.name}: {said.stderr.decode(errors='replace').strip() or 'ingest failed'}")
    store = home / ".local/share/ingest/received"
    copy = next(p for p in store.iterdir() if not p.name.startswith("."))
    if copy.stat().st_size == clip.plain.stat().st_size:
        raise Trouble(f"{clip.name}: ingest made no copy with {codec} {preset}")
    return copy, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def judge(ffmpeg, clip, copy, directory):
    """VMAF (mean and the lowest hundredth) and SSIM (of brightness)."""
    layout = "yuv420p10le" if probe(copy, "stream=pix_fmt")["streams"][0]["pix_fmt"] == "yuv420p10le" else "yuv420p"
    model = "vmaf_4k_v0.6.1" if clip.short > 1080 else "vmaf_v0.6.1"
    even = f"settb=1/1000,setpts=N,pad=ceil(iw/2)*2:ceil(ih/2)*2,format={layout}"
    step = max(1, clip.pictures // JUDGED)
    chain = (
        f"[0:v]{even},split[a][b];[1:v]{even},split[c][d];[b][d]ssim[s];"
        f"[a][c]libvmaf=model=version={model}:n_threads={os.cpu_count()}:n_subsample={step}:log_fmt=json:log_path=vmaf.json[v]"
    )
    words = [ffmpeg, "-hide_banner", "-nostats", "-noautorotate", "-i", copy, "-noautorotate", "-i", clip.plain]
    said = run([*words, "-lavfi", chain, "-map", "[s]", "-map", "[v]", "-f", "null", "-"], cwd=directory)
    ssim = re.search(r"SSIM Y:([0-9.]+)", said.stderr.decode(errors="replace"))
    frames = json.loads((directory / "vmaf.json").read_text())["frames"]
    scores = sorted(frame["metrics"]["vmaf"] for frame in frames if frame["frameNum"] % step == 0)
    return {"vmaf": statistics.fmean(scores), "low": scores[len(scores) // 100], "ssim": float(ssim[1])}


def measure(options, clip, codec, preset, directory):
    kept = directory / f"{clip.plain.stem}.{codec}.{preset}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    copy, seconds = compress(options.program, clip, codec, preset, directory)
    size, pictures = packets(copy)
    if pictures != clip.pictures:
        raise Trouble(f"{clip.name}: the copy has {pictures} pictures instead of {clip.pictures}")
    cell = {"size": size, "seconds": seconds, **judge(options.ffmpeg, clip, copy, directory)}
    kept.write_text(json.dumps(cell))
    return cell


# The table


def mean_ratio(ratios):
    return math.exp(statistics.fmean(math.log(max(ratio, 1e-9)) for ratio in ratios))


def base(cells, clip):
    """What others are held against: the default."""
    return cells.get((clip.name, "hevc" if clip.bits > 8 else "h264", "balanced"))


def over(ratios):
    return f"{mean_ratio(ratios):.2f}" if ratios else "–"


def summary(clips, cells):
    lines = [
        "| size | codec | preset | VMAF | lowest 1 % | SSIM | of the recording | beside the default: size | time |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for group in sorted({clip.group for clip in clips}, key=lambda g: (CLASSES.index(g.split(",")[0]), g)):
        for codec in CODECS:
            for preset in PRESETS:
                found = [(c, cells[c.name, codec, preset]) for c in clips if c.group == group and (c.name, codec, preset) in cells]
                if not found:
                    continue
                beside = [(cell, base(cells, c)) for c, cell in found if base(cells, c)]
                lines.append(
                    f"| {group} | {codec} | {preset} | "
                    f"{statistics.fmean(x['vmaf'] for _, x in found):.1f} | {statistics.fmean(x['low'] for _, x in found):.1f} | "
                    f"{statistics.fmean(x['ssim'] for _, x in found):.4f} | "
                    f"{over([x['size'] / c.bytes for c, x in found])} | "
                    f"{over([x['size'] / b['size'] for x, b in beside])} | {over([x['seconds'] / b['seconds'] for x, b in beside])} |"
                )
    return lines


def each(clips, cells, columns):
    lines = [
        "| recording | in it | " + " | ".join(f"{codec} {preset}" for codec, preset in columns) + " |",
        "| --- | --- |" + " ---: |" * len(columns),
    ]
    for clip in clips:
        rate = f"{clip.bytes / clip.pictures / 1000:.1f} kB a picture"
        row = [f"{clip.short} lines{', HDR' if clip.wide else ''}, {clip.pictures} pictures, {rate}"]
        for codec, preset in columns:
            cell = cells.get((clip.name, codec, preset))
            row.append(f"{cell['vmaf']:.1f}, {cell['size'] / clip.bytes:.2f}" if cell else "–")
        lines.append(f"| `{clip.name}` | " + " | ".join(row) + " |")
    return lines


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; --help has more\n")


def arguments():
    parser = Parser(prog="scripts/measure-presets", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", metavar="RECORDING", type=Path, nargs="*", help="a file with a picture")
    parser.add_argument("--program", metavar="FILE", type=Path, help="the ingest to measure (default: the release build)")
    parser.add_argument("--ffmpeg", metavar="FILE", type=Path, help="an ffmpeg with libvmaf and libx264 (default: a fetched one)")
    parser.add_argument("--seconds", metavar="N", type=float, default=20, help="how much of each recording (default: 20)")
    parser.add_argument("--made", action="store_true", help="recordings that are made for it as well: four, up to 60 s long")
    parser.add_argument("--codec", action="append", choices=CODECS, help="this one only; may be given several times")
    parser.add_argument("--preset", action="append", choices=PRESETS, help="this one only; may be given several times")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="work in DIR and leave it; what is measured there is not again")
    options = parser.parse_args()
    if not options.recordings and not options.made:
        parser.error("name a recording, or say --made")
    if not 0 < options.seconds <= 86400:
        parser.error("--seconds wants a number above 0, up to 86400")
    for path in options.recordings:
        if not path.is_file():
            parser.error(f"{path} is not a file")
    names = [path.name for path in options.recordings]
    if len(set(names)) < len(names):
        parser.error("two recordings have the same name, and the table tells them apart by it")
    if not options.program or not os.access(options.program, os.X_OK):
        parser.error(f"{options.program or '--program'} is not a program")
    return options


def find_ffmpeg(given):
    if given is None:
        try:
            import imageio_ffmpeg
        except ImportError:
            raise Trouble("there is no ffmpeg with VMAF; start it by scripts/measure-presets, or give --ffmpeg") from None
        given = Path(imageio_ffmpeg.get_ffmpeg_exe())
    try:
        filters = run([given, "-hide_banner", "-filters"]).stdout.decode(errors="replace")
    except OSError as odd:
        raise Trouble(f"{given} is not a program: {odd.strerror}") from None
    if " libvmaf " not in filters:
        raise Trouble(f"{given} cannot measure VMAF")
    return given.absolute()


def work(options, directory):
    options.ffmpeg, options.program = find_ffmpeg(options.ffmpeg), options.program.absolute()
    sources = [(path.name, path.absolute(), options.seconds) for path in options.recordings]
    if options.made:
        sources += [(name, made(name, options.ffmpeg, directory), 3600) for name in MADE]
    columns = [(c, p) for c in CODECS for p in PRESETS if c in (options.codec or CODECS) and p in (options.preset or PRESETS)]
    clips, cells = [], {}
    for name, path, seconds in sources:
        began = time.monotonic()
        try:
            clip = Clip(name, path, seconds, options.ffmpeg, directory)
            for codec, preset in columns:
                # Eight bits are all that H.264 has here, so it is never chosen for more.
                if clip.bits == 8 or codec != "h264":
                    cells[name, codec, preset] = measure(options, clip, codec, preset, directory)
            clips.append(clip)
        except Trouble as trouble:
            print(f"  left out: {trouble}", file=sys.stderr)
        else:
            print(f"  {name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    if not clips:
        raise Trouble("nothing could be measured")
    print("\n".join([*summary(clips, cells), "", "Each, as VMAF and size beside the recording:", "", *each(clips, cells, columns)]))


def main():
    options = arguments()
    try:
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            return work(options, options.keep.absolute())
        with tempfile.TemporaryDirectory(prefix="presets-") as directory:
            work(options, Path(directory))
    except Trouble as trouble:
        sys.exit(f"scripts/measure-presets: {trouble}")
    except KeyboardInterrupt:
        sys.exit(130)


main()
