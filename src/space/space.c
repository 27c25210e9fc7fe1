#include "space/space.h"

int64_t space_combinations(const struct space *space)
{
    int64_t product = 1;
    for (int i = 0; i < SECTION_COUNT; i++)
        product *= space->counts[i] ? space->counts[i] : 1;
    return product;
}
