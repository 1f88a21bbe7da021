"""What becomes of the properties of a recording: ingest beside ffmpeg and HandBrake, as a table in docs/keeping.md.

Each cell is one check of one property on one file, judged by programs that are not ours (see keeping_checks.py), on
recordings made for it (see keeping_recordings.py) and, with --media, on real ones.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import keeping_checks as c
from keeping_recordings import MAKERS, MATRICES
from keeping_spoils import prove

LIMIT = 90  # seconds for one program on one recording
OLD = 1_600_000_000  # when the recordings were last changed

# A row: what must hold, on which file, by which check; `loss` is how ingest names it when it is not kept.
Row = namedtuple("Row", "title file check loss", defaults=("",))
Made = namedtuple("Made", "film failed losses as_it_is")


def keeps(tag):
    return Row(f"a track of the kind {tag}, byte for byte", f"{tag}.mp4", c.data_kept(tag), f"{tag}|bin_data")


def survives(tag):
    return Row(f"picture and sound beside a track of the kind {tag}", f"{tag}.mp4", c.whole)


def real(title, file, check, loss=""):
    return Row(title, file, check, loss)


SECTIONS = {
    "Streams": [
        Row("every sound track, in order", "tracks.mov", c.sound_tracks, "audio"),
        Row("languages of the sound tracks", "tracks.mov", c.sound_languages, "language"),
        Row("every sound track, in order", "tracks.mkv", c.sound_tracks, "audio"),
        Row("titles of the sound tracks", "tracks.mkv", c.sound_titles, "title"),
        Row("default track and commentary", "tracks.mkv", c.sound_dispositions, "disposition|commentary"),
        Row("subtitles (mov_text): text and times", "tracks.mov", c.subtitle_lines, "subtitle"),
        Row("subtitles (SubRip): text and times", "tracks.mkv", c.subtitle_lines, "subtitle"),
        Row("subtitles (ASS): text and times", "styled.mkv", c.subtitle_lines, "subtitle"),
        Row("subtitles: language and title", "tracks.mkv", c.subtitle_names, "subtitle"),
        Row("subtitles: forced", "tracks.mkv", c.subtitle_forced, "subtitle"),
        Row("chapters: times and titles", "tracks.mov", c.chapter_marks, "chapter"),
        Row("chapters: times and titles", "tracks.mkv", c.chapter_marks, "chapter"),
        Row("attached picture", "cover.mp4", c.cover_picture, "picture"),
        Row("attached picture", "tracks.mkv", c.cover_picture, "picture|attach"),
        Row("attached pictures of sound", "two-covers.m4a", c.every_cover, "picture"),
        Row("every video track", "two-pictures.mp4", c.all_video_tracks, "video"),
        Row("HEVC under the name that every player knows (hvc1)", "hevc.mkv", c.known_name),
        Row("title of the picture's track", "hevc.mkv", c.picture_title, "title"),
        Row("timecode, 29.97 with drop frames", "tracks.mov", c.timecode, "timecode|tmcd"),
        Row("timecode, 25", "timecode.mov", c.timecode, "timecode|tmcd"),
        *(make(tag) for tag in ("gpmd", "djmd", "rtmd", "mebx") for make in (survives, keeps)),
        Row("picture and sound beside a sound track that nobody knows (apac)", "apac.mp4", c.whole),
        Row("a sound track that nobody knows (apac), byte for byte", "apac.mp4", c.data_kept("apac"), "apac|audio"),
        real("a track of the kind gpmd", "gopro-hero5-karma-gpmd-tmcd-fdsc.mp4", c.data_kept("gpmd"), "bin_data|gpmd"),
        real("timecode", "gopro-hero5-karma-gpmd-tmcd-fdsc.mp4", c.timecode, "timecode|tmcd"),
        real("picture beside subtitles that are pictures", "sony-a7iii-avchd-1080i-ac3-pgs.mts", c.pictures_only, "first"),
        real("picture and sound, metadata track first", "pixel-hevc-rot90-metadata-track-first.mp4", c.pictures_only),
    ],
    "Time stamps": [
        Row("irregular pictures: none doubled or dropped, each at its time", "irregular.mkv", c.frames_and_pictures),
        Row("pictures in Matroska, with B frames", "b-frames.mkv", c.frames_and_pictures),
        Row("ticks of 1/90000 s", "jitter.mov", c.frames_and_pictures),
        Row("120 pictures a second", "fast.mp4", c.frames_and_pictures),
        Row("sound that begins later stays there, within 1 ms", "late-sound.mp4", c.starts_where_it_did),
        Row("picture that begins later stays there, within 1 ms", "late-picture.mp4", c.starts_where_it_did),
        Row("priming is hidden: sound where it was", "ac3.mp4", c.starts_where_it_did),
        Row("priming and padding are not heard: as long as it was", "ac3.mp4", c.sound_length),
        Row("an edit list that hides the beginning is honoured", "edit-list.mp4", c.edit_list),
        Row("an edit list that hides the end is honoured", "edit-end.mp4", c.edit_list),
        real("irregular pictures", "android-2014-qvga-odd-frame-rate.mp4", c.frames_and_pictures),
    ],
    "Orientation": [
        *(Row(f"shown as it was: {turn}", f"{turn}.mov", c.orientation(turn)) for turn in MATRICES),
        real("shown as it was", "iphone6s-h264-rot90-mebx-gps.mov", c.same_pictures),
    ],
    "Colour": [
        Row("range, primaries, transfer, matrix", "full-range.mp4", c.COLOUR_TAGS),
        Row("brightness of full range", "full-range.mp4", c.shown_colours),
        Row("range, primaries, transfer, matrix", "bt601.mp4", c.COLOUR_TAGS),
        Row("untagged stays untagged", "untagged.mp4", c.COLOUR_TAGS),
        Row("colours as they are shown", "untagged.mp4", c.shown_colours),
        Row("chroma location", "chroma.mp4", c.video_says("chroma_location")),
        Row("10 bits", "hdr10.mp4", c.depth),
        Row("range, primaries, transfer, matrix of HDR10", "hdr10.mp4", c.COLOUR_TAGS),
        Row("mastering display and content light level", "hdr10.mp4", c.light, "mastering|light level"),
        Row("10 bits", "hlg.mp4", c.depth),
        Row("range, primaries, transfer, matrix of HLG", "hlg.mp4", c.COLOUR_TAGS),
        Row("shape of pictures that are not square", "anamorphic.mp4", c.displayed_shape),
        Row("interlaced pictures: no combs, or still called interlaced", "interlaced.mp4", c.deinterlaced),
    ],
    "Metadata": [
        Row("creation time", "phone.mov", c.creation_time, "creation"),
        Row("creation time with its zone", "phone.mov", c.zoned_date, "creationdate"),
        Row("place, as a key", "phone.mov", c.place_key, "location"),
        Row("content identifier (Live Photo)", "phone.mov", c.content_identifier, "content.identifier"),
        Row("make and model, as keys", "phone.mov", c.make_and_model, "make"),
        Row("every key", "phone.mov", c.apple_keys, "apple.quicktime"),
        Row("creation times of the tracks", "phone.mov", c.track_times, "creation"),
        Row("handler names of the tracks", "phone.mov", c.handler_names, "handler"),
        Row("creation time", "camera.mov", c.creation_time, "creation"),
        Row("place, as user data (©xyz)", "camera.mov", c.place_user_data, "location"),
        Row("make and model, as user data", "camera.mov", c.make_and_model, "make"),
        Row("title, where players look for it (ilst)", "camera.mov", c.title, "title"),
        Row("no brands and no program of the old file", "camera.mov", c.no_old_brands),
        Row("no brands and no program of the old file", "phone.mov", c.no_old_brands),
        Row("place, as loci", "camera.mp4", c.place_user_data, "location"),
        Row("title, where players look for it (ilst)", "camera.mp4", c.title, "title"),
        Row("artist, where players look for it (ilst)", "camera.mp4", c.artist, "artist"),
        Row("modification time of the file", "camera.mp4", c.modification_time, "modif"),
        real("creation time", "iphone6s-h264-rot90-mebx-gps.mov", c.creation_time, "creation"),
        real("place", "iphone6s-h264-rot90-mebx-gps.mov", c.place_user_data, "location"),
        real("make and model", "iphone6s-h264-rot90-mebx-gps.mov", c.make_and_model, "make"),
        real("content identifier", "apple-livephoto-paired-mebx-video-only.mov", c.live_photo, "content.identifier"),
    ],
    "Unusual input": [
        Row("picture only", "picture-only.mp4", c.whole),
        Row("sound only", "sound-only.m4a", c.whole),
        Row("one picture", "one-picture.mp4", c.whole),
        Row("odd sides", "odd-sides.mkv", c.padded),
        Row("a picture with transparency", "alpha.mov", c.whole),
        Row("transparency", "alpha.mov", c.pixel_kind, "transparency"),
        Row("4:2:2: the picture", "yuv422p.mp4", c.whole),
        Row("4:2:2: full resolution of colour", "yuv422p.mp4", c.pixel_kind, "colour"),
        Row("4:4:4: the picture", "yuv444p.mp4", c.whole),
        Row("4:4:4: full resolution of colour", "yuv444p.mp4", c.pixel_kind, "colour"),
        Row("RGB: the picture", "rgb.mp4", c.whole),
        Row("RGB: colours as they are shown", "rgb.mp4", c.shown_colours),
        Row("a change of size in the middle", "two-sizes.ts", c.whole),
        Row("a track that begins late", "very-late-sound.mkv", c.whole),
        Row("no duration in the header", "live.webm", c.whole),
        Row("a hole of two minutes", "gap.mkv", c.whole),
        Row("negative start", "negative.asf", c.whole),
        Row("a time stamp that comes twice", "twice.flv", c.nothing_doubled),
        Row("no presentation times", "no-times.avi", c.in_step),
        Row("thirty tracks", "thirty.mp4", c.thirty),
        Row("a wrong extension", "wrong-name.mkv", c.whole),
        real("ProRes with transparency, of an editor", "prores4444-alpha-timecode-fcp.mov", c.pictures_only),
        real("negative start and chapters", "mkv-chapters-negative-start-yuv444.mkv", c.whole),
    ],
}


# The programs


def start(words, environment=None):
    words = [str(word) for word in words]
    try:
        return subprocess.run(words, capture_output=True, timeout=LIMIT, env=environment, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(words, 124, late.stdout or b"", f"not done after {LIMIT} s".encode())


def ingest(program, option):
    def convert(source, directory):
        environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8"}
        start([program, option, "--", source], environment)
        shown = start([program, "show", "1", "--json"], environment)
        item = json.loads(shown.stdout or b"{}")
        losses = [f"{loss['what']}: {loss['reason']}" for loss in item.get("losses", [])]
        if item.get("state") != "done":
            return Made(None, item.get("reason") or "not put on the list", losses, False)
        store = directory / ".local/share/ingest/received"
        made = next(p for p in store.iterdir() if not p.name.startswith("."))
        return Made(c.Film(made), "", losses, c.byte_for_byte(source, made))

    return convert


def other(*words):
    """A program that writes a file; {in} and {out} stand for the two."""

    def convert(source, directory):
        made = directory / "made.mp4"
        names = {"{in}": source, "{out}": made}
        said = start([names.get(word, word) for word in words])
        film = c.Film(made)
        if said.returncode != 0 or not made.exists() or not film.streams:
            return Made(None, reason(said.stderr.decode(errors="replace")), [], False)
        return Made(film, "", [], False)

    return convert


CAUSES = (
    "Could not find tag", "not found for input", "not currently supported", "not supported", "not done after", "No title found",
    "Error", "Invalid",
)  # fmt: skip


def reason(said):
    """One line of what a program said, the one that names the cause."""
    lines = [re.sub(r"^\[[^]]*\] *|0x[0-9a-f]+", "", line).strip() for line in said.splitlines()]
    lines = [line for line in lines if line and "/" not in line]
    for pattern in CAUSES:
        for line in lines:
            if pattern in line:
                return textwrap.shorten(line.split(" -- ")[-1].split("(muxing")[0].rstrip(". "), 110, placeholder=" …")
    return "no file"


FFMPEG = ("ffmpeg", "-hide_banner", "-nostdin", "-y", "-i", "{in}")
CHOSEN = "-map 0 -map -0:d -map_metadata 0 -ignore_unknown -c copy -c:s mov_text -movflags use_metadata_tags".split()
HANDBRAKE = ("HandBrakeCLI", "-i", "{in}", "-o", "{out}", "--format", "av_mp4", "--preset", "Fast 1080p30")


def columns(program):
    return {
        "ingest --compress": ingest(program, "--compress"),
        "ingest --remux": ingest(program, "--remux"),
        "ffmpeg": other(*FFMPEG, "{out}"),
        "ffmpeg, all, copied": other(*FFMPEG, "-map", "0", "-map_metadata", "0", "-c", "copy", "{out}"),
        "ffmpeg, all, encoded": other(*FFMPEG, "-map", "0", "-map_metadata", "0", "{out}"),
        "ffmpeg, chosen": other(*FFMPEG, *CHOSEN, "{out}"),
        "HandBrake": other(*HANDBRAKE),
        "HandBrake, all": other(*HANDBRAKE, "--all-audio", "--all-subtitles", "--markers"),
    }


# The table


def judge(row, source, made, column):
    if made.film is None:
        return c.Verdict("fails", made.failed)
    try:
        verdict = row.check(source, made.film)
    except Exception as odd:  # a file that a check cannot read at all has not kept anything
        verdict = c.no(f"cannot be judged: {type(odd).__name__} {odd}")
    notes = [verdict.note]
    if made.as_it_is:
        notes.append("uploaded as it is: no smaller compressed")
    elif column.startswith("ingest") and verdict.word != "yes" and row.loss:
        named = any(re.search(row.loss, loss, re.IGNORECASE) for loss in made.losses)
        notes.append("named as not kept" if named else "not named")
    return c.Verdict(verdict.word, "; ".join(note for note in notes if note))


def work(file, path, rows, programs, directory):
    """All columns of all rows that look at one recording: {(row, column): verdict}."""
    source, verdicts, began = c.Film(path), {}, time.monotonic()
    for number, (column, convert) in enumerate(programs.items()):
        place = directory / f"{path.name}.{number}"
        place.mkdir()
        made = convert(path, place)
        for row in rows:
            verdicts[row, column] = judge(row, source, made, column)
    print(f"  {file}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return verdicts


def make(name, directory):
    maker = MAKERS[name][1]
    if (directory / name).exists():
        return directory / name
    steps = directory / f"{name}.steps"
    steps.mkdir()
    maker(directory / name, steps)
    shutil.rmtree(steps)
    os.utime(directory / name, (OLD, OLD))
    return directory / name


def find(name, media, directory):
    """The recording of that name, made or real; None if there is none."""
    if name in MAKERS:
        return make(name, directory)
    if media is None or not (media / name).is_file():
        return None
    shutil.copyfile(media / name, directory / name)
    os.utime(directory / name, (OLD, OLD))
    return directory / name


class Notes:
    """Footnotes, each text once."""

    def __init__(self):
        self.numbers = {}

    def mark(self, text):
        if not text:
            return ""
        return f" [{self.numbers.setdefault(text, len(self.numbers) + 1)}]"

    def lines(self):
        return [f"{number}. {text}" for text, number in self.numbers.items()]


def safe(text):
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def table(rows, names, verdicts, notes):
    lines = ["| property | recording | " + " | ".join(names) + " |", "| --- | --- |" + " --- |" * len(names)]
    for row in rows:
        cells = []
        for name in names:
            verdict = verdicts[row, name]
            word = "**fails**" if verdict.word == "fails" else verdict.word
            cells.append(word + notes.mark(safe(verdict.note)))
        lines.append(f"| {row.title} | `{row.file}` | " + " | ".join(cells) + " |")
    return lines


def versions(program):
    words = {
        "ingest": [program, "--version"], "ffmpeg": ["ffmpeg", "-version"], "HandBrake": ["HandBrakeCLI", "--version"],
        "exiftool": ["exiftool", "-ver"], "mediainfo": ["mediainfo", "--version"],
    }  # fmt: skip
    found = {}
    for name, command in words.items():
        said = start(command)
        match = re.search(r"\d+(\.\d+)+", said.stdout.decode(errors="replace"))
        found[name] = match[0] if match else "?"
    return found


HEAD = """# What is kept of a recording

