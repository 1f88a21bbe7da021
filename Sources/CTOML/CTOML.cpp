#include "CTOML.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

// The whole library in this one file; errors as values, since exceptions must not pass through C.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
// Deep enough for people, and no way to exhaust the stack.
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>

namespace {

void append_quoted(std::string &out, std::string_view text) {
    static const char digits[] = "0123456789abcdef";
    out += '"';
    for (char byte : text) {
        auto value = static_cast<unsigned char>(byte);
        if (byte == '"' || byte == '\\') {
            out += '\\';
            out += byte;
        } else if (value < 0x20) {
            out += "\\u00";
            out += digits[value >> 4];
            out += digits[value & 15];
        } else {
            out += byte;
        }
    }
    out += '"';
}

void append_place(std::string &out, const toml::source_region &source) {
    out += "\"line\":" + std::to_string(source.begin.line) + ",\"column\":" + std::to_string(source.begin.column);
}

void append_node(std::string &out, const toml::node &node);

void append_entries(std::string &out, const toml::table &table) {
    out += ",\"entries\":[";
    bool is_first = true;
    for (const auto &entry : table) {
        if (!is_first) out += ',';
        is_first = false;
        out += "{\"key\":";
        append_quoted(out, entry.first.str());
        out += ',';
        append_place(out, entry.first.source());
        out += ",\"node\":";
        append_node(out, entry.second);
        out += '}';
    }
    out += ']';
}

void append_items(std::string &out, const toml::array &array) {
    out += ",\"items\":[";
    bool is_first = true;
    for (const auto &item : array) {
        if (!is_first) out += ',';
        is_first = false;
        append_node(out, item);
    }
    out += ']';
}

const char *name(toml::node_type type) {
    switch (type) {
        case toml::node_type::table: return "table";
        case toml::node_type::array: return "array";
        case toml::node_type::string: return "string";
        case toml::node_type::integer: return "integer";
        case toml::node_type::floating_point: return "float";
        case toml::node_type::boolean: return "boolean";
        default: return "time";
    }
}

void append_node(std::string &out, const toml::node &node) {
    out += "{\"type\":\"";
    out += name(node.type());
    out += "\",";
    append_place(out, node.source());
    if (auto table = node.as_table()) {
        append_entries(out, *table);
    } else if (auto array = node.as_array()) {
        append_items(out, *array);
    } else if (auto text = node.as_string()) {
        out += ",\"text\":";
        append_quoted(out, text->get());
    } else {
        std::ostringstream words;
        if (auto number = node.as_integer()) {
            words << number->get();
        } else {
            words << toml::node_view<const toml::node>(node);
        }
        out += ",\"text\":";
        append_quoted(out, words.str());
    }
    out += '}';
}

/// Where a key has more parts than anybody needs, as `a.b.c…`; each would be a table inside another, and the stack is not
/// endless. 0 if nowhere.
size_t find_deep_key(std::string_view text) {
    static const int most_parts = 16;
    int parts = 0;
    for (size_t index = 0; index < text.size(); index++) {
        switch (text[index]) {
            case '"':
            case '\'': {
                // Strings are parts of keys, or values; either way what is in them does not count.
                char quote = text[index];
                bool is_long = text.substr(index, 3) == std::string(3, quote);
                std::string end(is_long ? 3 : 1, quote);
                index += end.size();
                while (index < text.size() && text.substr(index, end.size()) != end) {
                    if (!is_long && text[index] == '\n') break;
                    index += quote == '"' && text[index] == '\\' ? 2 : 1;
                }
                index += end.size() - 1;
                break;
            }
            case '#':
                while (index < text.size() && text[index] != '\n') index++;
                parts = 0;
                break;
            case '.':
                if (++parts > most_parts) return index;
                break;
            case '=':
            case ',':
            case '{':
            case '[':
            case '\n': parts = 0; break;
            default: break;
        }
    }
    return 0;
}

}  // namespace

struct ingest_toml_result ingest_toml_read(const char *bytes, size_t length) {
    if (size_t deep = find_deep_key({bytes, length})) {
        auto before = std::string_view(bytes, deep);
        auto line = 1 + static_cast<unsigned>(std::count(before.begin(), before.end(), '\n'));
        auto start = before.rfind('\n');
        auto column = static_cast<unsigned>(deep - (start == std::string_view::npos ? 0 : start + 1)) + 1;
        return {false, strdup("a key has too many parts"), line, column};
    }
    auto result = toml::parse(std::string_view(bytes, length));
    if (!result) {
        const auto &error = result.error();
        const auto place = error.source().begin;
        return {false, strndup(error.description().data(), error.description().size()), place.line, place.column};
    }
    std::string json;
    append_node(json, result.table());
    return {true, strndup(json.data(), json.size()), 0, 0};
}
