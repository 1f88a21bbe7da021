// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target is compiled with: Swift 6, the upcoming features we rely on, no warning left standing.
let common: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// Everything but the wrappers around C: no unsafe construct compiles here.
let safe: [SwiftSetting] = common + [.strictMemorySafety()]

let package = Package(
    name: "ingest",
    targets: [
        // C libraries of the system, one module map and one shim header each.
        .systemLibrary(name: "CCurl"),
        .systemLibrary(name: "CFFmpeg"),
        .systemLibrary(name: "CMicroHTTPD"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CChecksums"),
        .target(name: "CLinux"),
        .target(name: "CTOML", linkerSettings: [.linkedLibrary("stdc++")]),

        // Pure values and decisions.
        .target(name: "IngestModel", swiftSettings: safe),

        .target(name: "OptionParsing", swiftSettings: safe),
        .target(name: "Diagnostics", dependencies: ["IngestModel"], swiftSettings: safe),

        // One C library each, made safe.
        .target(name: "SystemIO", dependencies: ["CLinux", "IngestModel"], swiftSettings: common),
        .target(name: "Checksums", dependencies: ["CChecksums", "SystemIO", "IngestModel"], swiftSettings: common),
        .target(name: "SQLite", dependencies: ["CSQLite"], swiftSettings: common),
        .target(name: "HTTPClient", dependencies: ["CCurl", "SystemIO"], swiftSettings: common),
        .target(name: "HTTPServer", dependencies: ["CMicroHTTPD", "SystemIO"], swiftSettings: common),
        .target(name: "FFmpeg", dependencies: ["CFFmpeg"], swiftSettings: common),

        // Features; they do not know each other.
        .target(
            name: "UploadList", dependencies: ["IngestModel", "SQLite", "SystemIO"], swiftSettings: safe),
        .target(name: "FolderWatch", dependencies: ["IngestModel", "SystemIO"], swiftSettings: safe),
        .target(name: "MediaProcess", dependencies: ["IngestModel", "SystemIO"], swiftSettings: safe),
        .target(
            name: "Receiver",
            dependencies: ["Checksums", "Diagnostics", "HTTPServer", "IngestModel", "SQLite", "SystemIO"],
            swiftSettings: safe),
        .target(
            name: "Transcoding", dependencies: ["Checksums", "FFmpeg", "IngestModel", "SystemIO"], swiftSettings: safe),
        .target(
            name: "Uploading",
            dependencies: ["Checksums", "Diagnostics", "HTTPClient", "IngestModel", "SystemIO"],
            swiftSettings: safe),
        .target(
            name: "VideoCache", dependencies: ["Checksums", "IngestModel", "SystemIO"], swiftSettings: safe),

        .target(
            name: "Settings", dependencies: ["CTOML", "IngestModel", "OptionParsing", "SystemIO"], swiftSettings: common
        ),

        // Where they meet.
        .target(
            name: "Pipeline",
            dependencies: [
                "Checksums", "Diagnostics", "FolderWatch", "HTTPClient", "HTTPServer", "IngestModel", "MediaProcess",
                "Receiver", "SystemIO", "UploadList", "Uploading", "VideoCache",
            ],
            swiftSettings: safe),
        .target(
            name: "IngestCommands",
            dependencies: [
                "Diagnostics", "FolderWatch", "HTTPServer", "IngestModel", "OptionParsing", "Pipeline", "Receiver",
                "Settings",
                "SystemIO",
                "UploadList", "Uploading", "VideoCache",
            ],
            swiftSettings: safe),

        // The programs.
        .executableTarget(name: "ingest", dependencies: ["IngestCommands", "SystemIO"], swiftSettings: safe),
        .executableTarget(
            name: "ingest-media", dependencies: ["IngestModel", "SystemIO", "Transcoding"], swiftSettings: safe),

        // Tests.
        .target(
            name: "IngestTestSupport", dependencies: ["CLinux", "IngestModel"], path: "Tests/Support",
            exclude: ["block_server.py", "system_fault.c", "tus_server.py"], swiftSettings: common),
        .testTarget(
            name: "IngestModelTests", dependencies: ["IngestModel", "IngestTestSupport"], swiftSettings: common),
        .testTarget(
            name: "SystemIOTests", dependencies: ["IngestModel", "IngestTestSupport", "SystemIO"],
            swiftSettings: common),
        .testTarget(
            name: "ChecksumsTests", dependencies: ["Checksums", "IngestModel", "IngestTestSupport", "SystemIO"],
            swiftSettings: common),
        .testTarget(
            name: "SQLiteTests", dependencies: ["IngestModel", "IngestTestSupport", "SQLite"], swiftSettings: common),
        .testTarget(
            name: "HTTPTests",
            dependencies: ["HTTPClient", "HTTPServer", "IngestModel", "IngestTestSupport", "SystemIO"],
            swiftSettings: common),
        .testTarget(
            name: "ReceiverTests",
            dependencies: [
                "Checksums", "Diagnostics", "HTTPClient", "HTTPServer", "IngestModel", "IngestTestSupport", "Receiver",
                "SQLite", "SystemIO",
            ],
            swiftSettings: common),
        .testTarget(
            name: "UploadListTests",
            dependencies: ["IngestModel", "IngestTestSupport", "SQLite", "SystemIO", "UploadList", "ingest"],
            swiftSettings: common),
        .testTarget(
            name: "VideoCacheTests",
            dependencies: ["Checksums", "IngestModel", "IngestTestSupport", "SystemIO", "VideoCache"],
            swiftSettings: common),
        .testTarget(
            name: "FolderWatchTests", dependencies: ["FolderWatch", "IngestModel", "IngestTestSupport", "SystemIO"],
            swiftSettings: common),
        .testTarget(
            name: "UploadingTests",
            dependencies: [
                "Checksums", "Diagnostics", "HTTPClient", "HTTPServer", "IngestModel", "IngestTestSupport", "Receiver",
                "SystemIO", "Uploading",
            ],
            swiftSettings: common),
        .testTarget(
            name: "MediaProcessTests",
            dependencies: ["IngestModel", "IngestTestSupport", "MediaProcess", "ingest", "ingest-media"],
            swiftSettings: common),
        .testTarget(
            name: "TranscodingTests", dependencies: ["IngestModel", "IngestTestSupport", "SystemIO", "Transcoding"],
            swiftSettings: common),
        .testTarget(name: "OptionParsingTests", dependencies: ["OptionParsing"], swiftSettings: common),
        .testTarget(
            name: "SettingsTests",
            dependencies: ["IngestModel", "IngestTestSupport", "OptionParsing", "Settings", "SystemIO"],
            swiftSettings: common),
        .testTarget(
            name: "IngestCommandsTests",
            dependencies: ["IngestCommands", "IngestModel", "IngestTestSupport", "SystemIO", "ingest-media"],
            swiftSettings: common),
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["Checksums", "HTTPClient", "IngestModel", "IngestTestSupport", "ingest", "ingest-media"],
            swiftSettings: common),
    ],
    cxxLanguageStandard: .cxx17
)
