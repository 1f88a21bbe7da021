import FFmpeg

/// How alike two pictures are, by the structural similarity of small grey versions of them (Wang, Bovik, Sheikh, Simoncelli:
/// "Image quality assessment: from error visibility to structural similarity", 2004).
enum PictureLikeness {
    /// A small grey picture, row by row.
    struct Grey {
        let width: Int
        let height: Int
        let samples: [UInt8]
    }

    private static let longSide = 96
    private static let window = 8
    private static let step = 4

    /// The size in which pictures of a shape are compared.
    static func size(ofWidth width: Int, height: Int) -> (width: Int, height: Int) {
        let long = max(width, height, 1)
        func scaled(_ side: Int) -> Int { max(window, side * longSide / long) }
        return (scaled(width), scaled(height))
    }

    static func grey(_ frame: Frame, timeBase: Rational, size: (width: Int, height: Int)) throws -> Grey? {
        frame.normaliseRange()
        let graph = try FilterGraph(
            video: frame.videoFormat, timeBase: timeBase, frameRate: Rational(0, 1),
            filters: "scale=w=\(size.width):h=\(size.height):flags=area,format=gray")
        try graph.send(frame)
        try graph.send(nil)
        guard case .output(let small) = try graph.receive() else { return nil }
        return Grey(width: size.width, height: size.height, samples: small.firstPlane)
    }

    /// 1 for the same picture, about 0 for another one.
    static func of(_ left: Grey, _ right: Grey) -> Double {
        guard left.width == right.width, left.height == right.height, left.samples.count == right.samples.count,
            left.samples.count == left.width * left.height
        else { return 0 }
        var sum = 0.0
        var count = 0
        for top in stride(from: 0, through: left.height - window, by: step) {
            for start in stride(from: 0, through: left.width - window, by: step) {
                sum += similarity(left, right, top, start)
                count += 1
            }
        }
        return count == 0 ? 0 : sum / Double(count)
    }

    private static func similarity(_ left: Grey, _ right: Grey, _ top: Int, _ start: Int) -> Double {
        var (a, b, aa, bb, ab) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for row in top..<(top + window) {
            for column in start..<(start + window) {
                let x = Double(left.samples[row * left.width + column])
                let y = Double(right.samples[row * left.width + column])
                a += x
                b += y
                aa += x * x
                bb += y * y
                ab += x * y
            }
        }
        let n = Double(window * window)
        let (meanA, meanB) = (a / n, b / n)
        let (varianceA, varianceB) = (aa / n - meanA * meanA, bb / n - meanB * meanB)
        let covariance = ab / n - meanA * meanB
        // The constants of the paper for samples of 8 bits.
        let (c1, c2) = (6.5025, 58.5225)
        return (2 * meanA * meanB + c1) * (2 * covariance + c2)
            / ((meanA * meanA + meanB * meanB + c1) * (varianceA + varianceB + c2))
    }
}
