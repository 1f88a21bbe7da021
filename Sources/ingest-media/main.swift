import FoundationEssentials
import IngestModel
import SystemIO
import Transcoding

/// One line of JSON in, lines of JSON out; see `MediaRequest` and `MediaEvent`.
func readRequest() throws -> MediaRequest {
    var line: [UInt8] = []
    while !line.contains(UInt8(ascii: "\n")) {
        let bytes = try StandardStream.input.descriptor.readSome(atMost: 64 << 10)
        if bytes.isEmpty { ThisProcess.exitNow(2) }
        line += bytes
    }
    return try JSONDecoder().decode(MediaRequest.self, from: Data(line))
}

ThisProcess.ignoreBrokenPipes()
let request: MediaRequest
do {
    request = try readRequest()
} catch {
    ThisProcess.exitNow(2)
}
#if DEBUG
    let trial = ProcessArguments.all.first.map { String(decoding: $0, as: UTF8.self) }
    if trial == "--try-without-fence" { FenceTrial.tryEverything(missing: []) }
#endif
// Before there is a second thread, and before a byte of the recording is looked at.
let unfenced = request.fence.close()
#if DEBUG
    if trial == "--try-to-escape" { FenceTrial.tryEverything(missing: unfenced) }
#endif
// The other end of the input closes when whoever started this process ends: then nobody wants the result.
Thread.detach {
    while let bytes = try? StandardStream.input.descriptor.readSome(atMost: 64), !bytes.isEmpty {}
    ThisProcess.exitNow(1)
}
if case .prepare(let job) = request, let niceness = job.niceness {
    ThisProcess.lowerPriority(niceness: niceness)
}
@Sendable func say(_ event: MediaEvent) {
    do {
        let line = try JSONEncoder().encode(event)
        try StandardStream.output.descriptor.write((Array(line) + [UInt8(ascii: "\n")]).span)
    } catch {
        ThisProcess.exitNow(1)
    }
}
if !unfenced.isEmpty { say(.unfenced(unfenced)) }
Fence.holdMemory(to: request.memoryForHead)
MediaWorker(emit: say, headIsRead: Fence.giveMemory).handle(request)
ThisProcess.exitNow(0)
