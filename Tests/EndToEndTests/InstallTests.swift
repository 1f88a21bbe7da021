import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// `scripts/install`, with the programs that were built beside the tests.
@Suite("Installing", .serialized, .timeLimit(.minutes(3)))
struct InstallTests {
    private let home: TestHome

    init() throws {
        home = try TestHome()
    }

    private func script(_ words: [String]) async throws -> RunningProgram.Outcome {
        try await RunningProgram(
            TestPlace.root + "/scripts/install", words + ["--programs", TestPlace.programs],
            environment: home.environment, directory: home.path
        ).wait(seconds: 60)
    }

    private static let files = [
        "bin/ingest", "lib/systemd/system/ingest-receive.service", "lib/systemd/user/ingest-run.service",
        "lib/systemd/user/ingest-watch.service", "libexec/ingest/ingest-media", "libexec/ingest/installed",
        "share/bash-completion/completions/ingest", "share/fish/vendor_completions.d/ingest.fish",
        "share/man/man1/ingest.1.gz", "share/zsh/site-functions/_ingest",
    ]

    @Test("what is installed runs from there; twice is once; all of it goes, and nothing else")
    func prefix() async throws {
        try home.directory.write([1], to: "there/share/man/man1/other.1.gz")
        for _ in 0..<2 {
            let outcome = try await script(["--prefix", "there"])
            #expect(outcome.status == 0 && outcome.output.contains("enable --now ingest-watch"), "\(outcome.errors)")
            #expect(
                try home.directory.files(below: "there") == (Self.files + ["share/man/man1/other.1.gz"]).sorted())
        }
        let unit = try home.directory.file("there/lib/systemd/user/ingest-run.service").contents()
        #expect(String(decoding: unit, as: UTF8.self).contains("ExecStart=\"\(home.path)/there/bin/ingest\" run\n"))

        let outcome = try await RunningProgram(
            home.path + "/there/bin/ingest", [TestPlace.fixture("capture.mov").text, "--compress=fast"],
            environment: home.environment, directory: home.path
        ).wait()
        #expect(outcome.status == 0 && home.received.count == 1, "\(outcome.errors)")

        let gone = try await script(["--prefix", "there", "--uninstall"])
        #expect(gone.status == 0, "\(gone.errors)")
        let left = try FileManager.default.subpathsOfDirectory(atPath: home.path + "/there").sorted()
        #expect(left == ["share", "share/man", "share/man/man1", "share/man/man1/other.1.gz"])
        #expect(home.received.count == 1 && FileManager.default.fileExists(atPath: home.path + "/.local/state/ingest"))
        #expect(try await script(["--prefix", "there", "--uninstall"]).status == 1)
    }

    @Test("for one user: below ~/.local, and gone again")
    func user() async throws {
        #expect(try await script(["--user"]).status == 0)
        let files = try home.directory.files(below: ".local")
        #expect(files.count == 9 && files.contains("share/systemd/user/ingest-watch.service"))
        #expect(try await script(["--user", "--uninstall"]).status == 0)
        #expect(!FileManager.default.fileExists(atPath: home.path + "/.local"))
    }

    @Test("below another root the units name the place where it will be")
    func destdir() async throws {
        #expect(try await script(["--prefix", "/usr", "--destdir", "stage"]).status == 0)
        #expect(try home.directory.files(below: "stage/usr") == Self.files)
        let unit = try home.directory.file("stage/usr/lib/systemd/system/ingest-receive.service").contents()
        #expect(String(decoding: unit, as: UTF8.self).contains("ExecStart=\"/usr/bin/ingest\" receive\n"))
    }

    @Test(
        "systemd understands the units", .enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0),
        arguments: ["user", "system"])
    func units(manager: String) async throws {
        #expect(try await script(["--prefix", "there"]).status == 0)
        let units = home.path + "/there/lib/systemd/" + manager
        let outcome = try await RunningProgram(
            "/usr/bin/systemd-analyze",
            ["verify", "--man=no", "--" + manager]
                + FileManager.default.contentsOfDirectory(atPath: units).map { units + "/" + $0 },
            environment: home.environment.merging(["XDG_RUNTIME_DIR": home.path]) { $1 }
        ).wait()
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
    }
}
