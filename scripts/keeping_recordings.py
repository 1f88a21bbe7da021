"""The recordings that scripts/compare-keeping looks at: made by ffmpeg from what it generates, some changed in a few bytes
afterwards. Each maker gets the path to write and a directory for steps in between."""

import re
import struct
import subprocess
from pathlib import Path

MAKERS = {}  # name of the file: (what is in it, maker)
RATE = 48000
OLD_PROGRAM = b"Recorder"
CONTENT_IDENTIFIER = "0A1B2C3D-1111-2222-3333-444455556666"


def recording(name, words):
    def keep(maker):
        MAKERS[name] = (words, maker)
        return maker

    return keep


def ffmpeg(*words):
    command = ["ffmpeg", "-hide_banner", "-nostdin", "-y", "-loglevel", "error", *map(str, words)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if said.returncode != 0:
        raise SystemExit(f"a recording could not be made: {' '.join(command)}\n{said.stderr}")


# Grain makes the files larger than any encoder would, so that everybody has something to do.
def picture(size="320x180", rate=30, seconds=1.0, then=""):
    return ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}:duration={seconds}{then},noise=alls=10:allf=t:all_seed=7"]


# Noise is like nothing but itself: a piece of it is found again in a copy, to the sample.
def sound(seed=1, seconds=1.0, rate=RATE):
    source = f"anoisesrc=duration={seconds}:color=pink:sample_rate={rate}:amplitude=0.6:seed={seed},lowpass=f=3000"
    return ["-f", "lavfi", "-i", source]


H264 = ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "8", "-bf", "2", "-g", "15", "-pix_fmt", "yuv420p"]
AAC = ["-c:a", "aac", "-b:a", "128k"]


def metadata_file(path, tags, chapters=()):
    lines = [";FFMETADATA1", *(f"{key}={value}" for key, value in tags.items())]
    for start, end, title in chapters:
        lines += ["[CHAPTER]", "TIMEBASE=1/1000", f"START={start}", f"END={end}", f"title={title}"]
    path.write_text("\n".join(lines) + "\n")
    return path


def subtitle_file(path):
    path.write_text("1\n00:00:00,200 --> 00:00:00,700\nfirst line\n\n2\n00:00:00,800 --> 00:00:01,300\nsecond line\n")
    return path


def replace(path, old, new, count=-1):
    data = path.read_bytes()
    if old not in data or len(old) != len(new):
        raise SystemExit(f"{path.name}: {old!r} cannot be replaced")
    path.write_bytes(data.replace(old, new, count))


# Streams

CHAPTERS = [(0, 1700, "One"), (1700, 4000, "Two: the end")]


@recording("tracks.mov", "H.264 at 29.97, two AAC tracks (eng, fra), mov_text (ita), two chapters, timecode 00:00:59;28")
def _(path, work):
    chapters = metadata_file(work / "chapters.txt", {}, CHAPTERS)
    ffmpeg(
        *picture(rate="30000/1001", seconds=4), *sound(1, 4), *sound(2, 4), "-i", subtitle_file(work / "words.srt"),
        "-i", chapters, "-map", 0, "-map", 1, "-map", 2, "-map", 3, "-map_chapters", 4, *H264, *AAC, "-c:s", "mov_text",
        "-timecode", "00:00:59;28", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=fra",
        "-metadata:s:s:0", "language=ita", path,
    )  # fmt: skip


@recording("tracks.mkv", "H.264, two titled AAC tracks (the second: default, commentary), SubRip, two chapters, a cover")
def _(path, work):
    chapters = metadata_file(work / "chapters.txt", {}, CHAPTERS)
    ffmpeg("-f", "lavfi", "-i", "testsrc=size=64x48:duration=1", "-frames:v", 1, work / "cover.png")
    ffmpeg(
        *picture(seconds=4), *sound(1, 4), *sound(2, 4), "-i", subtitle_file(work / "words.srt"), "-i", chapters,
        "-map", 0, "-map", 1, "-map", 2, "-map", 3, "-map_chapters", 4, *H264, *AAC, "-c:s", "srt",
        "-metadata:s:a:0", "language=eng", "-metadata:s:a:0", "title=Hall", "-disposition:a:0", 0,
        "-metadata:s:a:1", "language=fra", "-metadata:s:a:1", "title=Remarks", "-disposition:a:1", "default+comment",
        "-metadata:s:s:0", "language=ita", "-metadata:s:s:0", "title=Captions", "-disposition:s:0", "forced",
        "-attach", work / "cover.png", "-metadata:s:t", "mimetype=image/png", "-metadata:s:t", "filename=cover.png", path,
    )  # fmt: skip


