"""How scripts/compare-keeping judges: what ffprobe, exiftool, mediainfo and decoded pictures and sound say of a file, and
the checks that hold a copy against its recording. A check returns a Verdict."""

import hashlib
import json
import re
import subprocess
from array import array
from collections import namedtuple
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import mul

from keeping_recordings import APPLE, COLOURS, CONTENT_IDENTIFIER, MATRICES, OLD_PROGRAM

Verdict = namedtuple("Verdict", "word note")
YES = Verdict("yes", "")
MILLISECOND = Fraction(1, 1000)
SAMPLES = 8000  # a second, of sound as it is compared


def no(note=""):
    return Verdict("no", note)


def changed(note=""):
    return Verdict("changed", note)


def yes_if(condition, note=""):
    return YES if condition else no(note)


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, timeout=120)


# What other programs say of a file


class Film:
    """Each answer is asked for once."""

    def __init__(self, path):
        self.path = path
        self.name = f"file:{path}"

    def ffprobe(self, *words):
        said = run("ffprobe", "-v", "quiet", *words, "-of", "json", self.name).stdout
        return json.loads(said or b"{}")

    @cached_property
    def probe(self):
        return self.ffprobe("-show_format", "-show_streams", "-show_chapters")

    @cached_property
    def streams(self):
        return self.probe.get("streams", [])

    def of_kind(self, kind):
        return [s for s in self.streams if s.get("codec_type") == kind]

    @cached_property
    def covers(self):
        return [s for s in self.of_kind("video") if s["disposition"]["attached_pic"]]

    @cached_property
    def video(self):
        found = [s for s in self.of_kind("video") if not s["disposition"]["attached_pic"]]
        return max(found, key=lambda s: s.get("width", 0) * s.get("height", 0), default=None)

    @cached_property
    def sounds(self):
        return self.of_kind("audio")

    @cached_property
    def tags(self):
        return {key.lower(): value for key, value in self.probe.get("format", {}).get("tags", {}).items()}

    @cached_property
    def frames(self):
        if self.video is None:
            return []
        return self.ffprobe("-select_streams", self.video["index"], "-show_frames").get("frames", [])

    @cached_property
    def times(self):
        """When each picture is shown, in seconds; those that an edit list hides are not among them."""
        base = Fraction(self.video["time_base"])
        return [base * int(f["best_effort_timestamp"]) for f in self.frames if "best_effort_timestamp" in f]

    @cached_property
    def start(self):
        return Fraction(self.probe["format"].get("start_time", "0"))

    @cached_property
    def display_matrix(self):
        sides = (self.video or {}).get("side_data_list", [])
        return next((d for d in sides if "displaymatrix" in d), None)

    @cached_property
    def displayed_size(self):
        width, height = self.video["width"], self.video["height"]
        ratio = Fraction((self.video.get("sample_aspect_ratio") or "1:1").replace(":", "/"))
        sides = (width * (ratio or 1), height)
        turned = self.display_matrix and int(self.display_matrix.get("rotation", 0)) % 180 != 0
        return sides[::-1] if turned else sides

    def decoded(self, filters, pixels, *words):
        """The main pictures as they are shown (turned by ffmpeg where a matrix says so), as raw bytes."""
        return run(
            "ffmpeg", "-v", "quiet", "-nostdin", "-i", self.name, "-map", f"0:{self.video['index']}", "-vsync", "passthrough",
            "-vf", filters, "-pix_fmt", pixels, *words, "-f", "rawvideo", "-",
        ).stdout  # fmt: skip

    @cached_property
    def pictures(self):
        """Each picture as 16 by 9 grey points."""
        data = self.decoded("scale=16:9:flags=area:out_range=pc,format=gray", "gray")
        return [data[at : at + 144] for at in range(0, len(data), 144)]

    @cached_property
    def colours(self):
        """The first picture as 16 by 9 points of red, green and blue."""
        return self.decoded("format=rgb24,scale=16:9:flags=area", "rgb24", "-frames:v", 1)

    @cached_property
    def quarters(self):
        """The mean colour of each quarter of the first picture."""
        data = self.decoded("format=rgb24,scale=2:2:flags=area", "rgb24", "-frames:v", 1)
        return [tuple(data[at : at + 3]) for at in range(0, len(data), 3)]

    @lru_cache(maxsize=None)
    def sound(self, number):
        """A sound track from the start of the file on, silence where it has none; its low tones, which stay like themselves."""
        data = run(
            "ffmpeg", "-v", "quiet", "-nostdin", "-i", self.name, "-map", f"0:{self.sounds[number]['index']}",
            "-af", f"aresample={SAMPLES}:async=1:first_pts=0,lowpass=f=400,lowpass=f=400", "-ac", 1, "-f", "s16le", "-",
        ).stdout  # fmt: skip
        return array("h", data[: len(data) // 2 * 2])

    @cached_property
    def subtitles(self):
        """(when, text) of each line of the first subtitle track that is text."""
        track = next((s for s in self.of_kind("subtitle") if s.get("codec_name") in ("mov_text", "subrip", "ass")), None)
        if track is None:
            return []
        said = run("ffmpeg", "-v", "quiet", "-i", self.name, "-map", f"0:{track['index']}", "-f", "srt", "-").stdout.decode()
        found = re.findall(r"(\d\d:\d\d:\d\d,\d{3}) --> (\d\d:\d\d:\d\d,\d{3})\n(.*)", said)
        return [(begin, end, re.sub(r"<[^>]*>|{[^}]*}", "", text)) for begin, end, text in found]

    @cached_property
    def chapters(self):
        return [(Fraction(c["start_time"]), c.get("tags", {}).get("title")) for c in self.probe.get("chapters", [])]

    def packets(self, index):
        said = self.ffprobe("-select_streams", index, "-show_packets", "-show_data_hash", "md5")
        return [(p.get("pts_time"), p["data_hash"]) for p in said.get("packets", []) if int(p["size"]) > 0]

    def data_track(self, tag):
        return next((s for s in self.streams if s.get("codec_tag_string") == tag), None)

    @cached_property
    def exif(self):
        """What exiftool reads, as "Group:Name" in small letters."""
        said = run("exiftool", "-j", "-G1", "-a", "-s", "-api", "QuickTimeUTC=1", self.path).stdout
        found = json.loads(said or b"[{}]")[0]
        return {key.lower(): str(value) for key, value in found.items()}

    @cached_property
    def mediainfo(self):
        said = run("mediainfo", "--Output=JSON", self.path).stdout
        media = json.loads(said or b"{}").get("media") or {}
        return media.get("track", [])

    @cached_property
    def damage(self):
        said = run("ffmpeg", "-v", "error", "-nostdin", "-i", self.name, "-map", "0:v?", "-map", "0:a?", "-f", "null", "-")
        lines = said.stderr.decode(errors="replace").splitlines()
        return [line for line in lines if "non monotonically increasing" not in line and "Could not find codec" not in line]


# Pictures and sound


def far(a, b):
    return sum(abs(x - y) for x, y in zip(a, b)) / max(1, len(a))


def same_times(source, made):
    """Every picture is shown when it was, counted from the first one, within one tick of the recording."""
    if made.video is None:
        return no("no picture")
    before, after = source.times, made.times
    if len(before) != len(after):
        return no(f"{len(after)} pictures instead of {len(before)}")
    tick = max(Fraction(source.video["time_base"]), Fraction(1, 1_000_000))
    worst = max((abs((b - before[0]) - (a - after[0])) for b, a in zip(before, after)), default=0)
    return YES if worst <= tick else changed(f"up to {float(worst * 1000):.3g} ms off")


def same_pictures(source, made):
    if made.video is None:
        return no("no picture")
    if len(source.pictures) != len(made.pictures):
        return no(f"{len(made.pictures)} pictures instead of {len(source.pictures)}")
    worst = max((far(b, a) for b, a in zip(source.pictures, made.pictures)), default=255)
    return YES if worst < 4 else changed(f"brightness up to {worst:.0f} of 255 off")


@lru_cache(maxsize=None)
def heard(source, made, number, reach):
    """(seconds by which a piece of the source's sound lies later in the copy, how much alike the two are: 1 is the same)."""
    before, after = source.sound(number), made.sound(number)
    onset = next((at for at, value in enumerate(before) if abs(value) > 500), 0)
    begin, length = onset + SAMPLES // 4, 2000
    energy = [0, *accumulate(map(mul, after, after))]

    def likeness(shift, step):
        at = begin + shift
        if at < 0 or at + length > len(after):
            return -1.0
        piece = before[begin : begin + length : step]
        power = sum(map(mul, piece, piece)) * step or 1
        there = energy[at + length] - energy[at] or 1
        return step * sum(map(mul, piece, after[at : at + length : step])) / (power * there) ** 0.5

    # Sound that repeats itself is taken where it was moved least.
    def worth(shift, step):
        return likeness(shift, step) - 0.1 * abs(shift) / SAMPLES

    far_away = int(reach * SAMPLES) // 4
    coarse = max((4 * shift for shift in range(-far_away, far_away + 1)), key=lambda shift: worth(shift, 8))
    fine = max(range(coarse - 6, coarse + 7), key=lambda shift: worth(shift, 1))
    return fine / SAMPLES, likeness(fine, 1)


def same_sound(source, made, number=0):
    """The sound is where it was beside the picture, within a millisecond."""
    if len(made.sounds) <= number:
        return no("no sound")
    lag, likeness = heard(source, made, number, 0.4)
    if likeness < 0.5:
        return no("other sound")
    if source.video is None or made.video is None:
        moved = 0.0
    else:
        moved = float((made.times[0] - made.start) - (source.times[0] - source.start))
    off = (lag - moved) * 1000
    return YES if abs(off) <= 1 else changed(f"sound {abs(off):.1f} ms {'late' if off > 0 else 'early'}")


def sound_length(source, made):
    """Neither priming nor padding is heard: as long as it was, up to one block of AAC."""
    if not made.sounds:
        return no("no sound")
    before, after = len(source.sound(0)) / SAMPLES, len(made.sound(0)) / SAMPLES
    off = (after - before) * 1000
    return YES if abs(off) <= 22 else changed(f"sound {abs(off):.0f} ms {'longer' if off > 0 else 'shorter'}")


def first_bad(*verdicts):
    """The first check that is not passed; later ones are not asked."""
    for verdict in verdicts:
        found = verdict()
        if found.word != "yes":
            return found
    return YES


def whole(source, made, sound=True):
    """Pictures, their times, the sound and its place, nothing that cannot be decoded."""
    return first_bad(
        lambda: same_times(source, made) if source.video else YES,
        lambda: same_pictures(source, made) if source.video else YES,
        lambda: same_sound(source, made) if source.sounds and sound else YES,
        lambda: YES if not made.damage else no("not decoded without errors"),
    )


def frames_and_pictures(source, made):
    return first_bad(lambda: same_times(source, made), lambda: same_pictures(source, made))


def starts_where_it_did(source, made):
    return same_sound(source, made)


def edit_list(source, made):
    return first_bad(lambda: same_pictures(source, made), lambda: same_times(source, made), lambda: same_sound(source, made))


def nothing_doubled(source, made):
    """Two pictures with one time stamp: each time is still there, at most one picture is lost."""
    if made.video is None:
        return no("no picture")
    before = [t - source.times[0] for t in source.times]
    after = [t - made.times[0] for t in made.times]
    if not len(before) - 1 <= len(after) <= len(before):
        return no(f"{len(after)} pictures instead of {len(before)}")
    # The one that came twice may be moved, but not beyond the next one.
    room = Fraction(1, 30)
    wrong = [t for t in set(before) if not any(abs(t - a) <= 2 * MILLISECOND for a in after)]
    odd = [a for a in after if not any(abs(t - a) <= room for t in before)]
    if wrong or odd:
        return changed(f"{len(wrong)} of {len(set(before))} times are not kept")
    return same_sound(source, made)


# Streams


def sound_tracks(source, made):
    """All tracks, in order, recognised by what is heard."""
    if len(made.sounds) != len(source.sounds):
        return no(f"{len(made.sounds)} of {len(source.sounds)} tracks")
    for number in range(len(source.sounds)):
        if heard(source, made, number, 0.1)[1] < 0.5:
            return no("not in their order")
    return YES


def tag_of(stream, name):
    tags = {key.lower(): value for key, value in stream.get("tags", {}).items()}
    return tags.get(name)


def sound_languages(source, made):
    before, after = ([tag_of(s, "language") for s in film.sounds] for film in (source, made))
    return yes_if(before == after, " ".join(str(a) for a in after) or "no sound")


def sound_titles(source, made):
    """A title where ffprobe or mediainfo shows one."""
    before = [tag_of(s, "title") for s in source.sounds]
    shown = [t.get("Title") for t in made.mediainfo if t.get("@type") == "Audio"]
    after = [tag_of(s, "title") or tag_of(s, "handler_name") for s in made.sounds]
    return yes_if(before in (shown, after))


def sound_dispositions(source, made):
    before, after = ([(s["disposition"]["default"], s["disposition"]["comment"]) for s in f.sounds] for f in (source, made))
    if before == after:
        return YES
    if [d for d, _ in before] == [d for d, _ in after]:
        return changed("the default is kept, “commentary” is not")
    return no()


def subtitle_lines(source, made):
    if not made.subtitles:
        return no()
    return YES if made.subtitles == source.subtitles else changed("other times or other text")


def subtitle_names(source, made):
    before, after = source.of_kind("subtitle"), made.of_kind("subtitle")
    if not after:
        return no()
    wanted = (tag_of(before[0], "language"), tag_of(before[0], "title"))
    titles = (tag_of(after[0], "title"), tag_of(after[0], "handler_name"))
    if tag_of(after[0], "language") != wanted[0]:
        return no("no language")
    return YES if wanted[1] in (None, *titles) else changed("the language, not the title")


def subtitle_forced(source, made):
    found = made.of_kind("subtitle")
    return yes_if(found and found[0]["disposition"]["forced"])


def chapter_marks(source, made):
    if not made.chapters:
        return no()
    if len(made.chapters) != len(source.chapters):
        return changed(f"{len(made.chapters)} of {len(source.chapters)}")
    if [t for _, t in made.chapters] != [t for _, t in source.chapters]:
        return changed("other titles")
    moved = [abs((a - made.start) - (b - source.start)) for (a, _), (b, _) in zip(made.chapters, source.chapters)]
    return YES if max(moved) <= 2 * MILLISECOND else changed(f"up to {float(max(moved)) * 1000:.0f} ms off")


def cover_picture(source, made):
    if not made.covers:
        return no("it became an ordinary video track" if len(made.of_kind("video")) > 1 else "")
    before, after = ([hash for _, hash in film.packets(film.covers[0]["index"])] for film in (source, made))
    return YES if before == after else changed("encoded anew")


def every_cover(source, made):
    return yes_if(len(made.covers) == len(source.covers), f"{len(made.covers)} of {len(source.covers)}")


def timecode(source, made):
    def stamp(film):
        return next((tag_of(s, "timecode") for s in film.streams if tag_of(s, "timecode")), None)

    found = stamp(made)
    if found is None:
        return no()
    listed = any(t.get("TimeCode_FirstFrame") for t in made.mediainfo)
    if not listed:
        return changed("a tag, no timecode track")
    return YES if found == stamp(source) else changed(f"{found}")


def known_name(source, made):
    """The name under which Apple's players play HEVC; they know H.264 by its one name."""
    found = (made.video or {}).get("codec_tag_string")
    return yes_if(found in ("hvc1", "avc1"), found or "no picture")


def picture_title(source, made):
    wanted = tag_of(source.video, "title")
    shown = [t.get("Title") for t in made.mediainfo if t.get("@type") == "Video"]
    return yes_if(made.video and wanted in (tag_of(made.video, "title"), tag_of(made.video, "handler_name"), *shown))


def data_kept(tag):
    def check(source, made):
        found = made.data_track(tag)
        if found is None:
            return no()
        before = [hash for _, hash in source.packets(source.data_track(tag)["index"])]
        after = [hash for _, hash in made.packets(found["index"])]
        return YES if before == after else changed(f"{len(after)} of {len(before)} pieces as they were")

    return check


def main_parts(source, made):
    """Pictures and the first sound, whatever else became of it."""
    return whole(source, made)


def all_video_tracks(source, made):
    count = [sum(not s["disposition"]["attached_pic"] for s in f.of_kind("video")) for f in (source, made)]
    return yes_if(count[0] == count[1], f"{count[1]} of {count[0]}")


# Orientation


def turned(matrix):
    """The names of the colours as they are shown: top left, top right, bottom left, bottom right."""
    a, b, c, d = matrix
    shown = {(a * p + c * q, b * p + d * q): name for (p, q), name in COLOURS.items()}
    return [shown[-1, -1], shown[1, -1], shown[-1, 1], shown[1, 1]]


def colour_name(rgb):
    known = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0)}
    return min(known, key=lambda name: far(known[name], rgb))


