import FFmpeg

/// From the size a picture has to the size it is encoded in.
struct PictureGeometry: Equatable {
    /// Of the picture after scaling, before padding.
    let scaledWidth: Int
    let scaledHeight: Int
    let isScaled: Bool
    /// Always even: an odd side grows by a repeated line rather than losing one.
    var width: Int { scaledWidth + scaledWidth % 2 }
    var height: Int { scaledHeight + scaledHeight % 2 }
    var isPadded: Bool { width != scaledWidth || height != scaledHeight }

    /// `longestShortSide` limits the shorter side, which is the displayed height of an upright landscape picture and the
    /// displayed width of a portrait one, however the matrix turns it. Never enlarges.
    init(width: Int, height: Int, longestShortSide: Int?) {
        let shortSide = min(width, height)
        guard let limit = longestShortSide, limit < shortSide else {
            scaledWidth = width
            scaledHeight = height
            isScaled = false
            return
        }
        func even(_ side: Int) -> Int { max(2, (side * limit + shortSide) / (2 * shortSide) * 2) }
        scaledWidth = even(width)
        scaledHeight = even(height)
        isScaled = true
    }

    /// libavfilter's chain that makes of `input` what the encoder takes, but for padding: its `pad` cuts an odd column off
    /// before it adds one.
    ///
    /// Colours keep their numbers: the range is given to both sides of every conversion, so that none is converted. Only
    /// RGB has to become something else; it becomes BT.709 in limited range.
    func filters(for input: VideoFormat, pixelFormat: PixelFormat, deinterlaces: Bool) -> String {
        var chain: [String] = []
        if deinterlaces { chain.append("bwdif=mode=send_frame:parity=auto:deint=interlaced") }
        let isSameSize = input.width == scaledWidth && input.height == scaledHeight
        if !isSameSize || input.pixelFormat != pixelFormat {
            var scale = "scale=w=\(scaledWidth):h=\(scaledHeight):flags=bicubic+accurate_rnd+full_chroma_int"
            if input.pixelFormat.isRGB {
                scale += ":out_range=tv:out_color_matrix=bt709"
            } else {
                let range = input.colour.isFullRange ? "pc" : "tv"
                scale += ":in_range=\(range):out_range=\(range)"
            }
            chain.append(scale)
            chain.append("format=\(pixelFormat.name)")
        }
        return chain.isEmpty ? "null" : chain.joined(separator: ",")
    }
}
