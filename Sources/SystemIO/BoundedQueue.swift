import Dispatch
import Synchronization

/// A queue between two threads that never holds more than `capacity` elements: the writer waits for room, the reader for
/// elements.
///
/// Whoever waits is woken once for `step` elements, or as soon as the other one has to wait itself: waking a thread takes as
/// long as copying a packet does.
package final class BoundedQueue<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        /// Elements that the reader has not been told of, and places that the writer has not.
        var unannounced = 0
        var unreturned = 0
        var isAbandoned = false
    }

    private let step: Int
    private let state = Mutex(State())
    private let room = DispatchSemaphore(value: 0)
    private let filled = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - capacity: elements at most.
    ///   - step: of elements and places, told of together; at most half the capacity.
    package init(capacity: Int, step: Int = 1) {
        self.step = step
        for _ in 0..<capacity { room.signal() }
    }

    /// Waits for room. `false` if the reader has given up, so that there is no use in going on.
    package func push(_ element: Element) -> Bool {
        if room.wait(timeout: .now()) == .timedOut {
            announce(atLeast: 1)
            room.wait()
        }
        let isWanted = state.withLock { state in
            if state.isAbandoned { return false }
            state.elements.append(element)
            state.unannounced += 1
            return true
        }
        if isWanted { announce(atLeast: step) } else { room.signal() }
        return isWanted
    }

    /// The writer has no more.
    package func end() {
        state.withLock { $0.unannounced += 1 }
        announce(atLeast: 1)
    }

    /// Waits for the next element; `nil` once the writer has ended and all is read.
    package func pop() -> Element? {
        if filled.wait(timeout: .now()) == .timedOut {
            giveBack(atLeast: 1)
            filled.wait()
        }
        let element = state.withLock { state -> Element? in
            if state.elements.isEmpty { return nil }
            state.unreturned += 1
            return state.elements.removeFirst()
        }
        // Only the end leaves the semaphore ahead of the elements; keep it so for whoever asks again.
        if element == nil { filled.signal() } else { giveBack(atLeast: step) }
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

    private func announce(atLeast least: Int) {
        let count = state.withLock { Self.take(&$0.unannounced, atLeast: least) }
        for _ in 0..<count { filled.signal() }
    }

    private func giveBack(atLeast least: Int) {
        let count = state.withLock { Self.take(&$0.unreturned, atLeast: least) }
        for _ in 0..<count { room.signal() }
    }

    private static func take(_ count: inout Int, atLeast least: Int) -> Int {
        if count < least { return 0 }
        defer { count = 0 }
        return count
    }
}
