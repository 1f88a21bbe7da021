#if DEBUG
    import Glibc

    /// What a codec that has been taken over would try; for the test of the fence.
    package enum FenceTrial {
        /// Prints what could be done, one word a line, and ends. `missing`: parts of the fence that are not there.
        package static func tryEverything(missing: [String]) -> Never {
            var done = missing.map { "without " + $0 }
            if open("/etc/passwd", O_RDONLY) >= 0 { done.append("read-passwd") }
            if let home = opendir("/root") ?? opendir("/home") {
                closedir(home)
                done.append("list-home")
            }
            if open("/tmp/ingest-media-was-here", O_WRONLY | O_CREAT, 0o600) >= 0 { done.append("write-file") }
            if unlink("/tmp/ingest-media-secret") == 0 { done.append("delete-file") }
            if socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) >= 0 { done.append("internet-socket") }
            if socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0) >= 0 { done.append("local-socket") }
            var pid = pid_t()
            var words: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
            if posix_spawn(&pid, "/usr/bin/true", nil, nil, &words, nil) == 0 { done.append("other-program") }
            if kill(getppid(), 0) == 0 { done.append("signal-parent") }
            let size = 8 << 30
            if mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED
            {
                done.append("8-GiB")
            }
            for word in done { try? StandardStream.output.descriptor.write(word + "\n") }
            // A thread is what encoders need.
            Thread.detach {
                try? StandardStream.output.descriptor.write("end\n")
                ThisProcess.exitNow(0)
            }
            pause()
            ThisProcess.exitNow(1)
        }
    }
#endif
