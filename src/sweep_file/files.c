#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "files/document.h"
#include "sweep_file/schema.h"
#include "util/file.h"
#include "util/memory.h"

static struct file_change *add_change(const struct reading *r, const struct toml_node *node, const char *path,
                                      enum doc_change_kind kind)
{
    struct job_file *f = r->into;
    if (!document_path_is_good(path)) {
        problem_at_key(r, node, "\"%s\" is no path, such as \"data.batch_size\" or \"layers.0.size\"", path);
        return NULL;
    }
    for (size_t i = 0; i < f->change_count; i++)
        if (strcmp(f->changes[i].path, path) == 0) {
            problem_at_key(r, node, "\"%s\" is given twice (first on line %d)", path, f->changes[i].at.line);
            return NULL;
        }
    struct file_change *c = arena_add(r->arena, f->changes, f->change_count);
    *c = (struct file_change){.kind = kind, .path = arena_text(r->arena, path), .at = reading_at_key(r, node)};
    return c;
}

/* A text that SQL would only repeat. */
static bool is_literal(const char *sql)
{
    const size_t length = strlen(sql);
    return length >= 2 && sql[0] == '\'' && strcspn(sql + 1, "'") == length - 2;
}

static void read_value(const struct reading *r, const struct toml_node *node, const char *path,
                       enum doc_change_kind kind)
{
    if (!check_finite(r, node) || (node->kind == NODE_STRING && !check_not_blank(r, node, path)))
        return;
    struct file_change *c = add_change(r, node, path, kind);
    if (!c)
        return;
    if (node->kind != NODE_STRING || is_literal(node->text))
        c->value = plain_value(r, node);
    else
        c->expression = arena_text(r->arena, node->text);
    if (c->value.kind == VALUE_STRING) {
        c->value.text++;
        c->value.text[strlen(c->value.text) - 1] = '\0';
    }
}

static void read_set(const struct reading *r, const struct toml_node *node, const char *path)
{
    read_value(r, node, path, DOC_SET);
}

static void read_added(const struct reading *r, const struct toml_node *node, const char *path)
{
    read_value(r, node, path, DOC_ADD);
}

static void read_unset(const struct reading *r, const struct toml_node *list)
{
    for (size_t i = 0; i < list->child_count; i++)
        add_change(r, &list->children[i], list->children[i].text, DOC_UNSET);
}

#define AT(member) offsetof(struct job_file, member)

static const struct schema_key file_keys[] = {
    {.name = "path", TYPE_STRING, FILE_SWEEP, FORM_TEXT, AT(path), .where = AT(at), .required = true},
    {.name = "name", TYPE_STRING, FILE_SWEEP, FORM_TEXT, AT(name)},
    {.name = "base", TYPE_STRING, FILE_SWEEP, FORM_TEXT, AT(base), .where = AT(base_at)},
    {.name = "text", TYPE_STRING, FILE_SWEEP, FORM_TEMPLATE, AT(text), .where = AT(text_at)},
    {.name = "format", TYPE_STRING, FILE_SWEEP, FORM_CHOICE, AT(format), 1, .choices = file_format_names},
    {.name = "set", TYPE_TABLE, FILE_SWEEP, .walk = read_set},
    {.name = "unset", TYPE_STRINGS, FILE_SWEEP, .read = read_unset},
    {.name = "add", TYPE_TABLE, FILE_SWEEP, .walk = read_added},
};

/* Returns whether something else is written there. */
static bool is_taken(const struct sweep *s, const char *path)
{
    static const char *const taken[] = {"output.log",     "stdout.log",           "stderr.log", "metrics.jsonl",
                                        "ds_config.json", "ds_config_train.json", NULL};
    const size_t of_deepspeed = 4;
    for (size_t i = 0; taken[i] && (i < of_deepspeed || s->deepspeed.given); i++)
        if (strcmp(taken[i], path) == 0)
            return true;
    return false;
}

/* Names of its own in the job's directory, one file each. */
static void check_path(const struct reading *r, const struct toml_node *node, struct job_file *f)
{
    const struct job_config *job = &r->sweep->job;
    const size_t length = strlen(f->path);
    if (!f->name)
        f->name = arena_text(r->arena, path_name(f->path));
    if (!is_inside_path(f->path) || f->path[length - 1] == '/' || strncmp(f->path, "./", 2) == 0 ||
        strstr(f->path, "//") || strstr(f->path, "/./") || (length > 1 && strcmp(f->path + length - 2, "/.") == 0)) {
        problem_at_value(r, node, "path must be that of a file inside the job directory, such as \"config.yaml\"");
        return;
    }
    if (is_taken(r->sweep, f->path))
        problem_at_value(r, node, "\"%s\" is a file that meshsweep writes there itself", f->path);
    for (size_t i = 0; i < job->file_count; i++) {
        if (strcmp(job->files[i].path, f->path) == 0)
            problem_at_value(r, node, "two files have the path \"%s\" (the first on line %d)", f->path,
                             job->files[i].at.line);
        else if (strcmp(job->files[i].name, f->name) == 0)
            problem_at_value(r, node,
                             "two files have the name \"%s\" (the first on line %d); give one a name of its own",
                             f->name, job->files[i].at.line);
    }
}

static void check_content(const struct reading *r, const struct toml_node *table, struct job_file *f)
{
    if (f->base && f->text)
        problems_add(r->problems, f->text_at, "a file has either base or text");
    else if (!f->base && !f->text && f->change_count == 0)
        problem_at_value(r, table, "a file needs base, text or [job.file.add]");
    if (!f->format && f->text && !f->change_count)
        f->format = FORMAT_TEXT;
    if (!f->format)
        f->format = (int)file_format_of(f->path);
    if (!f->format && f->base)
        f->format = (int)file_format_of(f->base);
    if (!f->format)
        problem_at_value(r, table, "the format of \"%s\" cannot be told by its name; give it as format", f->path);
    if (f->change_count > 0 && (f->text || f->format == FORMAT_TEXT))
        problems_add(r->problems, f->changes[0].at,
                     "values are set in YAML, TOML and JSON that a base has; a text has {placeholders}");
}

/* Deletions come last, the later elements of a list before the earlier ones. */
static int by_change(const void *a, const void *b)
{
    const struct file_change *left = a, *right = b;
    const bool is_last = left->kind == DOC_UNSET, other_is = right->kind == DOC_UNSET;
    const int order = strverscmp(left->path, right->path);
    return is_last != other_is ? is_last - other_is : is_last ? -order : order;
}

static void read_job_file(const struct reading *r, struct found *found)
{
    struct job_config *job = &r->sweep->job;
    struct job_file f = {.at = reading_at_value(r, found->table)};
    const struct toml_node *path = found_key(found, "path");
    if (!schema_take(r, found, &f) || !f.path) {
        if (path)
            problems_excuse(r->problems, f.name ? f.name : path_name(path->text));
        return;
    }
    check_path(r, path, &f);
    check_content(r, found->table, &f);
    if (f.change_count)
        qsort(f.changes, f.change_count, sizeof *f.changes, by_change);
    *arena_add(r->arena, job->files, job->file_count) = f;
}

const struct schema schema_job_file = {"[[job.file]]", SCHEMA_KEYS(file_keys), read_job_file};

static int by_path(const void *a, const void *b)
{
    const struct job_file *left = a, *right = b;
    return strcmp(left->path, right->path);
}

void finish_job_files(struct job_config *job)
{
    if (job->file_count)
        qsort(job->files, job->file_count, sizeof *job->files, by_path);
}
