/* Fuzzing: any bytes as a sweep file. */
#include <stddef.h>
#include <stdint.h>

#include "sweep_file/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error e = ERROR_INIT;
    struct sweep *s = NULL;
    if (sweep_parse("fuzz.toml", (const char *)data, size, &s, &e) == 0)
        sweep_free(s);
    return 0;
}
