package import IngestModel

/// A server of which only the address is known: it is asked which protocol it speaks, once for each upload.
package struct NegotiatedDestination: Destination {
    private let block: BlockDestination
    private let tus: TusDestination

    /// Both for the same server.
    package init(block: BlockDestination, tus: TusDestination) {
        self.block = block
        self.tus = tus
    }

    package func upload(
        _ source: UploadSource, from remote: RemoteState?, ledger: any UploadLedger
    ) async throws -> Receipt {
        let chosen: any Destination =
            switch remote {
            case .block: block
            case .tus: tus
            case .directory, nil: try await tus.isSpoken() ? tus : block
            }
        return try await chosen.upload(source, from: remote, ledger: ledger)
    }

    package func abandon(_ remote: RemoteState, named name: String) async throws -> Abandonment {
        switch remote {
        case .block: try await block.abandon(remote, named: name)
        case .tus: try await tus.abandon(remote, named: name)
        case .directory: .leftToExpire
        }
    }
}
