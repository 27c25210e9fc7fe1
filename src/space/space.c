#include "space/space.h"

#include "join/combinations.h"

int64_t space_combinations(const struct space *space)
{
    int64_t product = 1;
    if (space->of_jobs)
        return space->job_count;
    for (int i = 0; i < SECTION_COUNT; i++)
        product *= space->counts[i] ? space->counts[i] : 1;
    return product;
}

void space_add_from(const struct space *space, unsigned sections, struct buffer *sql)
{
    const char *word = " FROM ";
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i] && (sections & 1U << i)) {
            buffer_printf(sql, "%s\"%s\"", word, section_names[i]);
            word = " CROSS JOIN ";
        }
    buffer_add_text(sql, " WHERE true");
}

void space_add_combination(const struct space *space, int first, struct buffer *sql)
{
    space_add_from(space, ~0U, sql);
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i])
            buffer_printf(sql, " AND \"%s\".\"#id\" = ?%d", section_names[i], first + i);
}

/* -1: the default's. */
static void bind_specs(const struct space *space, struct stmt *s, int first, const int64_t *specs)
{
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i])
            stmt_bind_int(s, first + i, specs[i] < 0 ? 0 : specs[i]);
}

void space_bind_rank(const struct space *space, struct stmt *s, int first, int64_t rank)
{
    int64_t specs[SECTION_COUNT];
    combination_split(space->counts, rank, specs);
    bind_specs(space, s, first, specs);
}
