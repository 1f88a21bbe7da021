import Foundation
import IngestModel
import IngestTestSupport
import SystemIO
import Testing

@Suite("Service manager", .timeLimit(.minutes(5)))
struct ServiceManagerTests {
    private func manager(_ variables: [String: String]) throws -> ServiceManager {
        let root = try TestPath.make("/")
        return ServiceManager(Environment(variables: variables, workingDirectory: root, programDirectory: root))
    }

    @Test("what is said arrives, at a path and at an abstract name", arguments: [false, true])
    func messages(abstract: Bool) throws {
        let socket = try ServiceSocket(abstract: abstract)
        let service = try manager(["NOTIFY_SOCKET": socket.name])
        #expect(service.isPresent)
        service.ready()
        service.status("2 uploading\nREADY=1\u{1B}[H")
        service.reloading {}
        service.stopping()
        let heard = socket.messages
        #expect(heard.count == 5)
        #expect(heard[0] == "READY=1" && heard[1] == "STATUS=2 uploading READY=1 [H")
        #expect(heard[2].wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=[0-9]+/) != nil)
        #expect(heard[3] == "READY=1" && heard[4] == "STOPPING=1")
    }

    @Test("the same status is told once, another one not at once again")
    func status() throws {
        let socket = try ServiceSocket()
        let service = try manager(["NOTIFY_SOCKET": socket.name])
        for text in ["one", "one", "two", "three"] { service.status(text) }
        service.alive()
        #expect(socket.messages == ["STATUS=one"])
    }

    @Test(
        "pings are for those who are asked for them",
        arguments: [
            (["WATCHDOG_USEC": "200000"], true), (["WATCHDOG_USEC": "200000", "WATCHDOG_PID": "\(getpid())"], true),
            (["WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"], false), (["WATCHDOG_USEC": "0"], false),
            (["WATCHDOG_USEC": "x"], false), ([:], false),
        ])
    func watchdog(variables: [String: String], isAsked: Bool) throws {
        let socket = try ServiceSocket()
        let service = try manager(variables.merging(["NOTIFY_SOCKET": socket.name]) { $1 })
        #expect((service.patience != nil) == isAsked)
        for _ in 0..<100 { service.alive() }
        #expect(socket.messages == (isAsked ? ["WATCHDOG=1"] : []))
    }

    @Test(
        "no manager, or none that can be reached: nothing happens",
        arguments: [nil, "", "/", "relative", "vsock:2:1", "/nowhere/notify", "/" + String(repeating: "a", count: 200)])
    func absent(name: String?) throws {
        let service = try manager(name.map { ["NOTIFY_SOCKET": $0, "WATCHDOG_USEC": "1000"] } ?? [:])
        service.ready()
        service.status("here")
        service.alive()
        service.reloading {}
        service.stopping()
    }

    @Test("a manager that does not listen holds nobody up; what counts arrives later, in order")
    func full() throws {
        let socket = try ServiceSocket()
        let service = try manager(["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "1"])
        // More than the kernel keeps for a socket that nobody reads.
        for _ in 0..<2000 { service.alive() }
        service.ready()
        service.status("here")
        service.stopping()
        #expect(socket.messages.allSatisfy { $0 == "WATCHDOG=1" })
        socket.forget()
        service.alive()
        #expect(socket.messages == ["READY=1", "STOPPING=1", "STATUS=here", "WATCHDOG=1"])
    }

    @Test("children do not hear of it: they would speak in our name")
    func children() throws {
        let child = try ChildProcess(
            TestPath.make("/usr/bin/env"), arguments: [],
            variables: ["NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "LANG": "C"])
        var output: [UInt8] = []
        while let bytes = try child.receive(within: 10_000), !bytes.isEmpty { output += bytes }
        #expect(child.finish(killing: false) == .exited(0))
        #expect(String(decoding: output, as: UTF8.self) == "LANG=C\n")
    }
}
