import FFmpeg
import IngestModel
import SystemIO

/// Filters and encodes pictures; makes its encoder when the first one has come through the filters.
final class PictureEncoding {
    private let settings: VideoLane.Settings
    private let stream: InputStream
    private let state: LaneState
    private var graph: (format: VideoFormat, graph: FilterGraph)?
    private var geometry: PictureGeometry?
    private var encoder: Encoder?
    /// Whether an interlaced picture has come; many containers do not tell beforehand. Progressive ones pass unchanged.
    private var isInterlaced: Bool
    private var isBottomFirst = false
    private var hasDynamicMapping = false
    private var fields: EncoderChoice.Fields {
        isInterlaced && settings.keepsInterlaced ? (isBottomFirst ? .bottomFirst : .topFirst) : .none
    }
    private var deinterlaces: Bool { isInterlaced && !settings.keepsInterlaced }
    /// Durations of pictures inside the encoder, by their times.
    private var durations: [Int64: Int64] = [:]
    private var written: Int64 = 0
    private var end: Int64 = 0
    private var firstTime: Int64?
    private var lastTime: Int64 = 0
    private var streamEnd = StreamEnd()

    init(_ settings: VideoLane.Settings, state: LaneState) {
        self.settings = settings
        stream = settings.stream
        self.state = state
        isInterlaced = settings.stream.isInterlaced
    }

    private var timeBase: Rational {
        stream.timeBase.isPositive ? stream.timeBase : Rational(1, 90_000)
    }

    /// `false` if nobody wants more.
    func take(_ frame: Frame, time: Int64, duration: Int64) throws -> Bool {
        durations[time] = duration
        firstTime = firstTime ?? time
        let format = frame.videoFormat
        let beginsInterlacing = frame.isInterlaced && !isInterlaced
        if beginsInterlacing { isInterlaced = true }
        if encoder == nil, frame.isInterlaced { isBottomFirst = !frame.isTopFieldFirst }
        if frame.hasDynamicMapping { hasDynamicMapping = true }
        if let old = graph, old.format != format || beginsInterlacing {
            // The picture changed in the middle: what is inside goes out, and a new chain makes the same size of it.
            try old.graph.send(nil)
            guard try drain(old.graph) else { return false }
            graph = nil
        }
        let graph = try graph?.graph ?? makeGraph(for: format)
        try graph.send(frame)
        return try drain(graph)
    }

    /// Takes out what is left. `tally` tells what the container declares: a last picture whose duration had to be guessed
    /// does not go beyond that. `false` if nobody wants more.
    func finish(_ tally: StreamTally) throws -> Bool {
        if let graph {
            try graph.graph.send(nil)
            guard try drain(graph.graph) else { return false }
        }
        guard let encoder else { return true }
        guard try encode(nil, with: encoder) else { return false }
        if let firstTime {
            end = StreamEnd.clamp(end, last: lastTime, first: firstTime, tally: tally, timeBase: timeBase)
        }
        return handOver(streamEnd.last(endingAt: end))
    }

    func report(into tally: inout StreamTally) {
        tally.written = written
        if hasDynamicMapping {
            tally.losses.append(
                Loss(what: "HDR10+", reason: "encoders are not told of the mapping for each picture; HDR10's is kept"))
        }
        tally.writtenEnd = timeBase.seconds(end)
        tally.lastTime = timeBase.seconds(lastTime)
        tally.firstShown = firstTime.map { timeBase.seconds($0) }
    }

    private func makeGraph(for format: VideoFormat) throws -> FilterGraph {
        let geometry =
            geometry
            ?? PictureGeometry(
                width: format.width, height: format.height, longestShortSide: settings.longestShortSide)
        self.geometry = geometry
        guard let pixelFormat = PixelFormat(name: settings.choice.pixelFormat) else {
            throw Fault(.encoderFailed, "the pixel format \(settings.choice.pixelFormat) is unknown")
        }
        let made = try FilterGraph(
            video: format, timeBase: timeBase, frameRate: CopyPlan.frameRate(of: stream),
            filters: geometry.filters(
                for: format, pixelFormat: pixelFormat, deinterlaces: deinterlaces,
                isInterlaced: isInterlaced && settings.keepsInterlaced))
        graph = (format, made)
        return made
    }

    private func drain(_ graph: FilterGraph) throws -> Bool {
        while case .output(let filtered) = try graph.receive() {
            guard let time = filtered.presentation else { continue }
            let frame = geometry?.isPadded == true ? try filtered.paddedToEven() : filtered
            frame.presentation = timeBase.rescale(time, from: graph.timeBase)
            let encoder = try encoder ?? open(for: frame)
            guard try encode(frame, with: encoder) else { return false }
        }
        return true
    }

    private func open(for frame: Frame) throws -> Encoder {
        let rate = CopyPlan.frameRate(of: stream)
        let choice = settings.choice
        let format = frame.videoFormat.with(colour: colour(of: frame))
        let light = EncoderChoice.LightOfPictures(
            mastering: stream.mastering ?? frame.mastering, content: stream.contentLight ?? frame.contentLight)
        let opened = try Encoder(
            video: Encoder.VideoSettings(
                codec: choice.encoder, format: format, timeBase: timeBase, frameRate: rate,
                keyFrameDistance: choice.keyFrames.distance(framesPerSecond: rate.value),
                mostBFrames: choice.codec == .h264 ? 3 : nil, threads: settings.threads,
                options: choice.options(
                    threads: settings.threads, light: light, fields: fields),
                tag: choice.tag,
                bitRate: choice.bitRate))
        encoder = opened
        state.describe(
            .success([
                OutputFile.StreamDescription(
                    parameters: try opened.parameters(), timeBase: timeBase,
                    metadata: Tags.kept(fromStream: stream.metadata), disposition: stream.disposition,
                    displayMatrix: (geometry?.matrix(stream.displayMatrix) ?? stream.displayMatrix),
                    mastering: light.mastering, contentLight: light.content,
                    sampleAspectRatio: frame.videoFormat.sampleAspectRatio,
                    averageFrameRate: rate, isCopy: false)
            ]))
        return opened
    }

    /// What the pictures say of their colours, else what the container says; filters' own ideas do not count.
    private func colour(of filtered: Frame) -> Colour {
        guard let source = graph?.format else { return filtered.videoFormat.colour }
        let told = source.colour.completed(by: stream.colour)
        // Where nothing is said, players take another matrix for small pictures than for large ones.
        return source.pixelFormat.isRGB ? told.convertedFromRGB : told
    }

    private func encode(_ frame: Frame?, with encoder: Encoder) throws -> Bool {
        var isSent = false
        while !isSent {
            isSent = try encoder.send(frame)
            while case .output(let packet) = try encoder.receive() {
                if let time = packet.presentation {
                    packet.duration = durations.removeValue(forKey: time) ?? packet.duration
                    end = max(end, time + packet.duration)
                    lastTime = max(lastTime, time)
                }
                written += 1
                guard handOver(streamEnd.exchange(packet)) else { return false }
            }
        }
        return true
    }

    private func handOver(_ packet: Packet?) -> Bool {
        guard let packet else { return true }
        return state.packets.push(.packet(LanePacket(packet: packet, stream: 0, timeBase: timeBase)))
    }
}
