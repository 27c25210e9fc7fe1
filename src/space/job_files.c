#include "space/job_files.h"

#include <stdlib.h>
#include <string.h>

#include "files/document.h"
#include "space/build.h"
#include "space/compile.h"
#include "space/job_texts.h"
#include "util/file.h"
#include "util/memory.h"

struct space_file {
    const struct job_file *file;
    struct job_text text; /* of a template */
    struct doc base;      /* of others */
    int *slots;           /* per change: into space->placeholders; -1: its value is given */
    enum doc_kind *were;  /* per change: what the base has there; 0: nothing */
    struct hash128 rest;  /* of all but the values */
};

static bool has_text(const struct space_file *f)
{
    return f->file->format == FORMAT_TEXT;
}

/* --- reading --- */

static bool read_base(const struct space *space, struct space_file *f, struct problems *problems)
{
    const struct job_file *file = f->file;
    const enum file_format format = (enum file_format)file->format;
    struct error why = ERROR_INIT;
    OWNED char *path = file->base ? path_beside(space->sweep->path, file->base) : xstrdup(file->path);
    const char *empty = format == FORMAT_JSON ? "{}\n" : "";
    int rc = file->base ? document_read(path, format, &f->base, &why)
                        : document_parse(path, empty, strlen(empty), format, &f->base, &why);
    if (rc < 0 && why.kind == ERROR_USAGE)
        problems_add(problems, (struct position){NULL, 0, 0}, "%s", why.text);
    else if (rc < 0)
        problems_add(problems, file->base_at, "[[job.file]] base: %s", why.text);
    return rc == 0;
}

static struct doc_change change_of(const struct file_change *c, struct value value)
{
    return (struct doc_change){c->kind, c->path, value};
}

static int derive(struct space *space, const struct job_file *file, const struct file_change *c,
                  struct problems *problems)
{
    struct expression x = EXPRESSION_INIT;
    const struct source_text source = {c->expression, UNKNOWN_IS_ERROR,
                                       &c->at,        c->kind == DOC_SET ? "[job.file.set]" : "[job.file.add]",
                                       c->path,       "; a text of its own stands in single quotes: \"'text'\""};
    if (compile_expression(space, &source, &x, problems) < 0)
        return -1;
    OWNED char *name = xasprintf("%s: %s", file->name, c->path);
    for (char *p = name; *p; p++)
        *p = strchr("\"\\'", *p) ? '_' : *p;
    space_add_derived(&space->names, name, &x);
    return job_texts_add_placeholder(space, name, true, space->names.derived_count - 1, true);
}

static int slot_of(struct space *space, const struct job_file *file, const struct file_change *c,
                   struct problems *problems)
{
    size_t index;
    if (!c->expression)
        return -1;
    const enum resolution found = names_resolve(&space->names, c->expression, &index);
    if (found == RESOLVED_KEY || found == RESOLVED_DERIVED)
        return job_texts_add_placeholder(space, c->expression, found == RESOLVED_DERIVED, index, true);
    return derive(space, file, c, problems);
}

static void compile_changes(struct space *space, struct space_file *f, struct problems *problems)
{
    const struct job_file *file = f->file;
    OWNED struct doc_change *changes = xcalloc(file->change_count + 1, sizeof *changes);
    f->slots = xcalloc(file->change_count + 1, sizeof *f->slots);
    f->were = xcalloc(file->change_count + 1, sizeof *f->were);
    OWNED_BUFFER rest = BUFFER_INIT;
    for (size_t i = 0; i < file->change_count; i++) {
        const struct file_change *c = &file->changes[i];
        changes[i] = change_of(c, c->value);
        OWNED char *why = document_refuses(&f->base, &changes[i]);
        const struct doc_node *node = document_find(&f->base, c->path);
        f->were[i] = node ? node->kind : (enum doc_kind)0;
        f->slots[i] = slot_of(space, file, c, problems);
        if (why)
            problems_add(problems, c->at, "%s", why);
    }
    document_add_rest(&f->base, changes, file->change_count, &rest);
    f->rest = hash_bytes(rest.data, rest.length);
}

