import FolderWatch
import IngestModel
import SystemIO
import Testing

/// When a recording counts as finished, without a disk or a clock.
@Suite("When a recording is finished")
struct ReadinessTests {
    private static func judge(
        size: Int64 = 1000, age: Double = 0, quiet: Double = 0, writer: Bool? = false,
        _ proof: ContainerVerdict? = .unprovable("x"), _ rules: WatchRules = WatchRules()
    ) -> Readiness {
        Readiness.judge(
            Look(size: ByteCount(size), age: age, quietFor: quiet, hasWriter: writer, proof: proof), rules)
    }

    fileprivate static func reason(_ readiness: Readiness) -> String? {
        if case .waits(let reason, _) = readiness { reason.words } else { nil }
    }

    @Test("kernel and container both say yes: at once")
    func atOnce() {
        #expect(Self.judge(.complete) == .finished(isProven: true))
        #expect(Self.judge(age: -500, .complete) == .finished(isProven: true))
    }

    @Test("somebody writes it: never, whatever else holds")
    func writer() {
        for proof in [ContainerVerdict.complete, .unprovable("x"), .incomplete("x")] {
            #expect(Self.reason(Self.judge(age: 9999, quiet: 9999, writer: true, proof)) == WaitingReason.writer.words)
        }
    }

    @Test("something is missing: never, however long it is quiet")
    func incomplete() {
        for writer in [false, nil] {
            #expect(Self.reason(Self.judge(age: 1e6, quiet: 1e6, writer: writer, .incomplete("no moov"))) == "no moov")
        }
        #expect(Self.reason(Self.judge(size: 0, age: 1e6, quiet: 1e6, nil)) == "it is empty")
    }

    @Test("nothing proves it: quiet for a while, by its own time only where nobody can write")
    func settles() {
        #expect(Self.judge(age: 2.1) == .finished(isProven: false))
        #expect(Self.judge(age: 1.9).isFinished == false)
        #expect(Self.judge(age: 1e6, quiet: 1.9, writer: nil).isFinished == false)
        #expect(Self.judge(age: 1e6, quiet: 2, writer: nil) == .finished(isProven: false))
        // The kernel cannot tell of writers, so the container alone is not enough.
        #expect(Self.judge(age: 1e6, quiet: 1.9, writer: nil, .complete).isFinished == false)
        #expect(Self.judge(quiet: 2, writer: nil, .complete) == .finished(isProven: true))
        var rules = WatchRules()
        rules.settlingTime = 10
        #expect(Self.judge(age: 9, rules: rules).isFinished == false)
        guard case .waits(_, let seconds) = Self.judge(age: 9, rules: rules) else { return }
        #expect(abs(seconds - 1) < 0.001)
    }

    @Test("a time in the future says nothing")
    func future() {
        #expect(Self.judge(age: -1e6, quiet: 1).isFinished == false)
        #expect(Self.judge(age: -1e6, quiet: 2) == .finished(isProven: false))
    }

    @Test("too young")
    func young() {
        var rules = WatchRules()
        rules.youngest = 60
        #expect(Self.judge(age: 59, .complete, rules).isFinished == false)
        #expect(Self.judge(age: 60, .complete, rules) == .finished(isProven: true))
    }

    private static func judge(age: Double, rules: WatchRules) -> Readiness { judge(age: age, .unprovable("x"), rules) }

    @Test("which files are meant")
    func rules() throws {
        let path = { (text: String) throws in try #require(FilePath(text)) }
        var rules = WatchRules()
        #expect(try rules.admits(path("a/b.MOV")) && !rules.admits(path("a/b.txt")) && !rules.admits(path("a/.b.mov")))
        #expect(try !rules.admits(path("b.mov.part")) && rules.admits(path("b.srt")))
        rules.groups = false
        #expect(try !rules.admits(path("b.srt")))
        rules.includes = [try #require(FileGlob("*.dat")), try #require(FileGlob("/raw/*"))]
        #expect(try rules.admits(path("x/B.DAT")) && rules.admits(path("raw/b")) && !rules.admits(path("b.mov")))
        #expect(try !rules.admits(path("x.dat.part")))
        rules.excludes = [try #require(FileGlob("x*"))]
        #expect(try !rules.admits(path("y/x.dat")) && !rules.entersDirectory(path("y/xx")))
        #expect(try rules.entersDirectory(path("y/z")) && !rules.entersDirectory(path("@eaDir")))
        rules.isRecursive = false
        #expect(try !rules.entersDirectory(path("y")))
    }
}

extension Readiness {
    fileprivate var isFinished: Bool { if case .finished = self { true } else { false } }
}