@recording("styled.mkv", "H.264 and a track of ASS subtitles")
def _(path, work):
    ffmpeg(*picture(seconds=2), "-i", subtitle_file(work / "words.srt"), *H264, "-c:s", "ass", path)


@recording("cover.mp4", "H.264, AAC and an attached picture (PNG) in the container's own place for covers")
def _(path, work):
    ffmpeg("-f", "lavfi", "-i", "testsrc=size=64x48:duration=1", "-frames:v", 1, work / "cover.png")
    ffmpeg(
        *picture(), *sound(), "-i", work / "cover.png", "-map", 0, "-map", 1, "-map", 2, *H264, *AAC, "-c:v:1", "copy",
        "-disposition:v:1", "attached_pic", path,
    )  # fmt: skip


@recording("two-covers.m4a", "AAC at 256 kbit/s and two attached pictures (PNG)")
def _(path, work):
    for name, source in (("a.png", "testsrc"), ("b.png", "testsrc2")):
        ffmpeg("-f", "lavfi", "-i", f"{source}=size=64x48:duration=1", "-frames:v", 1, work / name)
    ffmpeg(
        *sound(1, 2), "-i", work / "a.png", "-i", work / "b.png", "-map", 0, "-map", 1, "-map", 2, "-c:a", "aac", "-b:a", "256k",
        "-c:v", "copy", "-disposition:v", "attached_pic", "-f", "mp4", path,
    )  # fmt: skip


@recording("two-pictures.mp4", "two H.264 tracks of different size")
def _(path, work):
    ffmpeg(*picture(), *picture("240x136"), "-map", 0, "-map", 1, *H264, path)


@recording("timecode.mov", "H.264 at 25, a timecode track that begins at 10:00:00:12, no drop frames")
def _(path, work):
    ffmpeg(*picture(rate=25), *H264, "-timecode", "10:00:00:12", path)


def telemetry(path, work, tag):
    """A track of timed text becomes one of data: other four letters for its kind and its handler."""
    ffmpeg(
        *picture(seconds=2), *sound(1, 2), "-i", subtitle_file(work / "words.srt"), "-map", 0, "-map", 1, "-map", 2, *H264, *AAC,
        "-c:s", "mov_text", path,
    )  # fmt: skip
    replace(path, b"tx3g", tag)
    replace(path, b"sbtl", b"meta")


for kind in ("gpmd", "djmd", "rtmd", "mebx"):

    @recording(f"{kind}.mp4", f"H.264, AAC and a data track of the kind {kind}")
    def _(path, work, tag=kind.encode()):
        telemetry(path, work, tag)


@recording("apac.mp4", "H.264, AAC, and a second sound track whose codec (apac) nobody knows")
def _(path, work):
    ffmpeg(*picture(), *sound(1), *sound(2), "-map", 0, "-map", 1, "-map", 2, *H264, *AAC, path)
    data = path.read_bytes()
    for old, new in ((b"mp4a", b"apac"), (b"esds", b"dapa")):
        last = data.rfind(old)
        data = data[:last] + new + data[last + 4 :]
    path.write_bytes(data)


# Time stamps

IRREGULAR = (0, 7, 40, 73, 106, 140, 500, 517, 533, 1200, 1233, 1999)


@recording("irregular.mkv", "twelve pictures at 0, 7, 40, 73, 106, 140, 500, 517, 533, 1200, 1233, 1999 ms; AAC")
def _(path, work):
    chosen = "+".join(f"eq(n,{n})" for n in IRREGULAR)
    ffmpeg(
        *picture(rate=1000, seconds=2, then=f",select='{chosen}'"), *sound(1, 2), "-vsync", "passthrough",
        "-enc_time_base", "1/1000", *H264, *AAC, path,
    )  # fmt: skip


@recording("b-frames.mkv", "H.264 with B frames, 30 pictures a second, in Matroska, which holds no decoding times")
def _(path, work):
    ffmpeg(*picture(), *H264, path)


@recording("hevc.mkv", "HEVC in Matroska, which knows nothing of the two names that HEVC has in mp4; the picture is called “Stage”")
def _(path, work):
    words = ["-c:v", "libx265", "-preset", "ultrafast", "-crf", 8, "-x265-params", "log-level=none", "-pix_fmt", "yuv420p"]
    ffmpeg(*picture(), *words, "-metadata:s:v", "title=Stage", path)


@recording("jitter.mov", "30 pictures a second, each up to 5 ms off, in ticks of 1/90000 s, with B frames")
def _(path, work):
    ffmpeg(
        *picture(then=",settb=1/90000,setpts='N*3000+mod(N*7919,450)'"), "-vsync", "passthrough", "-enc_time_base", "1/90000",
        *H264, "-video_track_timescale", 90000, path,
    )  # fmt: skip


