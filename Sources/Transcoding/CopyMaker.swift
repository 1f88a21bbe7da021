import FFmpeg
import IngestModel
import SystemIO

/// Makes the copy of one recording: lanes for what is encoded and what is copied, and the muxer that joins them.
struct CopyMaker {
    let job: MediaJob
    /// See `CopyPlan.Request`.
    var restraint = 1.0
    let emit: @Sendable (MediaEvent) -> Void
    let headIsRead: () -> Void

    /// What was made, with what the lanes found.
    struct Made {
        /// Those that have packets.
        let tracks: [Verification.Expected]
        /// What was found to be lost while it was made.
        let losses: [Loss]
        let plan: CopyPlan
        let input: InputFile
        let summary: MediaSummary
    }

    /// Thrown instead of making a copy that would hardly be smaller.
    struct NotWorthwhile: Error {
        let forecast: CopyForecast
    }

    /// Thrown where sound that was copied is not of one kind from its beginning to its end.
    struct SoundChanges: Error {}

    func make() throws -> Made {
        let input = try Source.open(job.input, headIsRead: headIsRead)
        let index = Source.index(of: job.input, input)
        let plan = try CopyPlan.make(
            for: CopyPlan.Request(
                input: input, index: index, settings: job.settings, stripsLocation: job.stripsLocation,
                restraint: restraint))
        if let forecast = try forecast(for: plan, input, index) { throw NotWorthwhile(forecast: forecast) }
        let losses = plan.losses + MakersData.losses(of: job.input, index, stripsLocation: job.stripsLocation)
        try checkStrictness(losses)
        for loss in losses { emit(.loss(loss)) }
        var metadata = Tags.kept(fromFile: input.metadata)
        if job.stripsLocation { metadata = Tags.withoutPosition(metadata) }
        // Written by the muxer into a track of its own.
        if let timecode = plan.timecode(of: input) { metadata["timecode"] = timecode }
        let lanes = lanes(for: plan, hasIndex: index?.listsAllPackets == true)
        for lane in lanes { lane.start() }
        let ticker = ProgressTicker(leader: lanes[0].shared, emit: emit)
        ticker.start()
        defer { ticker.stop() }
        do {
            let gap = gap(for: plan, input, index)
            let written = try mux(lanes, Head(input: input, plan: plan, metadata: metadata, gap: gap), ticker: ticker)
            let tallies = lanes.flatMap { $0.shared.found }
            if tallies.contains(where: { $0.changesFormat }) { throw SoundChanges() }
            let damage = DamageCheck.damage(in: tallies)
            if let damage {
                if job.care.damaged != .salvage { throw DamageCheck.fault(damage) }
                // Whoever finds the file has to know that it is not all.
                metadata["damage"] = damage
            }
            let tracks = tracks(of: plan, tallies, written)
            let grafts = IndexGrafts(
                source: index,
                tracks: tracks.map { track in
                    IndexGrafts.Track(
                        source: track.stream.id, treatment: track.treatment, title: track.stream.metadata["title"],
                        isShown: track.stream.kind != .subtitle || track.stream.isDefault)
                },
                tags: metadata, stripsLocation: job.stripsLocation)
            try IndexPlacement(gap: gap).carryOut(on: job.output) { grafts.apply(to: &$0) }
            return Made(
                tracks: tracks, losses: self.losses(of: plan, tallies), plan: plan, input: input,
                summary: summary(of: tracks, tallies, damage))
        } catch {
            if error is SoundChanges { throw error }
            throw Source.fault(for: error)
        }
    }