{count} checks, each of one property on one recording, made by `scripts/compare-keeping`:
ingest {ingest}, ffmpeg {ffmpeg}, HandBrake {HandBrake}. Judged by ffprobe, exiftool {exiftool}, mediainfo {mediainfo}
and decoded pictures and sound, never by ingest's own words; `scripts/compare-keeping --prove` shows that the checks can fail.

| column | what was run |
| --- | --- |
| ingest --compress | `ingest --compress IN`, the file that the receiver got |
| ingest --remux | `ingest --remux IN`, likewise |
| ffmpeg | `ffmpeg -i IN out.mp4` |
| ffmpeg, all, copied | `ffmpeg -i IN -map 0 -map_metadata 0 -c copy out.mp4` |
| ffmpeg, all, encoded | `ffmpeg -i IN -map 0 -map_metadata 0 out.mp4` |
| ffmpeg, chosen | `ffmpeg -i IN {chosen} out.mp4` |
| HandBrake | `HandBrakeCLI --format av_mp4 --preset "Fast 1080p30"` |
| HandBrake, all | the same with `--all-audio --all-subtitles --markers` |

*yes*: as in the recording. *changed*: there, but otherwise. *no*: not there, or wrong. *fails*: no file was made.
Remuxing and copying encode nothing, so that what concerns encoding is easy for them. Where ingest has not kept something,
a note says whether ingest itself named it.
"""

TAIL = """
## The recordings

