import SystemIO
import UploadList

/// Looks at the list's files from a thread of its own and rings when they have changed: that costs an idle process a tenth of
/// what waking up a task does.
final class ListBell: Sendable {
    private let isOver = StopFlag()

    private static let interval = 0.4

    init(_ list: UploadList, ring: @escaping @Sendable () -> Void) {
        let isOver = isOver
        Thread.detach {
            var stamp = list.stamp
            while !isOver.isSet {
                Pause.seconds(Self.interval)
                let present = list.stamp
                if present != stamp { ring() }
                stamp = present
            }
        }
    }

    func stop() {
        isOver.set()
    }
}