void job_files_compile(struct space *space, struct problems *problems)
{
    const struct job_config *job = &space->sweep->job;
    space->files = xcalloc(job->file_count + 1, sizeof *space->files);
    space->file_count = job->file_count;
    for (size_t i = 0; i < job->file_count; i++) {
        struct space_file *f = &space->files[i];
        f->file = &job->files[i];
        if (f->file->format == FORMAT_NONE) /* which is told already */
            continue;
        if (has_text(f) && f->file->text)
            f->text = job_text_compile(space, f->file->text, false, &f->file->text_at, problems);
        else if (has_text(f))
            problems_add(problems, f->file->at, "a file of the format \"text\" needs text");
        else if (read_base(space, f, problems))
            compile_changes(space, f, problems);
    }
}

void job_files_free_all(struct space *space)
{
    for (size_t i = 0; i < space->file_count; i++) {
        struct space_file *f = &space->files[i];
        job_text_free(&f->text);
        document_free(&f->base);
        free_all(f->slots, f->were);
    }
    free(space->files);
}

/* --- values --- */

static struct value value_of(const struct space_file *f, size_t change, const struct value *values)
{
    const int slot = f->slots[change];
    return document_fit(f->were[change], slot < 0 ? &f->file->changes[change].value : &values[slot]);
}

void job_files_add_identity(const struct space *space, const struct value *values, struct buffer *out)
{
    for (size_t i = 0; i < space->file_count; i++) {
        const struct space_file *f = &space->files[i];
        buffer_add(out, f->file->path, strlen(f->file->path) + 1);
        if (has_text(f))
            job_text_render(&f->text, values, NULL, out);
        else
            buffer_add(out, f->rest.bytes, sizeof f->rest.bytes);
        for (size_t c = 0; c < f->file->change_count; c++) {
            if (f->file->changes[c].kind == DOC_UNSET)
                continue;
            struct value v = value_of(f, c, values);
            value_add_json(&v, out);
            buffer_add_char(out, '\0');
            value_free(&v);
        }
    }
}

void job_files_add_common(const struct space *space, struct buffer *out)
{
    for (size_t i = 0; i < space->file_count; i++)
        buffer_add(out, space->files[i].rest.bytes, sizeof space->files[i].rest.bytes);
}

static void add_part(cJSON *files, const struct job_file *file, const struct file_change *c)
{
    OWNED_BUFFER said = BUFFER_INIT;
    OWNED char *what = xasprintf("%s: %s", file->path, c->path);
    if (c->expression)
        buffer_printf(&said, "{%s}", c->expression);
    else if (c->kind != DOC_UNSET)
        value_add_json(&c->value, &said);
    else
        buffer_add_text(&said, "left out");
    cJSON_AddStringToObject(files, what, buffer_text(&said));
}

void job_files_add_parts(const struct space *space, cJSON *parts)
{
    if (space->file_count == 0)
        return;
    cJSON *files = cJSON_AddObjectToObject(parts, "file");
    for (size_t i = 0; i < space->file_count; i++) {
        const struct space_file *f = &space->files[i];
        const struct job_file *file = f->file;
        char hex[HASH_HEX_BYTES];
        char *said = has_text(f) ? xstrdup(file->text)
                                 : xasprintf("%s %s", file->base ? file->base : "made", hash_hex(&f->rest, hex));
        cJSON_AddStringToObject(files, file->path, said);
        free(said);
        for (size_t c = 0; c < file->change_count; c++)
            add_part(files, file, &file->changes[c]);
    }
}

static int change_base(const struct space_file *f, const struct value *values, struct buffer *out, struct error *e)
{
    const struct job_file *file = f->file;
    OWNED struct doc_change *changes = xcalloc(file->change_count + 1, sizeof *changes);
    for (size_t i = 0; i < file->change_count; i++)
        changes[i] = change_of(&file->changes[i], value_of(f, i, values));
    int rc = document_change(&f->base, changes, file->change_count, out, e);
    for (size_t i = 0; i < file->change_count; i++)
        value_free(&changes[i].value);
    return rc;
}

int job_files_render(const struct space *space, const struct value *values, const char *const *runtime,
                     struct given_files *out, struct error *e)
{
    for (size_t i = 0; i < space->file_count; i++) {
        const struct space_file *f = &space->files[i];
        struct buffer text = BUFFER_INIT;
        if (has_text(f))
            job_text_render(&f->text, values, runtime, &text);
        else if (change_base(f, values, &text, e) < 0) {
            buffer_free(&text);
            return -1;
        }
        given_files_add(out, f->file->path, buffer_take(&text));
    }
    return 0;
}
