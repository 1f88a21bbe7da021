import FoundationEssentials
import IngestModel
import Synchronization
import UploadList
import Uploading

/// Writes the steps of an upload into the list, and tells how far it is.
final class ItemLedger: UploadLedger {
    private let context: PipelineContext
    private let reporter: ItemReporter
    private let item: Mutex<Item>
    private let total: Int64
    /// Whether more was acknowledged than before this upload was taken up.
    private let hasProgressed = Mutex(false)

    private static let blockSizeMemory: Double = 7 * 86_400

    init(_ item: Item, context: PipelineContext, reporter: ItemReporter) {
        self.context = context
        self.reporter = reporter
        self.item = Mutex(item)
        total = item.seal?.size.value ?? 0
    }

    /// The item as it was last written down.
    var current: Item { item.withLock { $0 } }

    func save(_ remote: RemoteState, progressed: Bool) async throws {
        try await commit(.remoteChanged(remote, progressed: progressed))
        reporter.progress(.uploading, done: remote.acknowledged.value, total: total)
        if progressed { try context.destinations.checkOpen(current.destination) }
    }

    func forget() async throws {
        try await commit(.remoteForgotten)
    }

    func abandon(replacement: RemoteState?) async throws {
        try await commit(.remoteAbandoned(replacement: replacement))
        reporter.report(.note("the destination's part is of no use; it is dropped and sent anew"))
        reporter.progress(.uploading, done: replacement?.acknowledged.value ?? 0, total: total)
    }

    func inFlight(_ count: Int64) {
        let acknowledged = item.withLock { $0.remote?.acknowledged.value ?? 0 }
        reporter.progress(.uploading, done: acknowledged, total: total, inFlight: count)
    }

    func blockSize(for origin: ServerURL.Origin) async throws -> ByteCount? {
        try await context.list.blockSize(for: origin, now: context.now())
    }

    func remember(_ size: ByteCount, for origin: ServerURL.Origin) async throws {
        try await context.list.remember(
            size, for: origin, until: context.now().addingTimeInterval(Self.blockSizeMemory))
        reporter.report(.note("the destination takes blocks of \(size.forReading) at most"))
    }

    private func commit(_ event: ItemLife.Event) async throws {
        guard let stored = try await context.commit(event, to: current) else { throw CancellationError() }
        item.withLock { $0 = stored }
    }
}