@recording("fast.mp4", "120 pictures a second")
def _(path, work):
    ffmpeg(*picture(rate=120, seconds=0.5), *H264, path)


@recording("late-sound.mp4", "the sound begins 0.478 s after the picture")
def _(path, work):
    ffmpeg(*picture(seconds=2), "-itsoffset", 0.478, *sound(1, 1.5), "-map", 0, "-map", 1, *H264, *AAC, path)


@recording("late-picture.mp4", "the picture begins 0.4 s after the sound")
def _(path, work):
    ffmpeg(*sound(1, 2), "-itsoffset", 0.4, *picture(seconds=1.5), "-map", 1, "-map", 0, *H264, *AAC, path)


@recording("ac3.mp4", "H.264 and AC-3 at 192 kbit/s, so that the sound is encoded anew where it is encoded")
def _(path, work):
    ffmpeg(*picture(), *sound(), *H264, "-c:a", "ac3", "-b:a", "192k", path)


@recording("edit-list.mp4", "an edit list hides the first 0.3 s of picture and sound, up to a picture between key frames")
def _(path, work):
    ffmpeg(*picture(seconds=2), *sound(1, 2), *H264, "-bf", 0, "-g", 30, *AAC, work / "whole.mp4")
    ffmpeg("-ss", 0.3, "-i", work / "whole.mp4", "-c", "copy", path)


@recording("edit-end.mp4", "edit lists hide all of picture and sound beyond 1.5 s, as a phone does that has trimmed it")
def _(path, work):
    ffmpeg(*picture(seconds=2), *sound(1, 2), *H264, *AAC, path)
    data = bytearray(path.read_bytes())
    at = data.find(b"elst")
    while at >= 0:
        data[at + 12 : at + 16] = struct.pack(">I", 1500)
        at = data.find(b"elst", at + 4)
    path.write_bytes(data)


# Orientation: a, b, c, d of the matrix; a picture at (p, q) is shown at (a*p + c*q, b*p + d*q).

MATRICES = {
    "upright": (1, 0, 0, 1),
    "quarter": (0, 1, -1, 0),
    "half": (-1, 0, 0, -1),
    "three-quarters": (0, -1, 1, 0),
    "mirrored": (-1, 0, 0, 1),
    "mirrored-quarter": (0, 1, 1, 0),
    "mirrored-half": (1, 0, 0, -1),
    "mirrored-three-quarters": (0, -1, -1, 0),
}
FIELDS = "[0][1]hstack[a];[2][3]hstack[b];[a][b]vstack"
COLOURS = {(-1, -1): "red", (1, -1): "lime", (-1, 1): "blue", (1, 1): "yellow"}


def set_matrix(path, matrix, width, height):
    a, b, c, d = matrix
    left, top = min(0, a * width) + min(0, c * height), min(0, b * width) + min(0, d * height)
    one = 1 << 16
    values = (a * one, b * one, 0, c * one, d * one, 0, -left * one, -top * one, 1 << 30)
    data = bytearray(path.read_bytes())
    start = data.find(b"tkhd") + 44
    data[start : start + 36] = struct.pack(">9i", *values)
    path.write_bytes(data)


for turn, numbers in MATRICES.items():

    @recording(f"{turn}.mov", f"four fields in four colours and a display matrix of {numbers}")
    def _(path, work, matrix=numbers):
        fields = []
        for colour in COLOURS.values():
            fields += ["-f", "lavfi", "-i", f"color={colour}:size=160x90:rate=30:duration=0.5"]
        ffmpeg(*fields, "-lavfi", FIELDS + ",noise=alls=20:allf=t:all_seed=7", *H264, path)
        set_matrix(path, matrix, 320, 180)


# Colour


def tagged(colour_range, primaries, transfer, matrix):
    return [
        "-color_range", colour_range, "-color_primaries", primaries, "-color_trc", transfer, "-colorspace", matrix,
    ]  # fmt: skip


@recording("full-range.mp4", "H.264 in full range, bt709 in all three tags, as phones record")
def _(path, work):
    paler = ",format=rgb24,lutrgb=r='40+val*0.7':g='40+val*0.7':b='40+val*0.7'"
    full = ",scale=out_range=pc:out_color_matrix=bt709,format=yuvj420p"
    ffmpeg(*picture(then=paler + full), *H264[:-2], *tagged("pc", *["bt709"] * 3), path)


