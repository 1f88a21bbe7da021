package import FoundationEssentials
import Glibc
package import IngestModel

/// The clock on the wall of this machine.
package enum WallClock {
    /// Seconds since 1970 UTC (`clock_gettime(2)`).
    package static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The moment in the machine's time zone (`localtime_r(3)`).
    package static func time(_ date: Date) -> WallTime {
        var seconds = time_t(date.timeIntervalSince1970.rounded(.down))
        var parts = tm()
        // For `TZ` and the zone's file, which may have changed since.
        tzset()
        localtime_r(&seconds, &parts)
        return WallTime(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min), second: Int(parts.tm_sec),
            weekday: (Int(parts.tm_wday) + 6) % 7)
    }
}

extension ThisProcess {
    /// The machine's name without its domain (`gethostname(2)`), or `localhost`.
    package static var hostName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
        let name = buffer.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: ".")) }.map { UInt8(bitPattern: $0) }
        return name.isEmpty ? "localhost" : String(decoding: name, as: UTF8.self)
    }

    package static var userID: UInt32 { getuid() }
}
