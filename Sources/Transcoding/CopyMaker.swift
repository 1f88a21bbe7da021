import FFmpeg
import IngestModel
import SystemIO

/// Makes the copy of one recording: lanes for what is encoded and what is copied, and the muxer that joins them.
struct CopyMaker {
    let job: MediaJob
    let emit: @Sendable (MediaEvent) -> Void
    let headIsRead: () -> Void

    /// What was made, with what the lanes found.
    struct Made {
        let plan: CopyPlan
        let tallies: [StreamTally]
        /// The tags of the whole file that were given to the muxer.
        let tags: [String: String]
        let summary: MediaSummary
    }

    func make() throws(Fault) -> Made {
        let input = try Source.open(job.input, headIsRead: headIsRead)
        let plan = try CopyPlan.make(for: input, settings: job.settings)
        for loss in plan.losses { emit(.loss(loss)) }
        if plan.video != nil, SecondEye.isIn(job.input) {
            emit(.loss(Loss(what: "the second eye's picture", reason: "spatial video is not carried over yet")))
        }
        var metadata = Tags.kept(fromFile: input.metadata)
        if job.stripsLocation { metadata = Tags.withoutPosition(metadata) }
        // Written by the muxer into a track of its own.
        if let timecode = plan.video?.stream.metadata["timecode"] ?? timecode(in: input) {
            metadata["timecode"] = timecode
        }
        let lanes = lanes(for: plan)
        for lane in lanes { lane.start() }
        let ticker = ProgressTicker(leader: lanes[0].shared, emit: emit)
        ticker.start()
        defer { ticker.stop() }
        do {
            try mux(lanes, metadata: metadata, ticker: ticker)
        } catch {
            throw Source.fault(for: error)
        }
        let tallies = lanes.flatMap { $0.shared.found }
        return Made(plan: plan, tallies: tallies, tags: metadata, summary: summary(of: plan, tallies))
    }

    private func timecode(in input: InputFile) -> String? {
        input.metadata["timecode"] ?? input.streams.first { $0.tag == "tmcd" }?.metadata["timecode"]
    }

    private func lanes(for plan: CopyPlan) -> [any Lane] {
        var lanes: [any Lane] = []
        var tracks: [StreamLane.Track] = []
        if let (stream, treatment) = plan.video {
            switch treatment {
            case .copy: tracks.append(StreamLane.Track(stream: stream, encoding: nil))
            case .encode(let choice, _):
                lanes.append(
                    VideoLane(
                        VideoLane.Settings(
                            path: job.input, stream: stream, choice: choice,
                            longestShortSide: job.settings?.maxHeight,
                            mostFramesPerSecond: job.settings?.maxFramesPerSecond, threads: job.threads)))
            }
        }
        for (stream, treatment) in plan.audio {
            switch treatment {
            case .copy: tracks.append(StreamLane.Track(stream: stream, encoding: nil))
            case .encode(let bitRate, let sampleRate):
                tracks.append(StreamLane.Track(stream: stream, encoding: (bitRate, sampleRate)))
            }
        }
        if !tracks.isEmpty { lanes.append(StreamLane(job.input, tracks: tracks, leads: lanes.isEmpty)) }
        return lanes
    }

    // MARK: - Joining

    /// A lane with the packet that comes next from it, and where its streams are in the output.
    private struct Input {
        let lane: any Lane
        let firstStream: Int
        var next: LanePacket?
    }

    private func mux(_ lanes: [any Lane], metadata: [String: String], ticker: ProgressTicker) throws {
        defer { for lane in lanes { lane.shared.packets.abandon() } }
        let output = try OutputFile(path: job.output.bytes, format: CopyPlan.container, metadata: metadata)
        var inputs: [Input] = []
        var descriptions: [OutputFile.StreamDescription] = []
        var count = 0
        for lane in lanes {
            var streams = try lane.shared.streams()
            if job.stripsLocation {
                for index in streams.indices { streams[index].metadata = Tags.withoutPosition(streams[index].metadata) }
            }
            for stream in streams { try output.addStream(stream) }
            descriptions += streams
            inputs.append(Input(lane: lane, firstStream: count, next: nil))
            count += streams.count
        }
        // The box is written by itself where primaries are known; a range alone would be lost.
        let hasRangeAlone = descriptions.contains { $0.parameters.declaresNothingButRange }
        try output.begin(options: ["movflags": hasRangeAlone ? "+faststart+write_colr" : "+faststart"])
        for index in inputs.indices { inputs[index].next = try take(from: inputs[index].lane) }
        while let index = earliest(inputs), let packet = inputs[index].next {
            let stream = inputs[index].firstStream + packet.stream
            packet.packet.rescale(from: packet.timeBase, to: output.timeBase(ofStream: stream))
            packet.packet.streamIndex = stream
            try output.write(packet.packet)
            inputs[index].next = try take(from: inputs[index].lane)
        }
        ticker.finishing()
        try output.finish()
    }

    private func take(from lane: any Lane) throws(Fault) -> LanePacket? {
        switch lane.shared.packets.pop() {
        case .packet(let packet): return packet
        case .failed(let fault): throw fault
        case nil: return nil
        }
    }

    /// The lane whose next packet is decoded first.
    private func earliest(_ inputs: [Input]) -> Int? {
        var best: (index: Int, time: Int64, base: Rational)?
        for (index, input) in inputs.enumerated() {
            guard let next = input.next else { continue }
            let time = next.packet.decoding ?? next.packet.presentation ?? 0
            if let known = best, Rational.compare(time, next.timeBase, known.time, known.base) >= 0 { continue }
            best = (index, time, next.timeBase)
        }
        return best?.index
    }

    // MARK: - Words

    private func summary(of plan: CopyPlan, _ tallies: [StreamTally]) -> MediaSummary {
        var tracks: [MediaSummary.Track] = []
        if let (stream, treatment) = plan.video {
            let how: (codec: String, detail: String, treatment: String) =
                switch treatment {
                case .copy: (stream.codecName, "\(stream.width)×\(stream.height)", "copied")
                case .encode(let choice, let geometry):
                    ("\(choice.codec)", "\(geometry.width)×\(geometry.height)", "encoded (\(choice.summary))")
                }
            tracks.append(
                MediaSummary.Track(kind: "video", codec: how.codec, detail: how.detail, treatment: how.treatment))
        }
        for (stream, treatment) in plan.audio {
            let isCopied = treatment == .copy
            tracks.append(
                MediaSummary.Track(
                    kind: "audio", codec: isCopied ? stream.codecName : "aac",
                    detail: "\(stream.sampleRate) Hz \(stream.channelLayout)",
                    treatment: isCopied ? "copied" : "encoded (aac)"))
        }
        let frames = tallies.first { $0.kind == .video }?.written ?? 0
        return MediaSummary(
            container: CopyPlan.container, duration: tallies.map { $0.writtenEnd }.max() ?? 0, videoFrames: frames,
            tracks: tracks)
    }
}