@recording("bt601.mp4", "H.264, limited range, smpte170m in all three tags")
def _(path, work):
    ffmpeg(*picture(), *H264, *tagged("tv", *["smpte170m"] * 3), path)


@recording("untagged.mp4", "H.264 that says nothing of its colours")
def _(path, work):
    ffmpeg(*picture(), *H264, path)


@recording("chroma.mp4", "H.264 with colour samples at the top left (chroma location topleft)")
def _(path, work):
    ffmpeg(*picture(), *H264, "-chroma_sample_location", "topleft", path)


DISPLAY = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)"


def ten_bits(path, transfer, more=""):
    parameters = f"log-level=none:repeat-headers=1:colorprim=bt2020:transfer={transfer}:colormatrix=bt2020nc:range=limited{more}"
    ffmpeg(
        *picture(seconds=0.6), "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-preset", "ultrafast", "-crf", 8, "-x265-params",
        parameters, "-tag:v", "hvc1", *tagged("tv", "bt2020", transfer, "bt2020nc"), path,
    )  # fmt: skip


@recording("hdr10.mp4", "HEVC of 10 bits, bt2020, PQ, with mastering display and content light level")
def _(path, work):
    ten_bits(path, "smpte2084", f":hdr10=1:master-display={DISPLAY}:max-cll=1000,400")


@recording("hlg.mp4", "HEVC of 10 bits, bt2020, HLG")
def _(path, work):
    ten_bits(path, "arib-std-b67")


@recording("anamorphic.mp4", "H.264 of 240x180 with a sample aspect ratio of 4:3")
def _(path, work):
    ffmpeg(*picture("240x180", then=",setsar=4/3"), *H264, path)


@recording("interlaced.mp4", "H.264, 30 interlaced pictures a second, top field first, much movement")
def _(path, work):
    moving = "testsrc2=size=320x180:rate=60:duration=1,scroll=h=0.03,tinterlace=interleave_top,fieldorder=tff"
    ffmpeg("-f", "lavfi", "-i", moving, *H264, "-crf", 1, "-flags", "+ilme+ildct", "-x264opts", "tff=1", path)


# Metadata

APPLE = {
    "com.apple.quicktime.creationdate": "2024-03-01T20:03:50+0100",
    "com.apple.quicktime.location.ISO6709": "+48.8577+002.2950+035.000/",
    "com.apple.quicktime.make": "Apple",
    "com.apple.quicktime.model": "iPhone 15 Pro",
    "com.apple.quicktime.software": "17.3",
    "com.apple.quicktime.content.identifier": CONTENT_IDENTIFIER,
    "com.android.capture.fps": "120.000000",
}


@recording("phone.mov", "H.264, AAC, creation time, and a phone's keys: make, model, software, date, place, content identifier, …")
def _(path, work):
    keys = metadata_file(work / "keys.txt", {"creation_time": "2024-03-01T19:03:50.000000Z", **APPLE})
    ffmpeg(
        *picture(), *sound(), "-i", keys, "-map", 0, "-map", 1, "-map_metadata", 2, *H264, *AAC,
        "-metadata:s:v", "handler_name=Lens One", "-metadata:s:a", "handler_name=Mic One", "-movflags", "use_metadata_tags", path,
    )  # fmt: skip


CAMERA = [
    "creation_time=2024-03-01T19:03:50Z", "location=+48.8577+002.2950/", "make=ACME", "model=Camera 1", "title=The Match",
    "artist=Jo",
]  # fmt: skip


def camera(path):
    tags = [word for tag in CAMERA for word in ("-metadata", tag)]
    ffmpeg(*picture(), *sound(), *H264, *AAC, *tags, path)


@recording("camera.mov", "H.264, AAC, and QuickTime's user data: place (©xyz), make, model, title; written by a “Recorder”")
def _(path, work):
    camera(path)
    data = path.read_bytes()
    path.write_bytes(re.sub(rb"Lavf[0-9.]+", lambda found: OLD_PROGRAM.ljust(len(found[0]))[: len(found[0])], data))


@recording("camera.mp4", "H.264, AAC, and the usual places of mp4: title and artist (ilst), place (loci)")
def _(path, work):
    camera(path)


# Unusual input


@recording("picture-only.mp4", "H.264, no sound")
def _(path, work):
    ffmpeg(*picture(), *H264, path)


@recording("sound-only.m4a", "AAC at 256 kbit/s, no picture")
def _(path, work):
    ffmpeg(*sound(1, 2), "-c:a", "aac", "-b:a", "256k", path)


@recording("one-picture.mp4", "one picture")
def _(path, work):
    ffmpeg(*picture(), *H264, "-frames:v", 1, path)


