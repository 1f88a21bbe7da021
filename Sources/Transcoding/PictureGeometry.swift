import FFmpeg

/// From the size a picture has to the size it is encoded in.
struct PictureGeometry: Equatable {
    private let sourceWidth: Int
    private let sourceHeight: Int
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
        sourceWidth = width
        sourceHeight = height
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

    /// A display matrix for the new size: what it moves the picture by is counted in its pixels (ISO/IEC 14496-12, 6.2.2).
    func matrix(_ matrix: [Int32]) -> [Int32] {
        guard matrix.count == 9, isScaled, sourceWidth > 0, sourceHeight > 0 else { return matrix }
        var scaled = matrix
        // Moved sideways by the picture's width as it is shown, which is its height where it is turned by a quarter.
        let isTurned = matrix[0] == 0 && matrix[4] == 0
        let (across, down) = isTurned ? (sourceHeight, sourceWidth) : (sourceWidth, sourceHeight)
        let (newAcross, newDown) = isTurned ? (height, width) : (width, height)
        scaled[6] = Int32(clamping: Int64(matrix[6]) * Int64(newAcross) / Int64(across))
        scaled[7] = Int32(clamping: Int64(matrix[7]) * Int64(newDown) / Int64(down))
        return scaled
    }

    /// libavfilter's chain that makes of `input` what the encoder takes, but for padding: its `pad` cuts an odd column off
    /// before it adds one.
    ///
    /// Colours keep their numbers: the range is given to both sides of every conversion, so that none is converted. Only
    /// RGB has to become something else; it becomes BT.709 in limited range.
    ///
    /// - Parameters:
    ///   - input: what the pictures are.
    ///   - pixelFormat: what the encoder takes.
    ///   - deinterlaces: whether fields become whole pictures.
    ///   - isInterlaced: whether they stay fields.
    /// - Returns: the chain in libavfilter's words.
    func filters(
        for input: VideoFormat, pixelFormat: PixelFormat, deinterlaces: Bool, isInterlaced: Bool = false
    ) -> String {
        var chain: [String] = []
        if deinterlaces { chain.append("bwdif=mode=send_frame:parity=auto:deint=interlaced") }
        let isSameSize = input.width == scaledWidth && input.height == scaledHeight
        if !isSameSize || input.pixelFormat != pixelFormat {
            var scale = "scale=w=\(scaledWidth):h=\(scaledHeight):flags=bicubic+accurate_rnd+full_chroma_int"
            if isInterlaced { scale += ":interl=1" }
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