def orientation(turn):
    def check(source, made):
        if made.video is None:
            return no("no picture")
        wanted, found = turned(MATRICES[turn]), [colour_name(q) for q in made.quarters]
        if found != wanted:
            other = next((t for t, m in MATRICES.items() if turned(m) == found), "something else")
            return no(f"shown “{other}”")
        width, height = made.displayed_size
        return YES if made.displayed_size == source.displayed_size else changed(f"{width}×{height}")

    return check


# Colour


def video_says(*names):
    def check(source, made):
        if made.video is None:
            return no("no picture")
        before, after = ([f.video.get(n) for n in names] for f in (source, made))
        return YES if before == after else no(" ".join(a or "untagged" for a in after))

    return check


COLOUR_TAGS = video_says("color_range", "color_primaries", "color_transfer", "color_space")


def shown_colours(source, made):
    """Red, green and blue of 16 by 9 points of the first picture, as it is shown."""
    if not made.colours:
        return no("no picture")
    off = far(source.colours, made.colours)
    return YES if off < 3 else changed(f"{off:.1f} of 255 off in the mean")


def depth(source, made):
    def bits(film):
        found = re.search(r"p(\d\d)(le|be)$", film.video.get("pix_fmt", ""))
        return int(found[1]) if found else 8

    return YES if bits(made) >= bits(source) else no(f"{bits(made)} bits")


