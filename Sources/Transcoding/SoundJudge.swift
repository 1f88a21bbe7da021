import Dispatch
import FFmpeg
import IngestModel
import Synchronization
import SystemIO

/// Decodes sound that is copied, on a thread of its own: whether it is sound shows only then, and costs next to nothing.
final class SoundJudge: Sendable {
    private let packets = BoundedQueue<Packet>(capacity: 256)
    private let verdict = Mutex<Result<StreamTally, Fault>?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    init(_ stream: InputStream) {
        Thread.detach { [self] in
            let result = Result { () throws(Fault) in try judge(stream) }
            packets.abandon()
            verdict.withLock { $0 = result }
            isDone.signal()
        }
    }

    /// Takes a packet, and leaves it as it is. One that comes after a failure is let go.
    func take(_ packet: Packet) throws(FFmpegError) {
        _ = packets.push(try packet.copy())
    }

    /// Waits until all of it is decoded.
    ///
    /// - Returns: frames and damage; nothing else of the tally means anything.
    func finish() throws(Fault) -> StreamTally {
        packets.end()
        isDone.wait()
        isDone.signal()
        guard let result = verdict.withLock({ $0 }) else {
            throw Fault(.encoderFailed, "a part of the encoder ended without a word")
        }
        return try result.get()
    }

    private func judge(_ stream: InputStream) throws(Fault) -> StreamTally {
        var tally = StreamTally(kind: stream.kind)
        do {
            let decoder = try Decoder(stream, threads: 1)
            while let packet = packets.pop() {
                if packet.isDamaged { tally.noteDamage() }
                try SoundDecoding.decode(packet, with: decoder, into: &tally) { _ in true }
            }
            try SoundDecoding.decode(nil, with: decoder, into: &tally) { _ in true }
        } catch {
            throw Source.fault(for: error)
        }
        return tally
    }
}
