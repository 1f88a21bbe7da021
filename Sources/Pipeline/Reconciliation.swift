import FoundationEssentials
package import IngestModel
import SystemIO
import UploadList
import VideoCache

/// Holds cache, list and far side against each other.
package struct Reconciliation: Sendable {
    private let context: PipelineContext

    package init(context: PipelineContext) {
        self.context = context
    }

    package struct Report: Sendable {
        /// Unfinished copies that belonged to nobody, and bytes they took.
        package var deleted: [String] = []
        package var freed: Int64 = 0
        /// Sealed copies that no list knew, now on it as failed; with a dry run not yet.
        package var found: [String] = []
        /// Sentences about entries that are none of ours, or could not be dealt with.
        package var leftAlone: [String] = []
        /// Items whose cleanup was owed and has been done.
        package var cleaned: [ItemID] = []
        /// What the cache holds afterwards.
        package var held: Int64 = 0
        package var debts = DebtCollector.Outcome()
        /// Debts that a dry run found.
        package var owed = 0
    }

    /// Puts things in order, or with `isDry` only looks.
    package func run(isDry: Bool) async throws -> Report {
        var report = Report()
        // The directory before the list: whatever has come into it by then is on the list by the time that is read.
        let names = try context.cache.names()
        try await settleOwed(isDry: isDry, &report)
        let known = try await context.list.namesInUse()
        for name in names.sorted(by: { $0.text < $1.text }) {
            if known[name] != nil || CachedName.whole(ofUnfinished: name).flatMap({ known[$0] }) != nil {
                report.held += context.cache.size(of: name)?.value ?? 0
                continue
            }
            do {
                try await settle(orphan: name, isDry: isDry, &report)
            } catch let fault as Fault {
                // The others are no worse for it.
                report.leftAlone.append("\(name.text.printable): \(fault.reason)")
            } catch let error as SystemError {
                report.leftAlone.append("\(name.text.printable): \(error)")
            }
        }
        if isDry {
            report.owed = try await context.list.debts(dueAt: nil).count
        } else {
            report.debts = await DebtCollector(context: context).payAll()
        }
        return report
    }

    private func settleOwed(isDry: Bool, _ report: inout Report) async throws {
        for item in try await context.list.due(at: .distantFuture, limit: .max)
        where item.cleanup == .pending || item.wish != nil {
            guard let lock = try ItemLock.take(item.id, in: context.list) else { continue }
            defer { withExtendedLifetime(lock) {} }
            report.cleaned.append(item.id)
            report.freed += context.cache.size(of: item.cachedName)?.value ?? 0
            if isDry { continue }
            let reporter = ItemReporter(item, now: context.now, send: context.send)
            _ = try await ItemWorker(context: context, reporter: reporter).settle(item)
        }
    }

    /// A file of the cache that no item owns. An unfinished copy can be made again; a finished one may be the last.
    private func settle(orphan name: FileName, isDry: Bool, _ report: inout Report) async throws {
        guard let size = context.cache.size(of: name) else {
            // A directory, a link, a pipe: not ours. Or gone meanwhile.
            if context.cache.holds(name) { report.leftAlone.append("\(name.text.printable): is no file of the cache") }
            return
        }
        if CachedName.whole(ofUnfinished: name) != nil {
            report.deleted.append(name.text.printable)
            report.freed += size.value
            if !isDry { try context.cache.deleteUnfinished(name) }
            return
        }
        report.held += size.value
        if isDry {
            report.found.append(name.text.printable)
            return
        }
        // An item that is finished may have had this name.
        let unused = try await context.list.unusedName(like: name, taken: try context.cache.names())
        if unused != name { try context.cache.rename(name, to: unused) }
        let path = context.cache.path(of: unused)
        let (identity, seal) = try await offPool { stop in try Recording(path).sealed(stop: stop) }
        let fault = Fault(
            .foundInCache,
            "found in the cache, where no list knew it; “ingest retry” uploads it to the built-in receiver")
        let item = try await context.list.adopt(
            name: unused, at: path, identity: identity, seal: seal, fault: fault, now: context.now())
        report.found.append("\(unused.text.printable) (item \(item.id))")
    }
}