def side_data(film, kind):
    """From the container and from the first picture: either tells a player."""
    lists = [film.video.get("side_data_list", []), film.frames[0].get("side_data_list", []) if film.frames else []]
    for entries in lists:
        for entry in entries:
            if kind in entry.get("side_data_type", ""):
                return {k: round(float(Fraction(v)), 4) for k, v in entry.items() if k != "side_data_type"}
    return None


def light(source, made):
    if made.video is None:
        return no("no picture")
    for kind in ("Mastering display", "Content light level"):
        before, after = side_data(source, kind), side_data(made, kind)
        if after is None:
            return no(f"no {kind.lower()}")
        if before != after:
            return changed(kind.lower())
    shown = [t.get("MasteringDisplay_Luminance") for t in made.mediainfo if t.get("@type") == "Video"]
    return YES if shown and shown[0] else changed("mediainfo does not see it")


def displayed_shape(source, made):
    if made.video is None:
        return no("no picture")
    before, after = (Fraction(f.displayed_size[0]) / f.displayed_size[1] for f in (source, made))
    return YES if abs(after / before - 1) < Fraction(1, 100) else changed(f"{float(after):.2f} instead of {float(before):.2f}")


def combs(film):
    words = ["-map", f"0:{film.video['index']}", "-vf", "idet", "-f", "null", "-"]
    said = run("ffmpeg", "-nostdin", "-i", film.name, *words).stderr.decode()
    found = re.search(r"Multi frame detection: TFF:\s*(\d+) BFF:\s*(\d+) Progressive:\s*(\d+)", said)
    top, bottom, whole_ones = (int(n) for n in found.groups())
    return (top + bottom) > whole_ones


