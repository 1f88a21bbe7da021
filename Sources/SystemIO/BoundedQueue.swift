import Dispatch
import Synchronization

/// A queue between two threads that never holds more than `capacity` elements: the writer waits for room, the reader for
/// elements.
package final class BoundedQueue<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var isEnded = false
        var isAbandoned = false
    }

    private let state = Mutex(State())
    private let room = DispatchSemaphore(value: 0)
    private let filled = DispatchSemaphore(value: 0)

    package init(capacity: Int) {
        for _ in 0..<capacity { room.signal() }
    }

    /// Waits for room. `false` if the reader has given up, so that there is no use in going on.
    package func push(_ element: Element) -> Bool {
        room.wait()
        let isWanted = state.withLock { state in
            if state.isAbandoned { return false }
            state.elements.append(element)
            return true
        }
        if isWanted { filled.signal() } else { room.signal() }
        return isWanted
    }

    /// The writer has no more.
    package func end() {
        state.withLock { $0.isEnded = true }
        filled.signal()
    }

    /// Waits for the next element; `nil` once the writer has ended and all is read.
    package func pop() -> Element? {
        filled.wait()
        let element = state.withLock { state in
            state.elements.isEmpty ? nil : state.elements.removeFirst()
        }
        // Only the end leaves the semaphore ahead of the elements; keep it so for whoever asks again.
        if element == nil { filled.signal() } else { room.signal() }
        return element
    }

    /// The reader wants no more: writers do not wait any longer.
    package func abandon() {
        state.withLock { state in
            state.isAbandoned = true
            state.elements = []
        }
        room.signal()
    }
}
