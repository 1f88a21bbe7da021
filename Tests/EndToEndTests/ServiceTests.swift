import Foundation
import IngestModel
import IngestTestSupport
import Testing

/// The built program as a service: what it tells the manager that started it.
@Suite("As a service", .serialized, .timeLimit(.minutes(3)))
struct ServiceTests {
    private let home: TestHome
    private let manager: ServiceSocket

    init() throws {
        home = try TestHome()
        manager = try ServiceSocket()
    }

    private func start(_ arguments: [String], _ more: [String: String] = [:]) throws -> RunningProgram {
        try home.start(arguments, ["NOTIFY_SOCKET": manager.name].merging(more) { $1 })
    }

    @Test("run: ready, what it does, settings read again, the end")
    func run() async throws {
        try home.recording()
        // Nobody listens there: the item waits for another try.
        #expect(try await home.run(["--detach", "capture.bin", "--to", "http://127.0.0.1:9/up"]).status == 0)
        let program = try start(["run"])
        try await eventually("it is ready") { manager.messages.count >= 2 }
        #expect(manager.messages[0] == "READY=1" && manager.messages[1].hasPrefix("STATUS=1 "))
        program.send(SIGHUP)
        try await eventually("the settings are read") { manager.messages.filter { $0 == "READY=1" }.count == 2 }
        try await eventually("the status follows") { manager.messages.contains("STATUS=1 waiting") }
        program.send(SIGTERM)
        #expect(try await program.wait().status == 0)
        let heard = manager.messages.filter { !$0.hasPrefix("STATUS=") }
        #expect(heard.count == 4 && heard[1].hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(heard.last == "STOPPING=1")
    }

    @Test("receive: ready when it listens, pings, the end")
    func receive() async throws {
        let program = try start(["receive", "--listen", "127.0.0.1:0"], ["WATCHDOG_USEC": "400000"])
        try await eventually("it pings") { manager.messages.filter { $0 == "WATCHDOG=1" }.count > 3 }
        #expect(manager.messages[0] == "READY=1")
        #expect(manager.messages[1].hasPrefix("STATUS=listening on 127.0.0.1:"))
        #expect(program.output.hasPrefix("listening on "))
        program.send(SIGTERM)
        #expect(try await program.wait().status == 0)
        #expect(manager.messages.filter { $0 != "WATCHDOG=1" }.last == "STOPPING=1")
    }

    @Test("pings come in time while it turns, and end when it does not")
    func watchdog() async throws {
        let program = try start(["run"], ["WATCHDOG_USEC": "400000"])
        try await eventually("it pings") { manager.messages.filter { $0 == "WATCHDOG=1" }.count > 5 }
        program.send(SIGSTOP)
        manager.forget()
        try await Task.sleep(for: .milliseconds(800))
        // One may have been sent before the signal came.
        #expect(manager.messages.count <= 1)
        program.send(SIGCONT)
        try await eventually("it pings again") { manager.messages.filter { $0 == "WATCHDOG=1" }.count > 2 }
        program.send(SIGTERM)
        #expect(try await program.wait().status == 0)
    }

    @Test("what has an end says nothing, nor what no manager has started")
    func silence() async throws {
        #expect(try await start(["run", "--once"]).wait().status == 0)
        let program = try start(["run"], ["NOTIFY_SOCKET": ""])
        try await eventually("it runs") { program.errors.contains("working off") }
        program.send(SIGTERM)
        #expect(try await program.wait().status == 0)
        #expect(manager.messages.isEmpty)
    }
}
