"""Proves that the checks of scripts/compare-keeping can fail: each passes a recording held against itself, and not one in
which ffmpeg has spoiled just what the check is about."""

import sys

import keeping_checks as c
from keeping_recordings import ffmpeg

AGAIN = ["-i", "{in}"]
COPY = ["-map", "0:v:0", "-map", "0:a?", "-c", "copy"]
ENCODE = ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "10", "-pix_fmt", "yuv420p"]
TWO_MILLISECONDS_LATER = ["-itsoffset", "0.002", *AGAIN, "-map", "0:v:0", "-map", "1:a:0", "-c", "copy"]
ONE_LESS = ["-vf", "select='not(eq(n,9))'", "-vsync", "passthrough", "-enc_time_base", "-1", *ENCODE]
ONE_LATER = ["-vf", "setpts='PTS+eq(N,7)*0.003/TB'", "-vsync", "passthrough", "-enc_time_base", "-1", *ENCODE]
SLOWER = ["-vf", "settb=1/90000,setpts='N*3010'", "-vsync", "passthrough", "-enc_time_base", "1/90000", *ENCODE]
NO_TAGS = [*COPY, "-map_metadata", "-1"]
OTHER_TAGS = [
    "-c", "copy",
    "-bsf:v", "h264_metadata=colour_primaries=9:transfer_characteristics=14:matrix_coefficients=9:chroma_sample_loc_type=1",
]  # fmt: skip

