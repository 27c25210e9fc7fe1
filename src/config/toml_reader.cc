/* The only file that knows toml++, and the only C++. */
#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>

#include <toml++/toml.h>

extern "C" {
#include "config/toml_reader.h"
#include "util/memory.h"
}

namespace
{

/* What toml++ accepts and this program does not. */
struct refusal {
    toml::source_position at;
    const char *message;
};

/* C strings end at the first NUL. */
char *copy_text(const std::string &text, const toml::source_position &at)
{
    if (text.find('\0') != std::string::npos)
        throw refusal{at, "a string or key may not hold a NUL character"};
    return xstrndup(text.data(), text.size());
}

template <typename T> std::string written(const T &date)
{
    std::ostringstream out;
    out << date;
    return out.str();
}

void fill(const toml::node &from, toml_node &to);

/* toml++ keeps tables sorted by key: the order of the file is restored from the positions. */
bool earlier(const toml_node &a, const toml_node &b)
{
    return a.key_line != b.key_line ? a.key_line < b.key_line : a.key_column < b.key_column;
}

void fill_table(const toml::table &from, toml_node &to)
{
    to.kind = NODE_TABLE;
    to.is_inline = from.is_inline();
    to.children = static_cast<toml_node *>(xcalloc(from.size(), sizeof(toml_node)));
    for (auto &&[key, value] : from) {
        toml_node &child = to.children[to.child_count++];
        const toml::source_position at = key.source().begin;
        child.key = copy_text(std::string(key.str()), at);
        child.key_line = static_cast<int>(at.line);
        child.key_column = static_cast<int>(at.column);
        fill(value, child);
    }
    std::stable_sort(to.children, to.children + to.child_count, earlier);
}

void fill_list(const toml::array &from, toml_node &to)
{
    to.kind = NODE_LIST;
    to.children = static_cast<toml_node *>(xcalloc(from.size(), sizeof(toml_node)));
    for (auto &&element : from)
        fill(element, to.children[to.child_count++]);
}

void fill_string(const std::string &text, const toml::node &from, toml_node &to)
{
    to.kind = NODE_STRING;
    to.text = copy_text(text, from.source().begin);
}

void fill(const toml::node &from, toml_node &to)
{
    to.line = static_cast<int>(from.source().begin.line);
    to.column = static_cast<int>(from.source().begin.column);
    if (auto *table = from.as_table()) {
        fill_table(*table, to);
    } else if (auto *list = from.as_array()) {
        fill_list(*list, to);
    } else if (auto *text = from.as_string()) {
        fill_string(text->get(), from, to);
    } else if (auto *integer = from.as_integer()) {
        to.kind = NODE_INT;
        to.integer = integer->get();
    } else if (auto *real = from.as_floating_point()) {
        to.kind = NODE_FLOAT;
        to.real = real->get();
    } else if (auto *boolean = from.as_boolean()) {
        to.kind = NODE_BOOL;
        to.integer = boolean->get();
    } else if (auto *date = from.as_date()) {
        fill_string(written(date->get()), from, to);
    } else if (auto *time = from.as_time()) {
        fill_string(written(time->get()), from, to);
    } else if (auto *moment = from.as_date_time()) {
        fill_string(written(moment->get()), from, to);
    } else {
        throw refusal{from.source().begin, "a kind of value that is not known here"};
    }
}

int set_fault(toml_fault *fault, const toml::source_position &at, const std::string_view &message)
{
    fault->line = static_cast<int>(at.line);
    fault->column = static_cast<int>(at.column);
    fault->message = xstrndup(message.data(), message.size());
    return -1;
}

/* Whether nothing is left of its line. */
bool is_at_line_end(std::string_view text, const toml::source_position &at)
{
    for (toml::source_index line = 1; line < at.line; line++)
        text.remove_prefix(text.find('\n') + 1);
    text = text.substr(0, text.find_first_of("\r\n"));
    auto is_first_byte = [](char c) { return (c & 0xC0) != 0x80; };
    return std::count_if(text.begin(), text.end(), is_first_byte) < static_cast<long>(at.column);
}

/* What the two commonest slips are in the words of whoever made them. */
int set_syntax_fault(toml_fault *fault, std::string_view text, const toml::parse_error &error)
{
    const toml::source_position at = error.source().begin;
    const std::string_view said = error.description();
    if (said.find("unescaped control characters") != said.npos && is_at_line_end(text, at))
        return set_fault(fault, at, "the text has no closing quote on its line");
    if (said.find("could not determine value type") != said.npos)
        return set_fault(fault, at, "neither a number, a date, true or false, nor a list: a text stands in quotes");
    return set_fault(fault, at, said);
}

} // namespace

extern "C" int toml_read(const char *text, size_t length, struct toml_node **out, struct toml_fault *fault)
{
    auto *root = static_cast<toml_node *>(xcalloc(1, sizeof(toml_node)));
    int rc = -1;
    try {
        const toml::table table = toml::parse(std::string_view(text, length));
        fill(table, *root);
        rc = 0;
    } catch (const toml::parse_error &error) {
        set_syntax_fault(fault, std::string_view(text, length), error);
    } catch (const refusal &error) {
        set_fault(fault, error.at, error.message);
    } catch (const std::exception &error) {
        set_fault(fault, {1, 1}, error.what());
    } catch (...) {
        set_fault(fault, {1, 1}, "cannot be read");
    }
    if (rc == 0)
        *out = root;
    else
        toml_free(root);
    return rc;
}
