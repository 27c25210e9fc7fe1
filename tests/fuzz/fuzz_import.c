/* Fuzzing: any bytes as a measured table that [import] reads. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/table.h"
#include "report/csv.h"
#include "sweep_file/reader.h"
#include "util/memory.h"

static const char sweep_text[] =
    "[sweep]\nobjective = \"max:throughput\"\n[job.metrics.throughput]\nunit = \"tokens/s\"\n"
    "[import]\nstate = \"result\"\nduration = \"seconds\"\n[import.states]\ndone = \"ok\"\n\"CUDA OOM\" = \"oom\"\n"
    "[import.cluster_spec]\nnum_hosts = \"gpus / 8\"\n[import.model]\nname = \"model\"\n"
    "[import.parallel_spec]\nmicro_batch = \"mbs\"\n[import.metrics]\nthroughput = \"tok_s\"\n"
    "[[import.refuse]]\nwhen = \"gpus > 4096\"\nwhy = \"too large\"\n";

static struct sweep *the_sweep(void)
{
    static struct sweep *sweep;
    struct error e = ERROR_INIT;
    if (!sweep && sweep_parse("fuzz.toml", sweep_text, strlen(sweep_text), &sweep, &e) < 0)
        abort();
    return sweep;
}

static int take(void *context, const struct csv_record *record, struct error *e)
{
    struct import_table **table = context;
    const char **texts = xcalloc(record->count + 1, sizeof *texts);
    for (size_t i = 0; i < record->count; i++)
        texts[i] = record->cells[i].kind == CELL_TEXT ? xstrndup(record->cells[i].text, record->cells[i].length) : NULL;
    int rc;
    if (*table) {
        rc = import_table_add(*table, record->line, texts, e);
    } else {
        for (size_t i = 0; i < record->count; i++)
            texts[i] = texts[i] ? texts[i] : xstrdup("");
        rc = import_table_create(the_sweep(), "table.csv", texts, record->count, table, e);
    }
    for (size_t i = 0; i < record->count; i++)
        free((char *)texts[i]);
    free(texts);
    return rc;
}

static int look(void *context, const struct import_row *row, struct error *e)
{
    (void)e;
    size_t *lines = context;
    *lines += row->line;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error e = ERROR_INIT;
    struct import_table *table = NULL;
    size_t lines = 0;
    if (csv_read_rows((const char *)data, size, take, &table, &e) == 0 && table)
        import_table_read(table, look, &lines, &e);
    import_table_free(table);
    return 0;
}
