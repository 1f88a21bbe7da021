// SQLite for Swift: the destructor constants are casts, which Swift does not import.
#ifndef INGEST_CSQLITE_SHIM_H
#define INGEST_CSQLITE_SHIM_H

#include <sqlite3.h>

/// Binds text that SQLite copies before it returns (SQLITE_TRANSIENT).
static inline int ingest_sqlite_bind_text(sqlite3_stmt *_Nonnull statement, int index, const char *_Nonnull text,
                                          sqlite3_uint64 length) {
    return sqlite3_bind_text64(statement, index, text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Binds bytes that SQLite copies before it returns (SQLITE_TRANSIENT).
static inline int ingest_sqlite_bind_blob(sqlite3_stmt *_Nonnull statement, int index, const void *_Nonnull bytes,
                                          sqlite3_uint64 length) {
    return sqlite3_bind_blob64(statement, index, bytes, length, SQLITE_TRANSIENT);
}

#endif
