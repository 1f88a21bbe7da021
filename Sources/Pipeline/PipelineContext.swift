package import Diagnostics
package import FoundationEssentials
import HTTPClient
package import IngestModel
import MediaProcess
import Synchronization
package import SystemIO
package import UploadList
package import VideoCache

/// How a process works on the list.
package struct PipelineSettings: Sendable {
    /// Items at once.
    package var jobs: Int
    /// Bytes a second for the whole process.
    package var limitRate: ByteCount?
    /// Threads of a video encoder.
    package var threads: Int
    /// Nice value of the media process; `nil` leaves it.
    package var niceness: Int?
    /// What is to stay free where the cache is: no copy is begun that would take of it.
    package var minimumFree: ByteCount?
    /// What the copies in the cache may take together; one alone may take more.
    package var cacheLimit: ByteCount?
    /// Whether nothing is encoded while a recording is being made in a watched folder.
    package var encodesWhenIdle = false
    /// Those of the configuration.
    package var destinations: [DestinationName: DestinationProfile]

    package init(
        jobs: Int = 1, limitRate: ByteCount? = nil, threads: Int, niceness: Int? = nil,
        destinations: [DestinationName: DestinationProfile] = [:]
    ) {
        self.jobs = jobs
        self.limitRate = limitRate
        self.threads = threads
        self.niceness = niceness
        self.destinations = destinations
    }
}

/// The settings in force, which may be read anew while work goes on.
final class LiveSettings: Sendable {
    private let state: Mutex<(settings: PipelineSettings, version: Int)>

    init(_ settings: PipelineSettings) {
        state = Mutex((settings, 0))
    }

    var current: PipelineSettings { state.withLock { $0.settings } }
    var version: Int { state.withLock { $0.version } }

    func replace(_ settings: PipelineSettings) {
        state.withLock { $0 = (settings, $0.version + 1) }
    }
}

/// Everything the stages of an item work with; made once in a process.
package final class PipelineContext: Sendable {
    package let list: UploadList
    package let cache: VideoCache
    let environment: Environment
    let destinations: Destinations
    let limiter: RateLimiter
    private let live: LiveSettings
    let sources = SourceShelf()
    let recorders = Recorders()
    let changedRecordings = ChangedRecordings()
    let log: Log
    let now: @Sendable () -> Date
    let send: @Sendable (PipelineEvent) -> Void

    /// `send` takes every event, from any thread, and must not block.
    package init(
        list: UploadList, cache: VideoCache, environment: Environment, settings: PipelineSettings, log: Log,
        now: @escaping @Sendable () -> Date, send: @escaping @Sendable (PipelineEvent) -> Void
    ) {
        self.list = list
        self.cache = cache
        self.environment = environment
        self.log = log
        self.now = now
        self.send = send
        let live = LiveSettings(settings)
        self.live = live
        destinations = Destinations(environment: environment, settings: live, now: now, log: log)
        limiter = RateLimiter { live.current.limitRate.map { max(1, $0.value) } }
    }

    /// Those in force; they may change at any time.
    var settings: PipelineSettings { live.current }

    /// Whether a recorder is at work that must not be disturbed by an encoder.
    var isToKeepQuiet: Bool { settings.encodesWhenIdle && recorders.areAtWork }

    /// Changes with each new set of them.
    var settingsVersion: Int { live.version }

    /// What holds from now on, also for items that are being worked on.
    package func adopt(_ settings: PipelineSettings) {
        live.replace(settings)
    }

    var crashPoints: CrashPoints { environment.crashPoints }

    func mediaProcess() throws(Fault) -> MediaProcess {
        MediaProcess(program: try MediaProcess.locate(beside: environment.programDirectory))
    }

    /// Ends what runs beside the items, such as the built-in receiver.
    package func shutDown() async {
        await destinations.shutDown()
    }

    /// Writes a step down.
    ///
    /// - Returns: the item as it stands then; `nil` once it is forgotten.
    func commit(_ event: ItemLife.Event, to item: Item) async throws -> Item? {
        try await list.commit(ItemLife.apply(event, to: item, at: now()), of: item.id)
    }
}
