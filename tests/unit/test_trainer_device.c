/* trainer: the counted device memory. */
#include <stdlib.h>
#include <string.h>

#include "trainer/device.h"
#include "unit_test.h"

enum { MIB = 1 << 20 };

TEST(device_alloc__blocks_of_any_size__counted_in_whole_units_and_zeroed)
{
    struct device d;
    struct error e;

    device_open(&d, 0, 0);
    char *one = device_alloc(&d, DEVICE_PARAMETERS, 1, &e), *more = device_alloc(&d, DEVICE_BUFFERS, 65, &e);
    assert_int_equal(d.used_bytes, 64 + 128);
    assert_int_equal(d.used_by[DEVICE_PARAMETERS], 64);
    assert_int_equal(d.used_by[DEVICE_BUFFERS], 128);
    assert_int_equal((uintptr_t)one % DEVICE_ALIGNMENT, 0);
    for (int i = 0; i < 65; i++)
        assert_int_equal(more[i], 0);
    device_free(&d, one);
    device_free(&d, more);
    device_free(&d, NULL);
    assert_int_equal(d.used_bytes, 0);
}

TEST(device_alloc__peak__highest_total_and_what_it_was_made_of)
{
    struct device d;
    struct error e;

    device_open(&d, 0, 0);
    void *parameters = device_alloc(&d, DEVICE_PARAMETERS, 1024, &e);
    device_free(&d, device_alloc(&d, DEVICE_ACTIVATIONS, 4096, &e));
    void *gradients = device_alloc(&d, DEVICE_GRADIENTS, 2048, &e);
    assert_int_equal(d.peak_bytes, 1024 + 4096);
    assert_int_equal(d.peak_by[DEVICE_ACTIVATIONS], 4096);
    assert_int_equal(d.peak_by[DEVICE_GRADIENTS], 0);
    device_free(&d, parameters);
    device_free(&d, gradients);
}

TEST(device_alloc__past_the_capacity__refused_with_the_numbers)
{
    struct device d;
    struct error e;

    device_open(&d, 1, 24 * MIB);
    assert_int_equal(device_reserve(&d, DEVICE_BUFFERS, 22 * MIB + 3 * MIB / 4, &e), 0);
    assert_null(device_alloc(&d, DEVICE_ACTIVATIONS, 5 * MIB / 2, &e));
    assert_int_equal(e.status, STATUS_FAILED);
    assert_string_equal(e.text, "out of memory: rank 1 tried to allocate 2.50 MiB (device capacity 24.00 MiB; "
                                "22.75 MiB already allocated; 1.25 MiB free)");
    assert_int_equal(d.used_bytes, 22 * MIB + 3 * MIB / 4);
}

TEST(device_alloc__exactly_the_capacity__granted_then_nothing_more)
{
    struct device d;
    struct error e;

    device_open(&d, 0, 128);
    void *all = device_alloc(&d, DEVICE_PARAMETERS, 128, &e);
    assert_non_null(all);
    assert_null(device_alloc(&d, DEVICE_PARAMETERS, 1, &e));
    device_free(&d, all);
    all = device_alloc(&d, DEVICE_PARAMETERS, 128, &e);
    assert_non_null(all);
    device_free(&d, all);
}
