/// toml++ behind one function.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What came of reading a TOML text.
struct ingest_toml_result {
    /// Whether the text is TOML.
    bool is_toml;
    /// The whole document as JSON, each value with its place; or what is wrong with the text. Belongs to the caller, who
    /// ends it with `free`. `NULL` if there is no memory.
    char *text;
    /// Where it is wrong, counted from 1.
    unsigned line, column;
};

/// Reads `length` bytes of TOML 1.0, which need not be UTF-8 nor end with a zero.
///
/// Every value is an object `{"type", "line", "column"}` with its `"text"`, `"items"` or `"entries"`; an entry of a table is
/// `{"key", "line", "column", "node"}`. Line and column are those of the value or the key.
struct ingest_toml_result ingest_toml_read(const char *bytes, size_t length);

#ifdef __cplusplus
}
#endif
