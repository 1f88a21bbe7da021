import Checksums
import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// The built program from outside: what the configuration says, and what follows an upload.
@Suite("Settings at work", .serialized, .timeLimit(.minutes(10)))
struct SettingsAtWorkTests {
    private let home: TestHome

    init() throws {
        home = try TestHome()
    }

    private func configure(_ text: String) throws {
        try home.directory.write(Array(text.utf8), to: ".config/ingest/config.toml").setMode(0o600)
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: home.path + "/" + name) }

    private func item(_ id: Int = 1) async throws -> [String: Any] {
        try #require(try await home.items().first { $0["id"] as? Int == id })
    }

    // MARK: - Destinations of the configuration

    @Test("a configured destination is reached by its name, with its token, block size and name there")
    func named() async throws {
        let server = try await BlockServer(arguments: ["--token", "hunter2", "--data-key", "result"])
        try configure(
            """
            to = "nas"
            as = "{dir}/{stem}.{ext}"

            [destination.nas]
            url = "\(server.destination)"
            token = "hunter2"
            block-size = "512KiB"
            data-key = "result"
            """)
        let bytes = try home.recording("cam1/capture.bin")
        let outcome = try await home.run(["cam1/capture.bin"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let done = try #require(try server.completed().first)
        #expect(done.sha256 == SHA256.digest(of: bytes).hex && done.name == "cam1_capture.bin")
        #expect(try server.blocks().count == 7)
        #expect(try await item()["destination"] as? String == "nas")
        #expect(try await home.run(["show", "1"]).output.contains("cam1_capture.bin"), "the name it really has there")
        for name in try home.directory.files(below: ".local/state/ingest") {
            let text = String(
                decoding: try home.directory.file(".local/state/ingest/" + name).contents(), as: UTF8.self)
            #expect(!text.contains("hunter2"))
        }
    }

    @Test("a destination that is no longer configured fails in words, and goes on once it is again")
    func forgotten() async throws {
        let server = try await BlockServer()
        let text = "[destination.nas]\nurl = \"\(server.destination)\"\n"
        try configure(text)
        try home.recording()
        _ = try await home.run(["-d", "capture.bin", "--to", "nas"])
        try configure("")
        let lost = try await home.run(["run", "--once"])
        #expect(lost.status == 1 && lost.errors.contains("“nas”"), "\(lost.errors)")
        #expect(try await home.run(["run", "--once"]).errors.contains("1 item has failed"))
        try configure(text)
        _ = try await home.run(["retry", "1"])
        #expect(try await home.run(["run", "--once"]).status == 0)
        #expect(try server.completed().count == 1)
    }

    @Test("SIGHUP: a running upload obeys a new limit; settings that are wrong change nothing")
    func reloading() async throws {
        let server = try await BlockServer()
        let table = "[destination.nas]\nurl = \"\(server.destination)\"\n"
        try configure(table + "limit-rate = \"100k\"\n")
        try home.recording()
        _ = try await home.run(["-d", "capture.bin", "--to", "nas", "--block-size=128KiB"])
        let running = try home.start(["run", "--once"])
        try await eventually("a block has arrived") { try server.blocks().count >= 1 }
        try configure("limit-rat = 5\n")
        running.send(SIGHUP)
        try await eventually("it says what is wrong") { running.errors.contains("did you mean “limit-rate”?") }
        #expect(running.errors.contains("stay as they were") && running.isRunning)
        try configure(table)
        running.send(SIGHUP)
        // 3 MiB at 100 kB/s take half a minute.
        let outcome = try await running.wait(seconds: 15)
        #expect(outcome.status == 0 && outcome.errors.contains("read again"), "\(outcome.errors)")
        #expect(try server.completed().count == 1)
    }

    @Test("SIGHUP: the receiver takes another token; one that it cannot read changes nothing")
    func reloadingReceiver() async throws {
        try home.directory.write(Array("old\n".utf8), to: "token").setMode(0o600)
        let receiver = try home.start(["receive", "--listen=127.0.0.1:0", "--store=store", "--token-file=token"])
        try await eventually("it listens") { receiver.output.hasSuffix("\n") }
        let url = receiver.output.split(separator: " ").last?.trimmingCharacters(in: .newlines) ?? ""
        try home.recording(size: 1000)
        func upload(_ token: String) async throws -> Int32 {
            try await home.run(["capture.bin", "--to", "block+\(url)/upload"], ["INGEST_TOKEN": token]).status
        }
        #expect(try await upload("old") == 0)
        try home.directory.file("token").setMode(0o644)
        receiver.send(SIGHUP)
        try await eventually("it says why not") { receiver.errors.contains("chmod 600") }
        #expect(try await upload("old") == 0)
        try home.directory.write(Array("new\n".utf8), to: "token").setMode(0o600)
        receiver.send(SIGHUP)
        try await eventually("it says so") { receiver.errors.contains("have been read again") }
        #expect(try await upload("old") == 1)
        #expect(try await upload("new") == 0)
        receiver.send(SIGTERM)
        #expect(try await receiver.wait().status == 0)
    }

    @Test("a timetable that lets nothing through: not now, with the hour, and nothing is sent")
    func closed() async throws {
        let server = try await BlockServer()
        try configure("[destination.nas]\nurl = \"\(server.destination)\"\ntimetable = \"0:00-24:00 off\"\n")
        try home.recording(size: 1000)
        let outcome = try await home.run(["capture.bin", "--to", "nas"])
        #expect(outcome.status == 75 && outcome.errors.contains("timetable of “nas”"), "\(outcome.errors)")
        #expect(try server.log().isEmpty)
        // Lifted it holds nothing back, and nobody has to know about “retry”; also while it runs.
        let running = try home.start(["run"])
        try await eventually("it has begun") { running.errors.contains("working off") }
        try configure("[destination.nas]\nurl = \"\(server.destination)\"\n")
        running.send(SIGHUP)
        try await eventually("it has arrived") { try server.completed().count == 1 }
        running.send(SIGTERM)
        #expect(try await running.wait().status == 0)
    }

    @Test("a recording that another item still has to copy is not taken away from it")
    func neededByOthers() async throws {
        let server = try await BlockServer()
        let other = try await BlockServer()
        try home.recording()
        _ = try await home.run(["-d", "capture.bin", "--to", server.destination, "--after=delete"])
        _ = try await home.run(["-d", "capture.bin", "--to", other.destination])
        let outcome = try await home.run(["run", "--once"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.errors.contains("until item 2 has its copy"), "\(outcome.errors)")
        #expect(try server.completed().count == 1 && other.completed().count == 1)
        #expect(!exists("capture.bin"))
        #expect(try await item(1)["after"] as? String == "done")
    }

    @Test("one that waits for another item that does not move is done for now, says so, and goes later")
    func neededByPaused() async throws {
        let server = try await BlockServer()
        let other = try await BlockServer()
        try home.recording()
        _ = try await home.run(["-d", "capture.bin", "--to", other.destination])
        _ = try await home.run(["pause", "1"])
        let first = try await home.run(["capture.bin", "--to", server.destination, "--after=delete"], seconds: 30)
        #expect(first.status == 0 && first.errors.contains("until item 1 has its copy"), "\(first.errors)")
        #expect(exists("capture.bin"))
        #expect(try await home.run(["list"]).output.contains("is still to be done"))
        _ = try await home.run(["resume", "1"])
        #expect(try await home.run(["run", "--once"]).status == 0)
        #expect(try other.completed().count == 1 && !exists("capture.bin"))
    }

    @Test("a recording that somebody has moved away meanwhile is not said to have been moved by us")
    func goneMeanwhile() async throws {
        let server = try await BlockServer()
        try home.recording()
        try FileManager.default.createDirectory(atPath: home.path + "/done", withIntermediateDirectories: true)
        _ = try await home.run(
            ["capture.bin", "--to", server.destination, "--after=move:done"], ["INGEST_CRASH_AT": "after-done-stored"])
        try FileManager.default.moveItem(atPath: home.path + "/capture.bin", toPath: home.path + "/renamed.bin")
        let outcome = try await home.run(["run", "--once"])
        #expect(outcome.status == 0 && outcome.errors.contains("no longer where it was"), "\(outcome.errors)")
        #expect(!outcome.errors.contains("has been moved"))
    }

    @Test("removed from the list while its recording has no name: it gets that back")
    func removedMeanwhile() async throws {
        let server = try await BlockServer()
        try home.recording()
        _ = try await home.run(
            ["capture.bin", "--to", server.destination, "--after=delete"], ["INGEST_CRASH_AT": "after-copy-deleted"])
        let uuid = try #require(try await item()["uuid"] as? String)
        try FileManager.default.moveItem(
            atPath: home.path + "/capture.bin", toPath: home.path + "/.ingest-" + uuid.lowercased())
        #expect(try await home.run(["remove", "1"]).status == 0)
        #expect(exists("capture.bin"))
    }

    // MARK: - After it is there

    @Test(
        "the recording is deleted, trashed or moved once its item is done, and not before",
        arguments: ["delete", "trash", "move:done"])
    func after(action: String) async throws {
        try FileManager.default.createDirectory(atPath: home.path + "/done", withIntermediateDirectories: true)
        let server = try await BlockServer(["500@2", "500@2"])
        let bytes = try home.recording()
        let outcome = try await home.run(["capture.bin", "--to", server.destination, "--after", action])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(!exists("capture.bin") && home.cached == [])
        #expect(try await item()["after"] as? String == "done")
        let place = ["trash": ".local/share/Trash/files/capture.bin", "move:done": "done/capture.bin"][action]
        if let place { #expect(try home.directory.file(place).contents() == bytes) }
        // Given once more it is a new recording, not a memory.
        try home.recording()
        #expect(try await home.run(["capture.bin", "--to", server.destination]).status == 0)
        #expect(exists("capture.bin"))
    }

    @Test(
        "whatever dies in between, the recording goes once and the item is done",
        arguments: ["after-receipt-stored", "after-done-stored", "after-copy-deleted", "after-disposal"])
    func afterCrash(point: String) async throws {
        let server = try await BlockServer()
        try home.recording()
        let crashed = try await home.run(
            ["capture.bin", "--to", server.destination, "--after=delete"], ["INGEST_CRASH_AT": point])
        #expect(crashed.status == 1009)
        #expect(exists("capture.bin") == (point != "after-disposal"))
        let finished = try await home.run(["run", "--once"])
        #expect(finished.status == 0, "\(finished.errors)")
        #expect(!exists("capture.bin"))
        #expect(try await item()["after"] as? String == "done")
        #expect(try server.completed().count == 1)
    }

    @Test("a recording that was replaced in the meantime stays; that is told, and can be tried again")
    func afterChange() async throws {
        let server = try await BlockServer(["slow:2@3"])
        try home.recording()
        let running = try home.start(["capture.bin", "--to", server.destination, "--after=delete"])
        try await eventually("two blocks are there") { try server.blocks().count >= 2 }
        try home.directory.write([1, 2, 3], to: "capture.bin")
        let outcome = try await running.wait()
        #expect(
            outcome.status == 1 && outcome.errors.contains("no longer the file that was uploaded"), "\(outcome.errors)")
        #expect(try home.directory.file("capture.bin").contents() == [1, 2, 3])
        #expect((try await item()["after"] as? String)?.hasPrefix("failed(") == true)
        #expect(try await home.run(["list", "--all"]).output.contains("ingest retry 1"))
        try FileManager.default.removeItem(atPath: home.path + "/capture.bin")
        #expect(try await home.run(["retry", "1"]).status == 0)
        #expect(try await home.run(["run", "--once"]).status == 0)
        #expect(try await item()["after"] as? String == "done")
    }

    // MARK: - The save hook

    @Test("a hook that is down: the copy is kept and the item stays in saving; told at last, it is done")
    func hookDown() async throws {
        let server = try await BlockServer(arguments: ["--hook", "500,500,500,500"])
        let bytes = try home.recording()
        let first = try await home.run([
            "capture.bin", "--to", server.destination, "--save", server.hook, "--title", "Lecture 1", "--param",
            "camera=A", "--patience", "0", "--after=delete",
        ])
        #expect(first.status == 75, "\(first.errors)")
        #expect(home.cached.count == 1 && exists("capture.bin"))
        #expect(try await item()["state"] as? String == "saving")
        let told = try server.told()
        #expect(told.count >= 1 && Set(told.map { $0.key }).count == 1)
        let later = try await home.run(["run", "--once"])
        #expect(later.status == 0, "\(later.errors)")
        #expect(home.cached == [] && !exists("capture.bin"))
        #expect(try server.completed().count == 1, "the file is uploaded once")
        let last = try #require(try server.told().last)
        #expect(try last.status == 200 && Set(server.told().map { $0.key }).count == 1)
        #expect(last.told?.title == "Lecture 1" && last.told?.camera == "A" && last.told?.size == bytes.count)
        // What held it up is over: there is nothing to try again.
        #expect(try await item()["reason"] is NSNull)
        #expect(try await home.run(["retry", "--all"]).status == 0)
        #expect(last.told?.sha256 == SHA256.digest(of: bytes).hex && last.told?.url?.contains("/files/") == true)
    }

    @Test("killed between the hook's answer and the list: told again under the same key, and done")
    func hookCrash() async throws {
        let server = try await BlockServer()
        try home.recording()
        let crashed = try await home.run(
            ["capture.bin", "--to", server.destination, "--save", server.hook],
            ["INGEST_CRASH_AT": "after-hook-answered"])
        #expect(crashed.status == 1009 && home.cached.count == 1)
        #expect(try await home.run(["run", "--once"]).status == 0)
        #expect(try server.told().count == 2 && Set(try server.told().map { $0.key }).count == 1)
        #expect(try server.completed().count == 1 && home.cached == [])
    }

    @Test("a hook that refuses: failed, everything kept; cancelled then, nothing is deleted over there")
    func hookRefusal() async throws {
        let server = try await BlockServer(arguments: ["--hook", "422"])
        try home.recording()
        let outcome = try await home.run(["capture.bin", "--to", server.destination, "--save", server.hook])
        #expect(outcome.status == 1 && outcome.errors.contains("save hook refused"), "\(outcome.errors)")
        #expect(home.cached.count == 1)
        let cancelled = try await home.run(["cancel", "1"])
        #expect(cancelled.errors.contains("nothing is deleted there"), "\(cancelled.errors)")
        #expect(try server.log().allSatisfy { $0.dropped == nil } && home.cached == [])
    }

    // MARK: - What the copy leaves out

    @Test(
        "--strip location: the position is nowhere in the copy, whatever made it",
        arguments: ["--remux", "--compress=fast"])
    func strip(how: String) async throws {
        let source = try home.directory.file("clip.mov")
        try await Judge.record(
            [
                "-f", "lavfi", "-i", "testsrc2=s=320x180:d=1", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "45",
                "-metadata", "location=+52.5163+013.3777+035.000/", "-metadata",
                "com.apple.quicktime.location.ISO6709=+52.5163+013.3777+035.000/", "-metadata", "title=Gate",
                "-movflags", "use_metadata_tags",
            ], to: source)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: source.text)
        let bytes = { (name: String) in String(decoding: try home.directory.file(name).contents(), as: UTF8.self) }
        #expect(try bytes("clip.mov").contains("52.5163"))
        let outcome = try await home.run(["clip.mov", how, "--strip", "location"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        let name = try #require(home.received.first)
        #expect(name.hasSuffix(".mp4"), "the recording as it is would tell the position")
        let copy = try bytes(".local/share/ingest/received/" + name)
        #expect(!copy.contains("52.5163") && !copy.contains("loci") && copy.contains("Gate"))
        // Without the option it stays.
        let kept = try await home.run(["clip.mov", "--remux"])
        #expect(kept.status == 0, "\(kept.errors)")
        let other = try #require(home.received.first { $0 != name })
        let probed = try await Judge.probe(home.directory.file(".local/share/ingest/received/" + other))
        #expect(probed.format?.tags?["location"]?.hasPrefix("+52.5163") == true)
    }

    // MARK: - Around it

    @Test("the machine is kept awake while something is sent, and not a moment longer")
    func awake() async throws {
        let script = """
            #!/bin/sh
            echo "begin $$ $*" >> "\(home.path)/awake"
            "$5" > /dev/null
            echo end >> "\(home.path)/awake"
            """
        _ = try home.directory.writeProgram(script, to: "bin/systemd-inhibit")
        let path = home.path + "/bin:" + (home.environment["PATH"] ?? "/usr/bin:/bin")
        let log = { (try? String(contentsOfFile: home.path + "/awake", encoding: .utf8)) ?? "" }
        let isHeld = {
            guard let pid = log().split(separator: " ").dropFirst().first else { return false }
            return FileManager.default.fileExists(atPath: "/proc/\(pid)")
        }
        let server = try await BlockServer(["slow:3@2"])
        try home.recording()
        let worker = try home.start(["run"], ["PATH": path])
        #expect(try await home.run(["-d", "capture.bin", "--to", server.destination]).status == 0)
        try await eventually("it is held") { log().hasPrefix("begin") && isHeld() }
        let words = log().split(separator: " ").dropFirst(2).joined(separator: " ")
        #expect(
            words.hasPrefix("--what=sleep --who=ingest --why=recordings are on their way --mode=block /"), "\(words)")
        try await eventually("it is let go while the program lives") { !isHeld() }
        worker.send(SIGTERM)
        #expect(try await worker.wait().status == 0)
        // Killed, it lets go too: the holder waits for the end of a pipe of ours.
        try FileManager.default.removeItem(atPath: home.path + "/awake")
        let slow = try await BlockServer(["slow:30@2"])
        let running = try home.start(["capture.bin", "--to", slow.destination], ["PATH": path])
        try await eventually("it is held") { log().hasPrefix("begin") && isHeld() }
        running.send(SIGKILL)
        try await eventually("it is let go") { log().hasSuffix("end\n") && !isHeld() }
    }

    // MARK: - Shells

    @Test("completions in bash: commands, options, presets behind “=”, ids, destinations, files")
    func bash() async throws {
        try configure("[destination.nas]\nurl = \"http://127.0.0.1:9/up\"\n")
        try home.recording("clip one.mov", size: 10)
        _ = try await home.run(["-d", "clip one.mov"])
        let complete = { (words: [String]) async throws -> [String] in
            let script = """
                PATH='\(TestPlace.programs)':$PATH; compopt() { :; }; eval "$(ingest completions bash)"
                COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ingest; printf '%s\\n' "${COMPREPLY[@]}"
                """
            let outcome = try await RunningProgram(
                "/bin/bash", ["-c", script, "bash"] + words, environment: home.environment, directory: home.path
            ).wait()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            return outcome.output.split(separator: "\n").map(String.init)
        }
        #expect(try await complete(["ingest", "rec"]) == ["receive"])
        #expect(try await complete(["ingest", "cli"]) == ["clip one.mov"])
        #expect(try await complete(["ingest", "--comp"]) == ["--compress"])
        #expect(try await complete(["ingest", "--compress", "=", "s"]) == ["small"])
        #expect(try await complete(["ingest", "--codec", "h"]) == ["h264", "hevc"])
        #expect(try await complete(["ingest", "--to", ""]) == ["builtin", "nas"])
        #expect(try await complete(["ingest", "--after", "t"]) == ["trash"])
        #expect(try await complete(["ingest", "-q", "cancel", ""]) == ["1"])
        #expect(try await complete(["ingest", "list", "--fol"]) == ["--follow"])
        #expect(try await complete(["ingest", "list", "--comp"]) == [])
        #expect(try await complete(["ingest", "config", "s"]) == ["show"])
    }

    @Test("completions in fish")
    func fish() async throws {
        try home.recording("clip.mov", size: 10)
        _ = try await home.run(["-d", "clip.mov"])
        let script = """
            set -x PATH '\(TestPlace.programs)' $PATH
            ingest completions fish | source
            for line in "ingest rec" "ingest --codec h" "ingest --compress=s" "ingest pause " "ingest config s" "ingest --to "
                complete -C "$line"; echo ==
            end
            """
        let outcome = try await RunningProgram(
            "/usr/bin/env", ["fish", "--no-config", "-c", script], environment: home.environment, directory: home.path
        ).wait()
        let answers = outcome.output.components(separatedBy: "==\n").map {
            $0.split(separator: "\n").map { $0.split(separator: "\t").first.map(String.init) ?? "" }
        }
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(answers[0].contains("receive"))
        #expect(answers[1] == ["h264", "hevc"])
        #expect(answers[2] == ["--compress=small"])
        #expect(answers[3] == ["1"])
        #expect(answers[4] == ["show"])
        #expect(answers[5] == ["builtin"])
    }

    @Test("completions in zsh")
    func zsh() async throws {
        try home.recording("clip.mov", size: 10)
        _ = try await home.run(["-d", "clip.mov"])
        let driver = """
            import os, pty, re, select, sys, time
            pid, fd = pty.fork()
            if pid == 0:
                os.execvp("zsh", ["zsh", "-f", "-i"])
            def read(seconds):
                out, end = b"", time.time() + seconds
                while time.time() < end:
                    if select.select([fd], [], [], 0.1)[0]:
                        try: out += os.read(fd, 65536)
                        except OSError: break
                        if b"<>READY<>" in out: break
                return out.decode(errors="replace")
            os.write(fd, b"PS1=; unsetopt zle_bracketed_paste; zstyle ':completion:*' list-colors ''; LISTMAX=0\\n")
            os.write(fd, b"autoload -Uz compinit; compinit -u -D; source <(ingest completions zsh) 2>/dev/null; compdef _ingest ingest; echo '<>REA''DY<>'\\n")
            read(20)
            for line in sys.argv[1:]:
                os.write(line and fd, line.encode() + b"\\t\\t")
                text, end = "", time.time() + 10
                while time.time() < end and not re.search(r"(%s)" % "|".join(["receive", "hevc", "small", "pause 1", "show"]), text):
                    text += read(0.3)
                print(re.sub(r"\\x1b\\[[0-9;?]*[A-Za-z]", "", text).replace("\\r", "").replace("\\n", " "))
                os.write(fd, b"\\x15")
                read(0.3)
            """
        var environment = home.environment
        environment["PATH"] = TestPlace.programs + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
        environment["TERM"] = "xterm"
        let outcome = try await RunningProgram(
            "/usr/bin/env",
            [
                "python3", "-c", driver, "ingest rec", "ingest --codec h", "ingest --compress=s", "ingest pause ",
                "ingest config s",
            ], environment: environment, directory: home.path
        ).wait()
        let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(outcome.status == 0 && lines.count >= 5, "\(outcome.errors)")
        for (line, word) in zip(lines, ["receive", "hevc", "small", "1", "show"]) {
            #expect(line.contains(word), "\(line)")
        }
    }
}