@recording("odd-sides.mkv", "FFV1 of 321x181")
def _(path, work):
    ffmpeg(*picture("322x182", then=",format=yuv444p,crop=321:181:0:0:exact=1,format=yuv420p"), "-c:v", "ffv1", path)


@recording("alpha.mov", "QuickTime Animation with transparency")
def _(path, work):
    ffmpeg(*picture(then=",format=argb,colorchannelmixer=aa=0.5"), "-c:v", "qtrle", path)


for pixels in ("yuv422p", "yuv444p"):

    @recording(f"{pixels}.mp4", f"H.264 in {pixels}")
    def _(path, work, pixels=pixels):
        ffmpeg(*picture(), *H264[:-1], pixels, path)


@recording("rgb.mp4", "H.264 in RGB (gbrp)")
def _(path, work):
    ffmpeg(*picture(), "-c:v", "libx264rgb", "-preset", "ultrafast", "-crf", 8, "-pix_fmt", "rgb24", path)


@recording("two-sizes.ts", "320x180 for 0.5 s, then 240x136, in one H.264 stream")
def _(path, work):
    for name, size in (("a.ts", "320x180"), ("b.ts", "240x136")):
        ffmpeg(*picture(size, seconds=0.5), *H264, "-bf", 0, work / name)
    (work / "list.txt").write_text("file a.ts\nfile b.ts\n")
    ffmpeg("-f", "concat", "-i", work / "list.txt", "-c", "copy", path)


@recording("very-late-sound.mkv", "sound that begins 4 s after the picture")
def _(path, work):
    ffmpeg(*picture(rate=10, seconds=6), "-itsoffset", 4, *sound(1, 1.5), "-map", 0, "-map", 1, *H264, *AAC, path)


@recording("live.webm", "VP9 and Opus as browsers record, without a duration, the sound 7 ms before zero")
def _(path, work):
    ffmpeg(
        *picture(), *sound(), "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", 8, "-crf", 5, "-b:v", 0,
        "-c:a", "libopus", "-live", 1, path,
    )  # fmt: skip


@recording("gap.mkv", "ten pictures a second, and a hole of two minutes in the middle")
def _(path, work):
    hole = ",settb=1/1000,setpts='N*100+gte(N,10)*120000'"
    ffmpeg(*picture(rate=10, seconds=2, then=hole), "-vsync", "passthrough", "-enc_time_base", "1/1000", *H264, path)


@recording("negative.asf", "H.264 and AAC; all time stamps begin at -0.5 s")
def _(path, work):
    ffmpeg(*picture(), *sound(), *H264, "-bf", 0, *AAC, path)
    data = bytearray(path.read_bytes())
    # The preroll of the file's properties is taken from every time stamp.
    properties = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
    at = data.find(properties) + 80
    preroll = int.from_bytes(data[at : at + 8], "little")
    data[at : at + 8] = (preroll + 500).to_bytes(8, "little")
    path.write_bytes(data)


@recording("twice.flv", "H.264 and AAC; the tenth picture has the time stamp of the ninth")
def _(path, work):
    ffmpeg(*picture(), *sound(), *H264, "-bf", 0, *AAC, path)
    data = bytearray(path.read_bytes())
    offset, found = 13, []
    while offset + 11 <= len(data):
        size = int.from_bytes(data[offset + 1 : offset + 4], "big")
        if data[offset] == 9 and data[offset + 12] == 1:
            found.append(offset)
        offset += 11 + size + 4
    data[found[9] + 4 : found[9] + 8] = data[found[8] + 4 : found[8] + 8]
    path.write_bytes(data)


@recording("no-times.avi", "H.264 with B frames in AVI, which holds no presentation times; MP3")
def _(path, work):
    ffmpeg(*picture(), *sound(), *H264, "-c:a", "libmp3lame", path)


@recording("thirty.mp4", "one picture and 29 sound tracks")
def _(path, work):
    maps = [word for number in range(1, 30) for word in ("-map", 1)]
    names = [word for number in range(29) for word in (f"-metadata:s:a:{number}", f"language={LANGUAGES[number]}")]
    ffmpeg(*picture(), *sound(), "-map", 0, *maps, *H264, "-c:a", "aac", "-b:a", "32k", *names, path)


LANGUAGES = """
aar abk afr aka amh ara arg asm ava ave aym aze bak bam bel ben bih bis bos bre bul cat ces cha che chu chv cor cos
""".split()


@recording("wrong-name.mkv", "an mp4 that is called .mkv")
def _(path, work):
    ffmpeg(*picture(), *sound(), *H264, *AAC, "-f", "mp4", path)