def deinterlaced(source, made):
    """Either there are no combs, or it is still interlaced and says so."""
    if made.video is None:
        return no("no picture")
    interlaced = made.video.get("field_order") not in (None, "unknown", "progressive")
    if combs(made):
        return Verdict("yes", "still interlaced, and says so") if interlaced else no("combs, and called progressive")
    return no("called interlaced") if interlaced else YES


def dolby_vision(source, made):
    return yes_if(made.video and any("DOVI" in d.get("side_data_type", "") for d in made.video.get("side_data_list", [])))


# Metadata


def creation_time(source, made):
    wanted = source.tags["creation_time"][:19]
    stamps = {made.tags.get("creation_time", "")[:19]}
    head = made.exif.get("quicktime:createdate", "")
    if not head or head.startswith("0000"):
        return no()
    return yes_if(stamps == {wanted}, "the moment of the conversion")


def same_tag(name):
    """The tag in whatever place, as ffprobe shows it."""
    return lambda source, made: yes_if(made.tags.get(name) == source.tags[name], made.tags.get(name, ""))


def apple_keys(source, made):
    lost = [key for key, value in APPLE.items() if made.tags.get(key.lower()) != value]
    return yes_if(not lost, "all lost" if len(lost) == len(APPLE) else f"{len(APPLE) - len(lost)} of {len(APPLE)}")