    private func forecast(
        for plan: CopyPlan, _ input: InputFile, _ index: MovieBox?
    ) throws(Fault) -> CopyForecast? {
        // The recording as it is would tell the position.
        if job.stripsLocation { return nil }
        let size = ByteCount(input.position.size)
        if let target = job.settings?.targetSize {
            // It weighs less already. Changing the container would find damage.
            let canRemux = (try? remuxPlan(input, index)) != nil
            let isLess = !CopyWorth.isSmallEnough(target, for: size)
            return isLess && canRemux ? CopyForecast(size: target, isWorthRemuxing: false) : nil
        }
        guard let copy = try Forecast(job: job, plan: plan, input: input, emit: emit).expectation() else { return nil }
        if CopyWorth.isSmallEnough(copy.size, for: size) {
            emit(.expected(copy))
            return nil
        }
        let remux = try? remuxPlan(input, index)
        // Where that cannot be, encoding is the only way of reading all of it.
        guard let remux else {
            emit(.expected(copy))
            return nil
        }
        let isMovie = input.formatName.contains("mp4")
        return CopyForecast(size: copy.size, isWorthRemuxing: !isMovie && remux.losses.isEmpty)
    }

    private func losses(of plan: CopyPlan, _ tallies: [StreamTally]) -> [Loss] {
        let empty = zip(plan.tracks, tallies).filter { $1.written == 0 }.map { track, _ in
            Loss(
                what: TrackWords.name(of: track.stream), reason: "there is nothing in it that could be kept")
        }
        return empty + DamageCheck.losses(in: tallies)
    }

    private func remuxPlan(_ input: InputFile, _ index: MovieBox?) throws(Fault) -> CopyPlan {
        try CopyPlan.make(
            for: CopyPlan.Request(input: input, index: index, settings: nil, stripsLocation: false))
    }

    private func checkStrictness(_ losses: [Loss]) throws(Fault) {
        if job.care.isStrict, let fault = Strictness.fault(losses) { throw fault }
    }

    private func lanes(for plan: CopyPlan, hasIndex: Bool) -> [any Lane] {
        var lanes: [any Lane] = []
        var tracks: [CopyPlan.Track] = []
        for track in plan.tracks {
            guard case .encodePicture(let choice, _) = track.treatment else {
                tracks.append(track)
                continue
            }
            lanes.append(
                VideoLane(
                    VideoLane.Settings(
                        path: job.input, stream: track.stream, choice: choice,
                        longestShortSide: job.settings?.maxHeight,
                        mostFramesPerSecond: job.settings?.maxFramesPerSecond, threads: job.threads,
                        keepsInterlaced: job.settings?.keepsInterlaced == true && choice.canInterlace)))
        }
        if !tracks.isEmpty {
            lanes.append(
                StreamLane(
                    job.input, hasIndex: hasIndex, tracks: tracks, leads: lanes.isEmpty,
                    stripsLocation: job.stripsLocation))
        }
        return lanes
    }

    // MARK: - Joining

    /// A lane with the packet that comes next from it, and where its streams are in the output.
    private struct Input {
        let lane: any Lane
        let firstStream: Int
        var next: LanePacket?
    }

    /// What stands in the file besides the lanes' packets.
    private struct Head {
        let input: InputFile
        let plan: CopyPlan
        let metadata: [String: String]
        let gap: Int64
    }

    /// What the muxer was given for a stream.
    private struct Written {
        let parameters: CodecParameters
        let packets: PacketDigest
    }

