#include "CTOML.h"

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

}  // namespace

struct ingest_toml_result ingest_toml_read(const char *bytes, size_t length) {
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