def zoned_date(source, made):
    names = ("creationdate", "contentcreatedate", "datetimeoriginal")
    dates = [value for key, value in made.exif.items() if key.split(":")[-1] in names]
    return yes_if(any("20:03:50+01" in value for value in dates))


def content_identifier(source, made):
    return yes_if(made.exif.get("keys:contentidentifier") == CONTENT_IDENTIFIER)


def live_photo(source, made):
    return yes_if(made.exif.get("keys:contentidentifier") == source.exif["keys:contentidentifier"])


def place_key(source, made):
    if "com.apple.quicktime.location.iso6709" in made.tags and made.exif.get("keys:gpscoordinates"):
        return YES
    return changed("another form: " + place_forms(made)) if place_forms(made) else no()


def place_forms(film):
    forms = {
        "userdata:gpscoordinates": "©xyz", "userdata:locationinformation": "loci", "keys:gpscoordinates": "key",
        "itemlist:gpscoordinates": "ilst",
    }  # fmt: skip
    return ", ".join(word for key, word in forms.items() if key in film.exif)


def place_user_data(source, made):
    """Where it was, by whatever form; a form that exiftool reads."""
    wanted = source.exif["composite:gpsposition"]
    if made.exif.get("composite:gpsposition") == wanted:
        before, after = place_forms(source), place_forms(made)
        return YES if before in after else changed(f"in the form {after}")
    return no()