# What is spoiled: recording, beginning of the row's title, words between "-i IN" and the output, its extension.
SPOILS = [
    ("tracks.mov", "every sound track", ["-map", "0:v:0", "-map", "0:a:1", "-map", "0:a:0", "-c", "copy"], "mov"),
    ("tracks.mov", "languages", [*COPY, "-metadata:s:a:1", "language=spa"], "mov"),
    ("tracks.mkv", "titles", [*COPY, "-metadata:s:a:1", "title=Other"], "mkv"),
    ("tracks.mkv", "default track", [*COPY, "-disposition:a:1", "default"], "mkv"),
    ("tracks.mkv", "subtitles (SubRip)", ["-itsoffset", "0.01", *AGAIN, "-map", "0:v:0", "-map", "1:s", "-c", "copy"], "mkv"),
    ("tracks.mkv", "subtitles: language", ["-map", "0:v:0", "-map", "0:s", "-c", "copy", "-metadata:s:s", "language=spa"], "mkv"),
    ("tracks.mkv", "subtitles: forced", ["-map", "0:v:0", "-map", "0:s", "-c", "copy", "-disposition:s", "0"], "mkv"),
    ("tracks.mov", "chapters", ["-f", "ffmetadata", "-i", "{chapters}", *COPY, "-map_chapters", "1"], "mov"),
    ("cover.mp4", "attached picture", ["-map", "0", "-c", "copy", "-c:v:1", "mjpeg", "-disposition:v:1", "attached_pic"], "mp4"),
    ("two-covers.m4a", "attached pictures", ["-map", "0:a", "-map", "0:v:0", "-c", "copy", "-disposition:v", "attached_pic"], "mp4"),
    ("hevc.mkv", "title", ["-c", "copy", "-metadata:s:v", "title=Other"], "mkv"),
    ("two-pictures.mp4", "every video track", COPY, "mp4"),
    ("tracks.mov", "timecode", [*COPY, "-timecode", "00:00:59:28"], "mov"),
    ("gpmd.mp4", "a track of the kind", ["-map", "0:v", "-map", "0:a", "-c", "copy"], "mp4"),
    ("gpmd.mp4", "picture and sound", ["-map", "0:v", "-c", "copy"], "mp4"),
    ("irregular.mkv", "irregular", ONE_LESS, "mkv"),
    ("jitter.mov", "ticks", ["-vsync", "cfr", *ENCODE], "mov"),
    ("fast.mp4", "120", ONE_LATER, "mp4"),
    ("late-sound.mp4", "sound that begins", TWO_MILLISECONDS_LATER, "mp4"),
    ("late-picture.mp4", "picture that begins", TWO_MILLISECONDS_LATER, "mp4"),
    ("ac3.mp4", "priming is hidden", TWO_MILLISECONDS_LATER, "mp4"),
    ("ac3.mp4", "priming and padding", ["-af", "apad=pad_dur=0.06", "-c:v", "copy", "-c:a", "ac3"], "mp4"),
    ("edit-list.mp4", "an edit list", [*ONE_LESS, "-c:a", "copy"], "mp4"),
    ("edit-end.mp4", "an edit list", ["-ignore_editlist", "1", *AGAIN, "-map", "1", *ENCODE, "-c:a", "copy"], "mp4"),
    ("quarter.mov", "shown as it was", ["-vf", "hflip", *ENCODE], "mp4"),
    ("upright.mov", "shown as it was", ["-vf", "vflip", *ENCODE], "mp4"),
    ("full-range.mp4", "range", ["-vf", "scale=out_range=tv,format=yuv420p", *ENCODE], "mp4"),
    ("full-range.mp4", "brightness", ["-c", "copy", "-bsf:v", "h264_metadata=video_full_range_flag=0"], "mp4"),
    ("bt601.mp4", "range", OTHER_TAGS, "mp4"),
    ("untagged.mp4", "untagged", OTHER_TAGS, "mp4"),
    ("untagged.mp4", "colours", ["-vf", "hue=h=20", *ENCODE], "mp4"),
    ("chroma.mp4", "chroma", OTHER_TAGS, "mp4"),
    ("hdr10.mp4", "10 bits", ENCODE, "mp4"),
    ("hdr10.mp4", "mastering", [*ENCODE[:-1], "yuv420p10le"], "mp4"),
    ("anamorphic.mp4", "shape", ["-c", "copy", "-aspect", "4:3"], "mp4"),
    ("interlaced.mp4", "interlaced", ENCODE, "mp4"),
    ("phone.mov", "creation time", NO_TAGS, "mov"),
    ("phone.mov", "place", NO_TAGS, "mov"),
    ("phone.mov", "content", NO_TAGS, "mov"),
    ("phone.mov", "make", NO_TAGS, "mov"),
    ("phone.mov", "every key", [*COPY, "-movflags", "use_metadata_tags", "-metadata", "com.android.capture.fps=1"], "mov"),
    ("phone.mov", "creation times of the tracks", NO_TAGS, "mov"),
    ("phone.mov", "handler names", [*COPY, "-metadata:s:a", "handler_name=Other"], "mov"),
    ("camera.mov", "place", [*COPY, "-metadata", "location=+10.0000+002.2950/"], "mov"),
    ("camera.mp4", "title", [*COPY, "-metadata", "title=Other"], "mp4"),
    ("camera.mp4", "artist", [*COPY, "-metadata", "artist=Other"], "mp4"),
    ("phone.mov", "no brands", [*COPY, "-movflags", "use_metadata_tags", "-metadata", "major_brand=qt"], "mp4"),
    ("camera.mp4", "modification time", COPY, "mp4"),
    ("picture-only.mp4", "picture only", ONE_LATER, "mp4"),
    ("sound-only.m4a", "sound only", ["-af", "adelay=3:all=1", "-c:a", "aac"], "m4a"),
    ("odd-sides.mkv", "odd sides", ["-vf", "crop=320:180", *ENCODE], "mp4"),
    ("yuv444p.mp4", "4:4:4: full", ENCODE, "mp4"),
    ("rgb.mp4", "RGB: colours", ["-vf", "scale=out_color_matrix=bt709", *ENCODE, "-colorspace", "smpte170m"], "mp4"),
    ("twice.flv", "a time stamp", ["-vsync", "cfr", "-r", "25", *ENCODE, "-c:a", "copy"], "mp4"),
    ("no-times.avi", "no presentation", SLOWER, "mp4"),
    ("thirty.mp4", "thirty", ["-map", "0:v", "-map", "0:a", "-map", "-0:a:17", "-c", "copy"], "mp4"),
]  # fmt: skip


def spoil(path, words, extension, directory):
    chapters = directory / "other-chapters.txt"
    chapters.write_text(";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1600\ntitle=One\n"
                        "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1600\nEND=4000\ntitle=Two: the end\n")  # fmt: skip
    names = {"{in}": path, "{chapters}": chapters}
    made = directory / f"spoiled-{path.stem}.{extension}"
    ffmpeg("-i", path, *(names.get(word, word) for word in words), made)
    return made


def prove(rows, make, directory):
    """How many checks are not worth their name; each is named."""
    bad, seen = 0, set()
    for file, title, words, extension in SPOILS:
        source = c.Film(make(file, directory))
        spoiled = c.Film(spoil(source.path, words, extension, directory))
        found = [row for row in rows if row.file == file and row.title.startswith(title)]
        if not found:
            raise SystemExit(f"no row: {file}, {title}")
        row = found[0]
        seen.add(row)
        itself, other = row.check(source, source), row.check(source, spoiled)
        # What a recording lacks, its own check may miss in it.
        if (itself.word != "yes" and file != "no-times.avi") or other.word == "yes":
            bad += 1
            print(f"bad: {row.title} ({file}): itself {itself}, spoiled {other}", file=sys.stderr)
    print(f"{len(SPOILS) - bad} of {len(SPOILS)} checks pass the recording and not the spoiled one", file=sys.stderr)
    return bad