Made by `scripts/keeping_recordings.py`, 320×180 where nothing else is said, with grain; those not in this list are real ones.

| recording | in it |
| --- | --- |
"""


def counts(every, names, verdicts):
    lines = ["| | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for word in ("yes", "changed", "no", "fails"):
        numbers = [str(sum(verdicts[row, name].word == word for row in every)) for name in names]
        lines.append(f"| {word} | " + " | ".join(numbers) + " |")
    return lines


def document(sections, names, verdicts, program):
    notes = Notes()
    every = [row for rows in sections.values() for row in rows]
    head = HEAD.format(count=len(every), chosen=" ".join(CHOSEN), **versions(program))
    lines = counts(every, names, verdicts)
    for title, rows in sections.items():
        if rows:
            lines += ["", f"## {title}", "", *table(rows, names, verdicts, notes)]
    lines += ["", "## Notes", "", *notes.lines()]
    made = [name for name in dict.fromkeys(row.file for row in every) if name in MAKERS]
    recipes = [f"| `{name}` | {safe(MAKERS[name][0])} |" for name in made]
    return head + "\n" + "\n".join(lines) + "\n" + TAIL + "\n".join(recipes) + "\n"


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/compare-keeping", description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="the ingest to look at (default: the release build)")
    parser.add_argument("--media", type=Path, help="a directory with real recordings (default: $INGEST_MEDIA, else none)")
    parser.add_argument("--output", type=Path, required=True, help="the document (default: docs/keeping.md)")
    parser.add_argument("--only", metavar="PATTERN", default="", help="only rows whose property or recording fits")
    parser.add_argument("--leave", metavar="DIR", type=Path, help="work in DIR, which must not exist, and leave everything there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="recordings at once (default: one for each processor)")
    parser.add_argument("--prove", action="store_true", help="make no table; show that the checks can fail")
    return parser.parse_args()


def compare(options, directory):
    if options.prove:
        raise SystemExit(prove([row for rows in SECTIONS.values() for row in rows], make, directory))
    media = options.media or (Path(os.environ["INGEST_MEDIA"]) if os.environ.get("INGEST_MEDIA") else None)
    program = options.program.resolve()
    sections = {
        title: [row for row in rows if re.search(options.only, f"{row.title} {row.file}")] for title, rows in SECTIONS.items()
    }
    files = list(dict.fromkeys(row.file for rows in sections.values() for row in rows))
    with ThreadPoolExecutor(options.jobs) as pool:
        paths = dict(zip(files, pool.map(lambda name: find(name, media, directory), files)))
        absent = [name for name, path in paths.items() if path is None]
        if absent:
            print(f"left out, not there: {' '.join(absent)}", file=sys.stderr)
        sections = {title: [row for row in rows if paths[row.file]] for title, rows in sections.items()}
        programs = columns(program)
        tasks = [
            pool.submit(work, name, path, [r for rows in sections.values() for r in rows if r.file == name], programs, directory)
            for name, path in paths.items()
            if path
        ]
        verdicts = {}
        for task in tasks:
            verdicts.update(task.result())
    options.output.write_text(document(sections, list(programs), verdicts, program))
    print(f"{options.output} is written", file=sys.stderr)


def main():
    options = arguments()
    if options.leave:
        options.leave.mkdir(parents=True)
        compare(options, options.leave.resolve())
        return
    with tempfile.TemporaryDirectory(prefix="keeping-") as directory:
        compare(options, Path(directory))


main()