def make_and_model(source, made):
    def first(film, name):
        places = (f"{group}:{name}" for group in ("keys", "userdata", "itemlist"))
        return next((film.exif[place] for place in places if place in film.exif), None)

    def pair(film):
        return [first(film, "make"), first(film, "model")]

    return yes_if(pair(source) == pair(made))


def title(source, made):
    """Where players look in an mp4: ilst."""
    wanted = source.tags["title"]
    if made.exif.get("itemlist:title") == wanted:
        return YES
    return changed("not in ilst") if wanted in made.exif.values() else no()


def artist(source, made):
    return yes_if(made.exif.get("itemlist:artist") == "Jo")


def handler_names(source, made):
    before, after = ([tag_of(s, "handler_name") for s in (f.of_kind("video") + f.sounds)] for f in (source, made))
    return YES if before == after else no()


def no_old_brands(source, made):
    """Neither brands as tags nor the name of the program that wrote the recording."""
    names = ("majorbrand", "minorversion", "compatiblebrands")
    if any(group != "quicktime" and name in names for group, _, name in (key.partition(":") for key in made.exif)):
        return no("brands as tags")
    return yes_if(not any(value.strip() == OLD_PROGRAM.decode() for value in made.exif.values()), "the old program as the writer")


def modification_time(source, made):
    off = abs(source.path.stat().st_mtime - made.path.stat().st_mtime)
    return yes_if(off < 2)


def track_times(source, made):
    """When each track was made."""
    before, after = ({tag_of(s, "creation_time") for s in f.of_kind("video") + f.sounds} for f in (source, made))
    return yes_if(before == after, "the moment of the conversion" if after - {None} else "")


# Unusual input


def pictures_only(source, made):
    return whole(source, made, sound=False)


def in_step(source, made):
    """Thirty pictures a second, whatever the recording lacks."""
    if made.video is None:
        return no("no picture")
    wanted = [Fraction(number, 30) for number in range(30)]
    found = [t - made.times[0] for t in made.times]
    if len(found) != len(wanted):
        return no(f"{len(found)} pictures instead of {len(wanted)}")
    worst = max(abs(a - b) for a, b in zip(wanted, found))
    return same_pictures(source, made) if worst <= MILLISECOND else changed(f"up to {float(worst * 1000):.3g} ms off")


def padded(source, made):
    """Sides may grow by one, and nothing may be cut off or squeezed by more."""
    if made.video is None:
        return no("no picture")
    sizes = [(f.video["width"], f.video["height"]) for f in (source, made)]
    smaller = sizes[1][0] < sizes[0][0] or sizes[1][1] < sizes[0][1]
    return changed(f"cut to {sizes[1][0]}×{sizes[1][1]}") if smaller else whole(source, made)


def pixel_kind(source, made):
    """Transparency, and colour at full resolution."""
    if made.video is None:
        return no("no picture")
    before, after = (re.sub(r"^yuvj", "yuv", f.video.get("pix_fmt", "")) for f in (source, made))
    return YES if before == after else no(after)


def thirty(source, made):
    if len(made.sounds) != len(source.sounds):
        return no(f"{len(made.sounds)} of {len(source.sounds)} tracks")
    return first_bad(lambda: sound_languages(source, made), lambda: whole(source, made))


def byte_for_byte(a, b):
    return hashlib.sha256(a.read_bytes()).digest() == hashlib.sha256(b.read_bytes()).digest()
