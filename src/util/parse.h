/* Numbers, durations and sizes as people write them. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of `text` must be consumed; false otherwise, with `out` untouched. */
bool parse_int64(const char *text, int64_t *out);
/* "0.14.5" as 14005, so that releases compare as numbers. "0.14" is the last of 0.14 with `last`, else the first. What
 * comes after the third part does not count. */
bool parse_release(const char *text, bool last, int64_t *out);

bool parse_double(const char *text, double *out); /* decimal, with exponent; no hexadecimal, no inf or nan */

enum { NUMBER_BYTES = 64 };

/* The number that begins `text`, written with `mark` ('.' or ',') before its fraction and maybe the other of the two
 * between groups of three digits: "1,234.5", "1.234,5". Returns its length, and the number as parse_double reads it in
 * `digits`; 0: no number is written so there. */
size_t parse_written_number(const char *text, char mark, char digits[static NUMBER_BYTES]);

/* The number that begins `length` bytes of text, as programs print it: "1,234.5", "1e-5", "NaN", "-inf"; one that no
 * double holds is infinite. Returns its length. 0: there is none, or what follows makes it a part of something else, as
 * in "7/8", "0x1F", "1_000", "2024-01-02" and "1.5D+03". A unit may follow: "12ms". */
size_t parse_number_in_text(const char *text, size_t length, double *out);

/* The number that the whole text is, but for blanks around it and a full stop or the like behind it. */
bool parse_number(const char *text, size_t length, double *out);

/* Milliseconds of "0m1.234s", as the shell's `times` prints them, at `*text`, which moves on; -1: there are none. */
int64_t parse_shell_time(const char **text);

/* "90", "1.5h", "10m", "2h30m", "500ms", "1d": seconds when without a unit. Units: ms s m (or min) h d.
 * Not negative, at most 10 years. `out` in milliseconds. */
bool parse_duration_ms(const char *text, int64_t *out);

/* "80GiB", "24 MiB", "1.5GB", "512": bytes. Decimal units kB MB GB TB (10^3), binary KiB MiB GiB TiB (2^10). */
bool parse_size_bytes(const char *text, int64_t *out);

/* Returns whether JSON text holds the escape \u0000: a string that has it is cut there once it is C's. */
bool json_has_nul(const char *text);

/* Returns the separator of cells of CSV text that begins with `text`: a comma, unless its first line has none and has
 * tabs or semicolons. */
char csv_delimiter(const char *text, size_t length);

/* "1h02m", "3m20s", "45.2s", "120ms" into `out`, the two largest units. Returns `out`. */
char *format_duration_ms(int64_t ms, char *out, size_t out_bytes);

/* Bytes with a binary unit: "22.8 MiB". Returns `out`. */
char *format_size_bytes(int64_t bytes, char *out, size_t out_bytes);
