import CFFmpeg

/// A chain of filters with one input and one output. Lives on one thread.
package final class FilterGraph {
    private var graph: UnsafeMutablePointer<AVFilterGraph>?
    private var source: UnsafeMutablePointer<AVFilterContext>
    private var sink: UnsafeMutablePointer<AVFilterContext>

    /// For pictures.
    ///
    /// - Parameters:
    ///   - format: what goes in.
    ///   - timeBase: of the time stamps that go in.
    ///   - frameRate: a hint for filters that need one.
    ///   - filters: in libavfilter's syntax; `null` passes everything on.
    /// - Throws: `FFmpegError` where the chain cannot be set up.
    package convenience init(
        video format: VideoFormat, timeBase: Rational, frameRate: Rational, filters: String
    ) throws(FFmpegError) {
        let aspect = format.sampleAspectRatio
        var arguments = "video_size=\(format.width)x\(format.height):pix_fmt=\(format.pixelFormat.raw)"
        arguments += ":time_base=\(timeBase.numerator)/\(timeBase.denominator)"
        if aspect.isPositive { arguments += ":pixel_aspect=\(aspect.numerator)/\(aspect.denominator)" }
        if frameRate.isPositive { arguments += ":frame_rate=\(frameRate.numerator)/\(frameRate.denominator)" }
        try self.init(source: "buffer", arguments, sink: "buffersink", filters: filters)
    }

    /// For sound; time stamps that go in count samples of the format's rate.
    package convenience init(audio format: AudioFormat, filters: String) throws(FFmpegError) {
        let arguments =
            "sample_rate=\(format.sampleRate):sample_fmt=\(format.sampleFormatName)"
            + ":channel_layout=\(format.layout):time_base=1/\(format.sampleRate)"
        try self.init(source: "abuffer", arguments, sink: "abuffersink", filters: filters)
    }

    private init(source sourceName: String, _ arguments: String, sink sinkName: String, filters: String)
        throws(FFmpegError)
    {
        guard let made = avfilter_graph_alloc() else {
            throw FFmpegError("allocate filters", code: ingest_ff_out_of_memory())
        }
        made.pointee.nb_threads = 1
        var source: UnsafeMutablePointer<AVFilterContext>?
        var sink: UnsafeMutablePointer<AVFilterContext>?
        var inputs = avfilter_inout_alloc()
        var outputs = avfilter_inout_alloc()
        defer {
            avfilter_inout_free(&inputs)
            avfilter_inout_free(&outputs)
        }
        do throws(FFmpegError) {
            try check(
                avfilter_graph_create_filter(&source, avfilter_get_by_name(sourceName), "in", arguments, nil, made),
                "set up filters")
            try check(
                avfilter_graph_create_filter(&sink, avfilter_get_by_name(sinkName), "out", nil, nil, made),
                "set up filters")
            outputs?.pointee.name = av_strdup("in")
            outputs?.pointee.filter_ctx = source
            inputs?.pointee.name = av_strdup("out")
            inputs?.pointee.filter_ctx = sink
            try check(avfilter_graph_parse_ptr(made, filters, &inputs, &outputs, nil), "set up filters")
            try check(avfilter_graph_config(made, nil), "set up filters")
            guard let source, let sink else { throw FFmpegError("set up filters", code: ingest_ff_invalid_data()) }
            self.source = source
            self.sink = sink
            graph = made
        } catch {
            var unfinished: UnsafeMutablePointer<AVFilterGraph>? = made
            avfilter_graph_free(&unfinished)
            throw error
        }
    }

    deinit {
        avfilter_graph_free(&graph)
    }

    /// Hands over a frame, or with `nil` says that there are no more.
    package func send(_ frame: Frame?) throws(FFmpegError) {
        try check(av_buffersrc_add_frame_flags(source, frame?.pointer, Int32(AV_BUFFERSRC_FLAG_KEEP_REF)), "filter")
    }

    package func receive() throws(FFmpegError) -> Received<Frame> {
        let frame = try Frame()
        let result = av_buffersink_get_frame(sink, frame.pointer)
        if result == ingest_ff_again() { return .needsInput }
        if result == ingest_ff_end() { return .finished }
        try check(result, "filter")
        return .output(frame)
    }

    /// Of the frames that come out.
    package var timeBase: Rational { Rational(av_buffersink_get_time_base(sink)) }

    /// Has frames come out with exactly so many samples, but for the last.
    package func setFrameSize(_ samples: Int) {
        av_buffersink_set_frame_size(sink, UInt32(samples))
    }
}
