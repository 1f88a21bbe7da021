import CFFmpeg

/// What a codec gave back.
package enum Received<Thing> {
    case output(Thing)
    /// It wants more input first.
    case needsInput
    /// What went in was not as it was recorded; more may follow.
    case damaged
    case finished
}

/// What became of a packet.
package enum Sent {
    case taken
    /// There is output that must be taken first; the packet has to be sent again.
    case full
    /// The packet is not as it was recorded, and is dropped.
    case damaged
}

/// A decoder for one stream. Lives on one thread.
package final class Decoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private let splitter: PacketSplitter?

    /// Opens the stream's decoder with so many threads; 0 leaves their number to libavcodec.
    package init(_ stream: InputStream, threads: Int) throws(FFmpegError) {
        guard let codec = avcodec_find_decoder(stream.parameters.pointer.pointee.codec_id) else {
            throw FFmpegError("find a decoder for \(stream.codecName)", code: ingest_ff_unknown_codec())
        }
        guard let context = avcodec_alloc_context3(codec) else {
            throw FFmpegError("allocate a decoder", code: ingest_ff_out_of_memory())
        }
        self.context = context
        splitter = PacketSplitter(stream)
        try check(avcodec_parameters_to_context(context, stream.parameters.pointer), "set up the decoder")
        context.pointee.pkt_timebase = stream.timeBase.c
        context.pointee.thread_count = Int32(threads)
        try check(avcodec_open2(context, codec, nil), "open the decoder")
    }

    deinit {
        avcodec_free_context(&context)
    }

    /// Decodes no more than is needed to find out whether it can be: pictures are not smoothed at the edges of their blocks
    /// (`AVCodecContext.skip_loop_filter`).
    package func onlyChecks() {
        context?.pointee.skip_loop_filter = AVDISCARD_ALL
    }

    /// Whether pictures that no other is made from are passed over, from the next packet on (`AVCodecContext.skip_frame`).
    package func passesOverUnreferenced(_ passes: Bool) {
        context?.pointee.skip_frame = passes ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
    }

    /// What has to be sent for a packet: it itself, but for codecs whose packets hold more than the decoder takes at once.
    package func pieces(of packet: Packet) throws(FFmpegError) -> [Packet] {
        guard let splitter else { return [packet] }
        return try splitter.split(packet)
    }

    /// Hands over a packet, or with `nil` says that there are no more.
    package func send(_ packet: Packet?) throws(FFmpegError) -> Sent {
        let result = avcodec_send_packet(context, packet?.pointer)
        if result == ingest_ff_again() { return .full }
        if packet == nil, result == ingest_ff_end() { return .taken }
        return try isDamage(result) ? .damaged : .taken
    }

    package func receive() throws(FFmpegError) -> Received<Frame> {
        let frame = try Frame()
        let result = avcodec_receive_frame(context, frame.pointer)
        if result == ingest_ff_again() { return .needsInput }
        if result == ingest_ff_end() { return .finished }
        return try isDamage(result) ? .damaged : .output(frame)
    }

    /// Decoders call what they cannot make sense of by many codes; only a lack of memory is not the recording's fault.
    private func isDamage(_ result: Int32) throws(FFmpegError) -> Bool {
        if result == ingest_ff_out_of_memory() { throw FFmpegError("decode", code: result) }
        return result < 0
    }
}
