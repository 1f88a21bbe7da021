/// What the name of a directory entry says it is.
package enum NameKind: Hashable, Sendable {
    /// Pictures or sound, by its extension.
    case recording
    /// What cameras and people put beside a recording: subtitles, metadata, small versions.
    case sidecar
    /// Hidden, or the name that some program gives to what it has not finished.
    case temporary
    case other
}

/// Names as cameras, recorders and copying programs give them. Letters count regardless of their case, bytes need not be UTF-8.
package enum RecordingNames {
    /// What kind of entry this is, from the name alone.
    package static func kind(of name: FileName) -> NameKind {
        if isTemporary(name) { return .temporary }
        let fileExtension = name.fileExtension.lowercasedText
        if video.contains(fileExtension) || sound.contains(fileExtension) { return .recording }
        return sidecars.contains(fileExtension) || proxies.contains(fileExtension) ? .sidecar : .other
    }

    /// Whether nothing in a directory of this name is a recording of its owner: waste baskets, snapshots, previews of network
    /// drives, what is being unpacked, and what is hidden.
    package static func isSkipped(directory name: FileName) -> Bool {
        let text = name.bytes.lowercasedText
        return isTemporary(name) || skippedDirectories.contains(text)
            || skippedBeginnings.contains { text.hasPrefix($0) }
    }

    /// The names by which programs show that they are still at work on the file of this name: aria2, lftp and yt-dlp write under
    /// the final name and keep their notes beside it; Firefox reserves that name and writes beside it.
    package static func partnersOfUnfinished(_ name: FileName) -> [FileName] {
        [".aria2", ".lftp-pget-status", ".ytdl", ".part"].map { name.appending($0) }
    }

    // MARK: Tables

    /// Containers and streams with pictures.
    static let video = words(
        """
        mp4 m4v mov qt mkv mk3d webm avi divx mpg mpeg mpe m1v m2v m2p vob ts m2ts mts m2t mpv trp tp tod mod 3gp 3g2 3gpp flv f4v ogv
        ogm ogx wmv asf wtv dvr-ms mxf gxf lxf dv dif rm rmvb nut ivf y4m h264 264 avc h265 265 hevc h266 av1 obu mj2 amv
        insv 360 osv crm rmf braw r3d ari mlv cine nev dav
        """)

    /// Sound alone: a recording by itself, but part of a clip of the same name.
    static let sound = words(
        """
        wav wave w64 rf64 bwf bw64 aif aiff aifc caf m4a m4b mp3 mp2 aac flac ogg oga opus spx wma amr awb ac3 eac3 dts mka weba ape
        wv tta au snd dsf dff
        """)

    /// Small versions of a clip that cameras record beside it: GoPro and Insta360 (LRV), DJI (LRF).
    static let proxies = words("lrv lrf")

    /// Subtitles; pictures and metadata of one clip from cameras (THM of DCF, AAE of iOS, CPI of AVCHD, BIM and PPN of XDCAM, CIF
    /// of Canon XF, SIDECAR of Blackmagic); positions; notes of media libraries.
    static let sidecars = words(
        """
        srt vtt ass ssa sub idx sbv ttml dfxp smi scc mcc lrc xml xmp thm aae cpi bim ppn cif sidecar gpx nmea gcsv bif nfo
        """)

    /// What browsers (crdownload, part, partial, download, opdownload), downloaders (!qb, !ut, bc!, td, xltd, jc!, fdmdownload, dctmp,
    /// ytdl, aria2), synchronisers (!sync, ffs_tmp), copying programs (filepart, tmp) and editors (swp, swx, lock) use.
    private static let temporaryExtensions = words(
        """
        part partial crdownload download opdownload !qb !ut !bt bc! td xltd jc! fdmdownload dctmp ytdl aria2 lftp-pget-status !sync
        ffs_tmp ffs_lock filepart tmp temp incomplete inprogress downloading uploading copying lock lck swp swx crswap
        """)

    /// What stands before the real extension while a program writes: `talk.temp.mp4`.
    private static let temporaryInfixes = words("temp tmp partial")

    private static let temporaryNames = words("thumbs.db ehthumbs.db desktop.ini")

    private static let skippedDirectories = words(
        """
        @eadir #recycle #snapshot @recycle @recently-snapshot @__thumb @tmp @sharebin ~snapshot $recycle.bin recycler lost+found
        __macosx
        """
    ).union(["system volume information", "network trash folder", "temporary items"])

    private static let skippedBeginnings = ["_unpack_", "_failed_"]

    private static func words(_ text: String) -> Set<String> {
        Set(text.split { $0 == " " || $0 == "\n" }.map(String.init))
    }

    // MARK: Temporary names

    /// A dot in front covers what most programs do: AppleDouble (`._A`), rsync (`.A.Xy12Zz`), GLib (`.goutputstream-…`), NFS
    /// (`.nfs…`), FUSE, Syncthing (`.syncthing.A.tmp`), Nextcloud (`.A.~12ab`), LibreOffice (`.~lock.A#`).
    private static func isTemporary(_ name: FileName) -> Bool {
        if name.bytes.first == UInt8(ascii: ".") || name.bytes.last == UInt8(ascii: "~") { return true }
        let text = name.bytes.lowercasedText
        if text.hasPrefix("~$") || text.hasPrefix("~syncthing~") || temporaryNames.contains(text) { return true }
        if temporaryExtensions.contains(name.fileExtension.lowercasedText) { return true }
        return FileName(bytes: name.stem).map { temporaryInfixes.contains($0.fileExtension.lowercasedText) } ?? false
    }
}

extension [UInt8] {
    /// For comparing with the tables: ASCII letters small, what is not UTF-8 repaired.
    var lowercasedText: String {
        String(decoding: map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
