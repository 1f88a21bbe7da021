# shellcheck shell=bash disable=SC2034
# What the scripts share. To be sourced; bash only.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Swift from PATH, else where Swift's own installers put it.
find_swift() {
    command -v swift >/dev/null && return
    local place
    for place in /opt/swift/usr/bin /usr/share/swift/usr/bin "$HOME/.local/share/swiftly/bin"; do
        if [ -x "$place/swift" ]; then
            PATH="$place:$PATH"
            return
        fi
    done
    die "Swift is missing. Install Swift 6.2 or later (https://www.swift.org/install/linux/debian/12/), so that
\`swift --version\` works, then run this again."
}

# Everything the release program is built with; the runtime of Swift goes into it.
release_options=(-c release --static-swift-stdlib --product)

build_release() {
    (cd "$root" && swift build "${release_options[@]}" ingest >&2 && swift build "${release_options[@]}" ingest-media >&2)
}

# The programs that build_release makes.
program="$root/.build/release/ingest"
media="$root/.build/release/ingest-media"

# Whether they are there, and newer than what they are made of.
is_built() {
    [ -x "$program" ] && [ -x "$media" ] &&
        [ -z "$(find "$root/Sources" "$root/Package.swift" -newer "$program" -print -quit)" ]
}

build_if_needed() {
    local log
    if is_built; then return; fi
    echo "building ingest (this takes a few minutes the first time)" >&2
    log="$(mktemp)"
    if ! build_release >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        die "ingest could not be built; the compiler's words are above."
    fi
    rm -f "$log"
    touch "$program"
}
