import SQLite

/// The tables, as a list of steps: `user_version` counts those that a file has had. A step is never changed once it has
/// been released, only followed by another.
enum Schema {
    static let steps: [String] = [
        """
        CREATE TABLE items (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uuid TEXT NOT NULL UNIQUE,
            group_uuid TEXT,
            priority INTEGER NOT NULL,
            state TEXT NOT NULL,
            wish TEXT,
            recording BLOB NOT NULL,
            identity TEXT NOT NULL,
            source_size INTEGER NOT NULL,
            source_fingerprint TEXT NOT NULL,
            destination TEXT NOT NULL,
            options TEXT NOT NULL,
            added_seconds INTEGER NOT NULL,
            cached_name BLOB NOT NULL UNIQUE,
            seal TEXT,
            remote TEXT,
            receipt TEXT,
            cleanup TEXT NOT NULL,
            fault TEXT,
            attempts INTEGER NOT NULL,
            retry_at REAL,
            marks TEXT NOT NULL,
            losses TEXT NOT NULL,
            media TEXT,
            progress TEXT,
            created REAL NOT NULL,
            updated REAL NOT NULL
        ) STRICT;

        CREATE INDEX items_open ON items (priority, id)
            WHERE state IN ('queued', 'preparing', 'ready', 'uploading', 'saving')
                OR wish IS NOT NULL OR cleanup = 'pending';

        CREATE INDEX items_by_recording ON items (destination, source_size, source_fingerprint);

        -- What the far side should drop; outlives the items.
        CREATE TABLE debts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            destination TEXT NOT NULL,
            token_file BLOB,
            remote TEXT NOT NULL,
            name TEXT NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            retry_at REAL,
            reason TEXT,
            created REAL NOT NULL
        ) STRICT;

        -- Block sizes that servers, or proxies before them, made us use.
        CREATE TABLE block_sizes (
            origin TEXT PRIMARY KEY,
            size INTEGER NOT NULL,
            until REAL NOT NULL
        ) STRICT, WITHOUT ROWID;
        """,
        """
        -- What becomes of the recording, and the name at the far end.
        ALTER TABLE items ADD COLUMN after_state TEXT;
        ALTER TABLE items ADD COLUMN after_reason TEXT;
        ALTER TABLE items ADD COLUMN far_name TEXT;

        DROP INDEX items_open;
        CREATE INDEX items_open ON items (priority, id)
            WHERE state IN ('queued', 'preparing', 'ready', 'uploading', 'saving')
                OR wish IS NOT NULL OR cleanup = 'pending' OR after_state = 'pending';
        """,
        """
        -- Recordings that have been dealt with, by their bytes; outlives the items.
        CREATE TABLE seen (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            destination TEXT NOT NULL,
            source_size INTEGER NOT NULL,
            source_fingerprint TEXT NOT NULL,
            identity TEXT NOT NULL,
            recording BLOB NOT NULL,
            item INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            time REAL NOT NULL
        ) STRICT;

        CREATE INDEX seen_by_content ON seen (destination, source_size, source_fingerprint);

        INSERT INTO seen (destination, source_size, source_fingerprint, identity, recording, item, outcome, time)
            SELECT destination, source_size, source_fingerprint, identity, recording, id,
                CASE state WHEN 'done' THEN 'brought' ELSE 'dismissed' END, updated
            FROM items WHERE state IN ('done', 'cancelled');

        -- Files that are one recording: what their paths have in common.
        ALTER TABLE items ADD COLUMN group_key BLOB;
        CREATE INDEX items_by_group_key ON items (group_key, destination) WHERE group_key IS NOT NULL;
        CREATE INDEX items_by_group ON items (group_uuid) WHERE group_uuid IS NOT NULL;

        -- How many of them have been forgotten, ever.
        CREATE TABLE forgettings (count INTEGER NOT NULL) STRICT;
        INSERT INTO forgettings VALUES (0);

        CREATE INDEX items_held ON items (retry_at) WHERE after_state = 'held';
        CREATE INDEX items_held_for_room ON items (updated)
            WHERE after_state = 'held' AND instr(options, '"freesBelow":') > 0;
        CREATE INDEX items_by_path ON items (recording) WHERE state NOT IN ('done', 'cancelled');
        CREATE INDEX items_unfinished ON items (state) WHERE state NOT IN ('done', 'cancelled');
        """,
    ]

    /// The condition of the index `items_open`, word for word, so that SQLite uses it.
    static let isOpen = """
        (state IN ('queued', 'preparing', 'ready', 'uploading', 'saving') \
        OR wish IS NOT NULL OR cleanup = 'pending' OR after_state = 'pending')
        """

    /// Brings the file up to date. `false` if it is newer than this program.
    static func migrate(_ connection: Connection) throws -> Bool {
        let version = { try Int(connection.row("PRAGMA user_version") { $0.integer(0) } ?? 0) }
        if try version() == steps.count { return true }
        return try connection.transaction(.synced) {
            // Another process may have been faster.
            let present = try version()
            if present > steps.count { return false }
            for step in steps[present...] { try connection.execute(step) }
            try connection.execute("PRAGMA user_version = \(steps.count)")
            return true
        }
    }
}