    private func mux(_ lanes: [any Lane], _ head: Head, ticker: ProgressTicker) throws -> [Written] {
        defer { for lane in lanes { lane.shared.packets.abandon() } }
        try FileSystem.open(job.output, .openingOrCreating).truncate(to: 0)
        let output = try OutputFile(path: job.output.bytes, format: CopyPlan.container, metadata: head.metadata)
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
        for cover in head.plan.covers {
            try output.addPicture(cover.parameters, metadata: Tags.kept(fromStream: cover.metadata))
        }
        try output.addChapters(ChapterMarks.of(head.input))
        // The box is written by itself where primaries are known; a range alone would be lost.
        let hasRangeAlone = descriptions.contains { $0.parameters.declaresNothingButRange }
        try output.begin(options: hasRangeAlone ? ["movflags": "+write_colr"] : [:], behind: head.gap)
        for (number, cover) in head.plan.covers.enumerated() {
            guard let picture = try head.input.attachedPicture(ofStream: cover.index) else { continue }
            picture.streamIndex = count + number
            try output.write(picture)
        }
        var packets = [PacketDigest](repeating: PacketDigest(), count: count)
        var lastDecoding = [Int64?](repeating: nil, count: count)
        let early = try EarlyWriting(of: job.output)
        // What stands in front of it changes at the end.
        var onTheWay = output.position
        for index in inputs.indices { inputs[index].next = try take(from: inputs[index].lane) }
        while let index = earliest(inputs), let packet = inputs[index].next {
            let stream = inputs[index].firstStream + packet.stream
            packet.packet.rescale(from: packet.timeBase, to: output.timeBase(ofStream: stream))
            packet.packet.streamIndex = stream
            // Ticks of the container may be longer than the recording's.
            if let decoding = packet.packet.decoding {
                let rising = max(decoding, lastDecoding[stream].map { $0 + 1 } ?? decoding)
                lastDecoding[stream] = rising
                packet.packet.decoding = rising
                packet.packet.presentation = packet.packet.presentation.map { max($0, rising) }
            }
            // The container has 32 bits for it. What is longer has been noted as damage.
            packet.packet.duration = min(packet.packet.duration, Int64(Int32.max))
            let isText = descriptions[stream].parameters.isText
            if !isText || !packet.packet.isEmptyText { packets[stream].add(packet.packet, packet.checksum) }
            try output.write(packet.packet)
            if output.position - onTheWay >= EarlyWriting.piece {
                early.add(onTheWay..<output.position)
                onTheWay = output.position
            }
            inputs[index].next = try take(from: inputs[index].lane)
        }
        ticker.finishing()
        try output.finish()
        return zip(descriptions, packets).map { Written(parameters: $0.parameters, packets: $1) }
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

    // MARK: - The index

    /// Bytes to leave in front for it.
    private func gap(for plan: CopyPlan, _ input: InputFile, _ index: MovieBox?) -> Int64 {
        let duration = input.duration ?? 0
        let packets = plan.tracks.reduce(Int64(0)) { sum, track in
            let stream = track.stream
            if stream.packetCount > 0 { return sum + stream.packetCount }
            let rate =
                switch stream.kind {
                case .video: CopyPlan.frameRate(of: stream).value
                case .audio: Double(stream.sampleRate) / 1024
                default: 1.0
                }
            return sum + Int64(min(1e9, max(0, duration * rate)))
        }
        let covers = plan.covers.reduce(Int64(0)) { sum, cover in
            let picture = try? input.attachedPicture(ofStream: cover.index)
            return sum + Int64(picture?.size ?? 0)
        }
        let tags = index.map { $0.children.filter { $0.type != "trak" }.reduce(0) { $0 + $1.size } } ?? 0
        return IndexPlacement.gap(packets: packets, besides: covers + Int64(tags))
    }

    /// Tracks without a packet are not in the index.
    private func tracks(
        of plan: CopyPlan, _ tallies: [StreamTally], _ written: [Written]
    ) -> [Verification.Expected] {
        plan.tracks.indices.compactMap { index in
            let track = plan.tracks[index]
            if tallies[index].written == 0 { return nil }
            return Verification.Expected(
                stream: track.stream, treatment: track.treatment, tally: tallies[index],
                parameters: written[index].parameters, packets: written[index].packets)
        }
    }

    // MARK: - Words

    private func summary(
        of tracks: [Verification.Expected], _ tallies: [StreamTally], _ damage: String?
    ) -> MediaSummary {
        let tracks = tracks.map { TrackWords.summary(of: CopyPlan.Track(stream: $0.stream, treatment: $0.treatment)) }
        let frames = tallies.first { $0.kind == .video }?.written ?? 0
        var summary = MediaSummary(
            container: CopyPlan.container, duration: tallies.map { $0.writtenEnd }.max() ?? 0, videoFrames: frames,
            tracks: tracks)
        summary.damage = damage
        return summary
    }
}
