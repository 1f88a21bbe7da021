import Glibc

/// Facts about the terminal behind a descriptor.
package enum Terminal {
    package static func isTerminal(_ file: SharedDescriptor) -> Bool {
        isatty(file.descriptor.number) == 1
    }

    /// Columns; 80 where the terminal does not say.
    package static func width(_ file: SharedDescriptor) -> Int {
        var size = winsize()
        guard ioctl(file.descriptor.number, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}

/// The arguments the program was started with, as bytes: names need not be UTF-8.
package enum ProcessArguments {
    /// Without the program's name.
    package static var all: [[UInt8]] {
        let count = Int(CommandLine.argc)
        guard count > 1 else { return [] }
        return (1..<count).compactMap { index in
            CommandLine.unsafeArgv[index].map { pointer in
                UnsafeBufferPointer(start: pointer, count: strlen(pointer)).map { UInt8(bitPattern: $0) }
            }
        }
    }
}
