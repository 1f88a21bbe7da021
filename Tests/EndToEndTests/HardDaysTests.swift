import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// Days on which something around the program goes wrong: disks, clocks, networks, and everybody at once.
@Suite("Hard days", .serialized, .timeLimit(.minutes(15)))
struct HardDaysTests {
    private let home: TestHome

    init() throws {
        home = try TestHome()
    }

    // MARK: - Disks

    /// Runs a script as root of mounts of its own, in which `$I` is the program; `nil` where the system has no such thing.
    private func withOwnMounts(_ script: String) async throws -> [String]? {
        guard try await Judge.tool("unshare", ["-rm", "true"]).status == 0 else {
            print("NOTE: no mount namespaces here: not tested on small and read-only disks")
            return nil
        }
        let whole = "I='\(TestPlace.programs)/ingest'; cd; mkdir -p .cache .local/state store\n" + script
        let outcome = try await RunningProgram(
            "/usr/bin/env", ["unshare", "-rm", "/bin/bash", "-c", whole], environment: home.environment
        ).wait(seconds: 120)
        return outcome.output.split(separator: "\n").map(String.init) + [outcome.errors]
    }

    @Test("the disk of the cache is full, while copying and while encoding: not now, nothing half done, then on")
    func fullCache() async throws {
        let server = try await BlockServer()
        try home.recording()
        let clip = try TestPlace.fixture("capture.mov").text
        let lines = try await withOwnMounts(
            """
            mount -t tmpfs -o size=2m none .cache
            $I capture.bin --to \(server.destination) --patience 1 >/dev/null; echo copying $? $(ls .cache/Video)
            umount .cache; mount -t tmpfs -o size=100k none .cache
            $I '\(clip)' --compress=fast --to \(server.destination) --patience 1 >/dev/null; echo encoding $? $(ls .cache/Video)
            mount -o remount,size=16m .cache
            $I -q retry --all; $I run --once >/dev/null; echo later $? $(ls .cache/Video)
            """)
        guard let lines else { return }
        #expect(
            lines.dropLast() == ["copying 75 CACHEDIR.TAG", "encoding 75 CACHEDIR.TAG", "later 0 CACHEDIR.TAG"],
            "\(lines)")
        #expect(lines.last?.contains("make room") == true)
        #expect(try server.completed().count == 2)
    }

    @Test("the disk of the list is full: it can still be read, an upload stops in good order and goes on later")
    func fullList() async throws {
        let server = try await BlockServer()
        try home.recording()
        let lines = try await withOwnMounts(
            """
            mount -t tmpfs -o size=8m none .local/state
            fill() { dd if=/dev/zero of=.local/state/fill bs=4k 2>/dev/null; }
            $I -q -d capture.bin --to \(server.destination) --block-size 64KiB --limit-rate 800k > /dev/null
            fill; $I run --once >/dev/null; echo before $?
            $I list | grep -c queued; $I pause 1; echo pausing $?
            rm .local/state/fill
            $I run --once >/dev/null & sleep 1.5; fill; wait $!; echo amidst $?
            rm .local/state/fill; $I run --once >/dev/null; echo later $?
            fill; $I run & sleep 2; rm .local/state/fill; sleep 3; kill -0 $! && kill $!; wait $!; echo patient $?
            """)
        guard let lines else { return }
        #expect(
            lines.dropLast() == ["before 75", "1", "pausing 75", "amidst 75", "later 0", "patient 0"], "\(lines)")
        #expect(try server.completed().count == 1)
        // No more is sent again than was in flight each time.
        #expect(try server.blocks().count <= 49 + 2)
    }

    @Test("the receiver's disk is full: told as such, waited for, then received")
    func fullReceiver() async throws {
        let bytes = try home.recording()
        let lines = try await withOwnMounts(
            """
            mount -t tmpfs -o size=2m none store
            $I receive --listen 127.0.0.1:0 --store store > where 2>/dev/null & R=$!
            until grep -q listening where; do sleep 0.1; done
            $I capture.bin --to block+$(cut -d' ' -f3 where)/upload --patience 1 >/dev/null; echo full $?
            mount -o remount,size=16m store
            $I -q retry --all; $I run --once > /dev/null; echo later $?
            kill $R; wait $R; echo receiver $?; sha256sum store/*.bin | cut -d' ' -f1
            """)
        guard let lines else { return }
        #expect(
            lines.dropLast() == ["full 75", "later 0", "receiver 0", SHA256.digest(of: bytes).hex], "\(lines)")
        #expect(lines.last?.contains("no space left") == true)
    }

    @Test("a cache that is read only is told in words, once; written to again, it is used")
    func readOnlyCache() async throws {
        let server = try await BlockServer()
        try home.recording()
        let lines = try await withOwnMounts(
            """
            mkdir -p .cache/Video; mount --bind .cache .cache; mount -o remount,ro,bind .cache
            timeout 20 $I capture.bin --to \(server.destination) >/dev/null; echo readonly $?
            mount -o remount,rw,bind .cache
            $I capture.bin --to \(server.destination) > /dev/null; echo later $?
            """)
        guard let lines else { return }
        #expect(lines.dropLast() == ["readonly 1", "later 0"], "\(lines)")
        let words = lines.last ?? ""
        #expect(words.components(separatedBy: "read-only").count == 2, "\(words)")
    }

    @Test("a copy that cannot be deleted stays owed, is told, and does not keep the processor busy")
    func undeletableCopy() async throws {
        let server = try await BlockServer(["slow:3@4"])
        try home.recording()
        let lines = try await withOwnMounts(
            """
            mkdir -p .cache/Video; mount --bind .cache .cache
            $I capture.bin --to \(server.destination) --patience 20 >/dev/null & sleep 2; mount -o remount,ro,bind .cache; wait $!
            echo readonly $?; $I list --all --json | grep -o '"cleanup":"[a-z]*"'
            mount -o remount,rw,bind .cache
            $I run --once > /dev/null; echo later $? $(ls .cache/Video); $I list --all --json | grep -o '"cleanup":"[a-z]*"'
            """)
        guard let lines else { return }
        #expect(lines.dropLast().last == "\"cleanup\":\"done\"" && lines.contains("later 0 CACHEDIR.TAG"), "\(lines)")
        #expect(lines.contains("\"cleanup\":\"pending\""), "\(lines)")
        #expect((lines.last ?? "").components(separatedBy: "cannot be deleted").count <= 3, "\(lines)")
        #expect(try server.completed().count == 1)
    }

    /// The environment in which disks and clocks do as a test wants.
    private func systemFault(_ variables: [String: String]) async throws -> [String: String] {
        let library = home.path + "/system_fault.so"
        let built = try await Judge.tool(
            "gcc", ["-shared", "-fPIC", "-O1", "-o", library, TestPlace.root + "/Tests/Support/system_fault.c", "-ldl"])
        guard built.status == 0 else { throw TestFailure(built.errors) }
        return variables.merging(["LD_PRELOAD": library]) { left, _ in left }
    }

    @Test("a quota is a full disk: not now, nothing half done")
    func quota() async throws {
        let server = try await BlockServer()
        try home.recording()
        let fault = try await systemFault([
            "DISK_FAULT_WRITE": "/Video/", "DISK_FAULT_AFTER": "1500000", "DISK_FAULT_CODE": "\(EDQUOT)",
        ])
        let outcome = try await home.run(["capture.bin", "--to", server.destination, "--patience", "1"], fault)
        #expect(outcome.status == 75 && outcome.errors.contains("make room"), "\(outcome.errors)")
        #expect(home.cached == [])
        _ = try await home.run(["retry", "1"])
        #expect(try await home.run(["run", "--once"]).status == 0)
    }

    @Test("a card that cannot be read any more fails in words and leaves nothing half done")
    func dyingCard() async throws {
        let server = try await BlockServer()
        try home.recording()
        let fault = try await systemFault([
            "DISK_FAULT_READ": "/capture.bin", "DISK_FAULT_AFTER": "2500000", "DISK_FAULT_CODE": "\(EIO)",
        ])
        let outcome = try await home.run(["capture.bin", "--to", server.destination], fault)
        #expect(outcome.status == 1 && outcome.errors.contains("input/output error"), "\(outcome.errors)")
        #expect(try home.cached == [] && server.log().isEmpty)
    }

    @Test("the cache is a link to a directory on another disk, or leads nowhere")
    func linkedCache() async throws {
        let server = try await BlockServer()
        try home.recording()
        try FileManager.default.createDirectory(atPath: home.path + "/.cache", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: home.path + "/big", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: home.cachePath, withDestinationPath: home.path + "/big")
        #expect(try await home.run(["capture.bin", "--to", server.destination]).status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path + "/big") == ["CACHEDIR.TAG"])
        try FileManager.default.removeItem(atPath: home.path + "/big")
        let lost = try await home.run(["capture.bin", "--to", server.destination])
        #expect(lost.status == 75 && lost.errors.contains("the cache is not there"), "\(lost.errors)")
    }

    @Test("a list that another program keeps locked: not now, in words; then on")
    func lockedList() async throws {
        try home.recording()
        _ = try await home.run(["-d", "capture.bin"])
        let script = """
            import sqlite3, sys, time
            c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute("BEGIN EXCLUSIVE"); print("held", flush=True); time.sleep(60)
            """
        let holder = try RunningProgram(
            "/usr/bin/env", ["python3", "-c", script, home.path + "/.local/state/ingest/list.sqlite"],
            environment: home.environment)
        try await eventually("it holds the lock") { holder.output.contains("held") }
        #expect(try await home.run(["list"]).status == 0, "who only looks is not held up")
        let outcome = try await home.run(["pause", "1"])
        #expect(outcome.status == 75 && outcome.errors.contains("in use by another program"), "\(outcome.errors)")
        holder.send(SIGKILL)
        _ = try await holder.wait()
        #expect(try await home.run(["run", "--once"]).status == 0)
    }

    // MARK: - Clocks

    /// Runs the program as if it were another day, given in seconds since 1970.
    private func run(at time: Double, _ arguments: [String]) async throws -> RunningProgram.Outcome {
        let shift = Int(time - Date().timeIntervalSince1970)
        return try await home.run(arguments, try await systemFault(["CLOCK_SHIFT": "\(shift)"]))
    }

    /// 1970-01-02 and 2038-06-01.
    private static let strangeTimes = [86_400.0, 2_159_000_000]

    @Test("a clock at 1970, and one that is years ahead: everything arrives", arguments: strangeTimes)
    func strangeClocks(time: Double) async throws {
        let server = try await BlockServer(["500@2"])
        let bytes = try home.recording()
        let outcome = try await run(at: time, ["capture.bin", "--to", server.destination])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try server.completed().map { $0.sha256 } == [SHA256.digest(of: bytes).hex])
        let seconds = Double(try server.completed().first?.name?.prefix { $0.isNumber } ?? "") ?? 0
        #expect(abs(seconds - time) < 60)
        #expect(home.cached == [])
    }

    @Test("set back by years while a file waits for its next try: it does not wait for years")
    func setBack() async throws {
        let server = try await BlockServer(["503:600@2"])
        try home.recording()
        let first = try await run(
            at: Self.strangeTimes[1], ["capture.bin", "--to", server.destination, "--patience", "1"])
        #expect(first.status == 75, "\(first.errors)")
        let later = try await home.run(["run", "--once"], seconds: 30)
        #expect(later.status == 0, "\(later.errors)")
        #expect(try server.completed().count == 1)
    }

    @Test("asleep in the middle of a block while the server is started anew: it goes on where it was")
    func asleep() async throws {
        let bytes = try home.recording()
        func receive(_ port: String) async throws -> RunningProgram {
            let receiver = try home.start(["receive", "--listen", "127.0.0.1:\(port)", "--store", "store"])
            try await eventually("it listens") { receiver.output.hasSuffix("\n") }
            return receiver
        }
        var receiver = try await receive("0")
        let address = receiver.output.split(separator: " ").last?.trimmingCharacters(in: .newlines) ?? ""
        let port = String(address.split(separator: ":").last ?? "")
        let client = try home.start([
            "capture.bin", "--to", "block+\(address)/upload", "--limit-rate", "1M", "--block-size", "512KiB",
        ])
        try await eventually("a block is there") {
            client.errors.contains("uploading  0.50MB") || client.errors.contains("is being uploaded")
        }
        try await Task.sleep(for: .seconds(1))
        client.send(SIGSTOP)
        receiver.send(SIGKILL)
        _ = try await receiver.wait()
        receiver = try await receive(port)
        client.send(SIGCONT)
        let outcome = try await client.wait()
        #expect(outcome.status == 0, "\(outcome.errors)")
        let name = try #require(
            FileManager.default.contentsOfDirectory(atPath: home.path + "/store").first { $0.hasSuffix(".bin") })
        #expect(try home.directory.file("store/" + name).contents() == bytes)
        receiver.send(SIGTERM)
        _ = try await receiver.wait()
    }

    // MARK: - Networks

    @Test("a proxy that answers for the server is not believed; without it the file arrives")
    func proxy() async throws {
        let server = try await BlockServer()
        try home.recording()
        let script = """
            import http.server
            class H(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    self.rfile.read(int(self.headers["Content-Length"]))
                    self.send_response(200); self.send_header("Content-Type", "text/html"); self.end_headers()
                    self.wfile.write(b"<html>Please accept our terms</html>")
            s = http.server.HTTPServer(("127.0.0.1", 0), H); print(s.server_port, flush=True); s.serve_forever()
            """
        let portal = try RunningProgram("/usr/bin/env", ["python3", "-c", script], environment: home.environment)
        try await eventually("it listens") { portal.output.hasSuffix("\n") }
        let url = "http://127.0.0.1:" + portal.output.trimmingCharacters(in: .newlines)
        let outcome = try await home.run(
            ["capture.bin", "--to", server.destination, "--patience", "1"], ["http_proxy": url])
        #expect(outcome.status == 75 && outcome.errors.contains("log-in page"), "\(outcome.errors)")
        #expect(try server.log().isEmpty && home.cached.count == 1)
        #expect(try await home.run(["run", "--once"]).status == 0)
        portal.send(SIGKILL)
    }

    @Test("a name that cannot be resolved: not now, in words")
    func deadDNS() async throws {
        try home.recording()
        let outcome = try await home.run([
            "capture.bin", "--to", "https://no.such.host.invalid/upload", "--patience", "1",
        ])
        #expect(outcome.status == 75 && outcome.errors.contains("cannot be resolved"), "\(outcome.errors)")
        #expect(home.cached.count == 1)
    }

    @Test("a receiver that was restored from a backup in the middle knows less: it gets the rest again")
    func restored() async throws {
        let bytes = try home.recording()
        func receive() async throws -> (RunningProgram, String) {
            let receiver = try home.start(["receive", "--listen", "127.0.0.1:0", "--store", "store"])
            try await eventually("it listens") { receiver.output.hasSuffix("\n") }
            return (receiver, receiver.output.split(separator: " ").last?.trimmingCharacters(in: .newlines) ?? "")
        }
        func upload(_ address: String, until count: Int) async throws {
            let client = try home.start(["run", "--once"])
            try await eventually("so many blocks are there") {
                let parts = home.path + "/store/.ingest/parts"
                let sizes = try FileManager.default.contentsOfDirectory(atPath: parts).map {
                    try FileManager.default.attributesOfItem(atPath: parts + "/" + $0)[.size] as? Int ?? 0
                }
                return sizes.max() ?? 0 >= count << 16
            }
            client.send(SIGTERM)
            _ = try await client.wait()
        }
        let (first, address) = try await receive()
        let port = String(address.split(separator: ":").last ?? "")
        _ = try await home.run([
            "-d", "capture.bin", "--to", "block+\(address)/upload", "--limit-rate", "1M", "--block-size", "64KiB",
        ])
        try await upload(address, until: 8)
        first.send(SIGTERM)
        _ = try await first.wait()
        try FileManager.default.copyItem(atPath: home.path + "/store", toPath: home.path + "/backup")
        func again() async throws -> RunningProgram {
            let receiver = try home.start(["receive", "--listen", "127.0.0.1:\(port)", "--store", "store"])
            try await eventually("it listens") { receiver.output.hasSuffix("\n") }
            return receiver
        }
        let second = try await again()
        try await upload(address, until: 24)
        second.send(SIGTERM)
        _ = try await second.wait()
        try FileManager.default.removeItem(atPath: home.path + "/store")
        try FileManager.default.moveItem(atPath: home.path + "/backup", toPath: home.path + "/store")
        let third = try await again()
        let outcome = try await home.run(["run", "--once"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let names = try FileManager.default.contentsOfDirectory(atPath: home.path + "/store").filter { $0 != ".ingest" }
        #expect(names.count == 1)
        #expect(try home.directory.file("store/" + (names.first ?? "")).contents() == bytes)
        third.send(SIGTERM)
        _ = try await third.wait()
    }

    // MARK: - Many

    @Test("every command at once, again and again: each file arrives once, and the list stays sound")
    func everybodyAtOnce() async throws {
        let server = try await BlockServer(["500@1", "500@2", "lost@2", "503:1@1"])
        let count = 24
        for number in 1...count { try home.recording("f\(number)", size: 150_000 + number, seed: UInt64(number)) }
        _ = try await home.run(
            ["-q", "-d"] + (1...count / 2).map { "f\($0)" } + ["--to", server.destination, "--block-size=64KiB"])
        let commands: [[String]] = [
            ["run", "--once", "-q"], ["run", "--once", "-q", "-j", "3"], ["list", "--all"], ["pause", "3", "4"],
            ["resume", "--all"], ["retry", "--all"], ["next", "7"], ["clean"], ["show", "2"],
            ["-q", "f20", "f21", "--to", server.destination, "--block-size=64KiB"],
            ["-q", "f21", "f22", "--to", server.destination, "--block-size=64KiB"],
            ["-q", "-d"] + (13...count).map { "f\($0)" } + ["--to", server.destination, "--block-size=64KiB"],
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for round in 0..<3 {
                for (index, command) in commands.enumerated() {
                    group.addTask {
                        try await Task.sleep(for: .milliseconds(150 * (index + round * 4)))
                        let outcome = try await home.run(command, seconds: 120)
                        // Refused, paused by somebody, done already: but never a crash.
                        #expect(
                            [0, 1, 2, 3, 75].contains(outcome.status), "\(command): \(outcome.status) \(outcome.errors)"
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        _ = try await home.run(["resume", "--all"])
        _ = try await home.run(["retry", "--all"])
        let last = try await home.run(["run", "--once", "-q"], seconds: 120)
        #expect(last.status == 0, "\(last.errors)")
        let items = try await home.items()
        #expect(items.allSatisfy { $0["state"] as? String == "done" })
        // A file that was finished when it was named again has gone up again, under an item of its own; no item twice.
        #expect(try server.completed().count == items.count)
        #expect(Set(items.compactMap { $0["file"] as? String }).count == count)
        #expect(home.cached == [])
        #expect(try await home.run(["clean"]).status == 0)
    }

    @Test("a thousand items (ten thousand with --full): memory does not grow with them, and every one arrives")
    func manyItems() async throws {
        let count = TestPlace.isFull ? 10_000 : 1000
        try FileManager.default.createDirectory(atPath: home.path + "/many", withIntermediateDirectories: true)
        for number in 0..<count {
            try home.directory.write(Array("recording \(number)".utf8), to: "many/\(number).bin")
        }
        let names = (0..<count).map { "many/\($0).bin" }
        for start in stride(from: 0, to: count, by: 2500) {
            let added = try await home.run(["-q", "-d"] + names[start..<min(count, start + 2500)], seconds: 300)
            #expect(added.status == 0)
        }
        func peak(_ arguments: [String]) async throws -> Int {
            let script = """
                import os, resource, subprocess, sys
                status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
                print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
                """
            let outcome = try await RunningProgram(
                "/usr/bin/env", ["python3", "-c", script, TestPlace.programs + "/ingest"] + arguments,
                environment: home.environment, directory: home.path
            ).wait(seconds: 600)
            let numbers = outcome.output.split(separator: " ").compactMap { Int($0.trimmingCharacters(in: .newlines)) }
            guard numbers.count == 2, numbers[0] == 0 else { throw TestFailure("\(arguments): \(outcome)") }
            return numbers[1]
        }
        let empty = try await peak(["--version"])
        #expect(try await peak(["list"]) < empty + 16 << 10)
        #expect(try await peak(["run", "--once", "-q"]) < empty + 40 << 10)
        #expect(home.received.count == count && home.cached == [])
    }
}
