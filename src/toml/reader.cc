/* The only file that knows toml++. */
#include <algorithm>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include <toml++/toml.h>

extern "C" {
#include "toml/reader.h"
#include "util/memory.h"
}

namespace
{

/* A fault that toml++ accepts and this program does not. */
struct refusal {
    toml::source_position at;
    const char *message;
};

/* C strings end at the first NUL. */
char *copy_text(const std::string &text, const toml::source_position &at)
{
    if (text.find('\0') != std::string::npos)
        throw refusal{at, "a string or key must not contain a NUL character"};
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
    to.end_line = static_cast<int>(from.source().end.line);
    to.end_column = static_cast<int>(from.source().end.column);
    to.is_time = from.is_date() || from.is_time() || from.is_date_time();
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
        throw refusal{from.source().begin, "an unknown kind of value"};
    }
}

int set_fault(toml_fault *fault, const toml::source_position &at, const std::string_view &message)
{
    fault->line = static_cast<int>(at.line);
    fault->column = static_cast<int>(at.column);
    fault->message = xstrndup(message.data(), message.size());
    return -1;
}

std::string_view line_at(std::string_view text, const toml::source_position &at)
{
    for (toml::source_index line = 1; line < at.line; line++)
        text.remove_prefix(text.find('\n') + 1);
    return text.substr(0, text.find_first_of("\r\n"));
}

/* Returns where the word that it is in begins, on a line that is ASCII up to there; else where it is. toml++ stops at
 * the first letter that does not fit. */
toml::source_position word_begin(std::string_view text, toml::source_position at)
{
    const std::string_view line = line_at(text, at).substr(0, at.column - 1);
    if (std::any_of(line.begin(), line.end(), [](char c) { return (c & 0x80) != 0; }))
        return at;
    const size_t before = line.find_last_of(" \t=,[{");
    return {at.line, static_cast<toml::source_index>(before == line.npos ? at.column : before + 2)};
}

/* Returns whether nothing is left of its line. */
bool is_at_line_end(std::string_view text, const toml::source_position &at)
{
    text = line_at(text, at);
    auto is_first_byte = [](char c) { return (c & 0xC0) != 0x80; };
    return std::count_if(text.begin(), text.end(), is_first_byte) < static_cast<long>(at.column);
}

bool says(std::string_view said, std::string_view words)
{
    return said.find(words) != said.npos;
}

/* "None", "True" and the like: toml++ takes the first letter for that of a value of its own. */
bool is_word_without_quotes(std::string_view said)
{
    return says(said, "could not determine value type") || says(said, "parsing boolean: expected") ||
           says(said, "floating-point: expected 'nan'") || says(said, "floating-point: expected 'inf'");
}

/* "cannot redefine existing table 'job'": the name. */
std::string_view redefined(std::string_view said)
{
    const size_t open = said.find('\''), close = said.rfind('\'');
    if (!says(said, "cannot redefine existing") || open == said.npos || close <= open)
        return {};
    return said.substr(open + 1, close - open - 1);
}

/* Describes the commonest slips in the words of those who made them. */
int set_syntax_fault(toml_fault *fault, std::string_view text, const toml::parse_error &error)
{
    const toml::source_position at = error.source().begin;
    const std::string_view said = error.description();
    if (says(said, "unescaped control characters") && is_at_line_end(text, at))
        return set_fault(fault, at, "the string has no closing quote on its line");
    if (is_word_without_quotes(said))
        return set_fault(fault, word_begin(text, at), "not a number, date, boolean or list; put strings in quotes");
    if (!redefined(said).empty())
        return set_fault(fault, at, "\"" + std::string(redefined(said)) + "\" is given twice");
    if (says(said, "root table") && says(said, "saw '('"))
        return set_fault(fault, at, "put a tied group in quotes: \"(a, b)\" = [[1, 2]]");
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
    } catch (const std::bad_alloc &) {
        out_of_memory();
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

#define TEXT_OF(number) #number
#define VERSION_OF(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

extern "C" const char *toml_library_version(void)
{
    return VERSION_OF(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH);
}
