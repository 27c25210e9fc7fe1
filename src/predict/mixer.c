#include "predict/mixer.h"

#include <string.h>

/* The formulas' widths, as doubles. */
struct widths {
    double h, n, p, N, g, k, Q, R, u, x;
};

static struct widths widths_of(const struct architecture *a)
{
    struct widths w = {.h = (double)a->hidden,
                       .n = (double)a->mixer_heads,
                       .p = (double)a->mixer_head_dim,
                       .N = (double)a->mixer_state,
                       .g = (double)a->mixer_groups,
                       .k = (double)a->mixer_conv,
                       .Q = (double)a->mixer_chunk,
                       .R = (double)a->mixer_rank};
    w.u = w.n * w.p;
    w.x = w.u + 2 * w.g * w.N;
    return w;
}

void mixer_fill(struct architecture *a)
{
    static const struct {
        int64_t heads, head_dim, state, groups, chunk;
    } usual[] = {[MIXER_MAMBA2] = {0, 64, 128, 8, 128},
                 [MIXER_MAMBA] = {0, 1, 16, 1, 256},
                 [MIXER_GATED_DELTA] = {32, 128, 128, 16, 64},
                 [MIXER_LIGHTNING] = {0, 128, 0, 0, 256}};
    if (a->mixer_layers == 0)
        return;
    fill_integer(&a->mixer_head_dim, usual[a->mixer].head_dim);
    fill_integer(&a->mixer_heads, usual[a->mixer].heads);
    fill_integer(&a->mixer_heads, a->mixer == MIXER_LIGHTNING ? a->heads : 2 * a->hidden / a->mixer_head_dim);
    fill_integer(&a->mixer_state, usual[a->mixer].state);
    fill_integer(&a->mixer_state, a->mixer_head_dim);
    fill_integer(&a->mixer_groups, usual[a->mixer].groups);
    fill_integer(&a->mixer_groups, a->mixer_heads);
    fill_integer(&a->mixer_chunk, usual[a->mixer].chunk);
    fill_integer(&a->mixer_conv, 4);
    if (a->mixer == MIXER_MAMBA)
        fill_integer(&a->mixer_rank, (a->hidden + 15) / 16);
}

static bool has_numbers(const struct architecture *a)
{
    return a->mixer_heads || a->mixer_head_dim || a->mixer_state || a->mixer_groups || a->mixer_conv ||
           a->mixer_chunk || a->mixer_rank || a->mixer_norms || a->mixer_bias;
}

static int check_numbers(const struct architecture *a, struct error *e)
{
    int rc = 0;
    if (a->mixer_groups > a->mixer_heads || a->mixer_heads % a->mixer_groups != 0)
        rc = error_add_line(e, ERROR_USAGE, "mixer_groups = %lld does not divide mixer_heads = %lld",
                            (long long)a->mixer_groups, (long long)a->mixer_heads);
    if (a->family != ARCHITECTURE_GPT && a->family != ARCHITECTURE_LLAMA)
        rc = error_add_line(e, ERROR_USAGE, "mixer_layers is only for gpt and llama");
    if (a->mixer != MIXER_MAMBA && (a->mixer_rank > 0 || a->mixer_norms))
        rc = error_add_line(e, ERROR_USAGE, "mixer_rank and mixer_norms are only for mixer = mamba");
    return rc;
}

int mixer_check(const struct architecture *a, struct error *e)
{
    int rc = 0;
    if (a->mixer_layers == 0 && has_numbers(a))
        rc = error_add_line(e, ERROR_USAGE,
                            "mixer_heads, mixer_state and similar keys need mixer_layers or hybrid_pattern");
    const int64_t counts[] = {a->mixer_layers, a->attention_layers, a->mlp_layers};
    static const char *const names[] = {"mixer_layers", "attention_layers", "mlp_layers"};
    for (int i = 0; i < 3; i++)
        if ((double)counts[i] > architecture_layers(a))
            rc = error_add_line(e, ERROR_USAGE, "%s = %lld is more than layers = %.0f", names[i], (long long)counts[i],
                                architecture_layers(a));
    return a->mixer_layers > 0 ? check_numbers(a, e) | rc : rc;
}

double mixer_matrices(const struct architecture *a)
{
    struct widths w = widths_of(a);
    const double in[] = {[MIXER_MAMBA2] = w.h * (w.u + w.x + w.n),
                         [MIXER_MAMBA] = 2 * w.h * w.u + w.u * (w.R + 2 * w.N) + w.R * w.u,
                         [MIXER_GATED_DELTA] = w.h * (w.x + w.u + 2 * w.n),
                         [MIXER_LIGHTNING] = w.h * (w.x + w.u)};
    return in[a->mixer] + w.u * w.h;
}

double mixer_parameters(const struct architecture *a)
{
    struct widths w = widths_of(a);
    const double others[] = {[MIXER_MAMBA2] = w.x * (w.k + 1) + 3 * w.n + (a->mixer_plain ? 0 : w.u),
                             [MIXER_MAMBA] =
                                 w.u * (w.k + 1) + w.u + w.u * w.N + w.u + (a->mixer_norms ? w.R + 2 * w.N : 0),
                             [MIXER_GATED_DELTA] = w.x * w.k + 2 * w.n + w.p,
                             [MIXER_LIGHTNING] = w.u};
    const double biases[] =
        {[MIXER_MAMBA2] = w.u + w.x + w.n + w.h, [MIXER_MAMBA] = 2 * w.u + w.h, [MIXER_LIGHTNING] = 0};
    return mixer_matrices(a) + others[a->mixer] + (a->mixer_bias ? biases[a->mixer] : 0);
}

double mixer_scan_flops(const struct architecture *a)
{
    struct widths w = widths_of(a);
    const double scans[] = {[MIXER_MAMBA2] = 2 * w.Q * (w.g * w.N + w.u) + 4 * w.N * w.u,
                            [MIXER_MAMBA] = 7 * w.u * w.N,
                            [MIXER_GATED_DELTA] = w.n * (6 * w.Q * w.N + 4 * w.Q * w.p + w.Q * w.Q + 6 * w.N * w.p),
                            [MIXER_LIGHTNING] = w.n * (2 * w.Q * (w.N + w.p) + 4 * w.N * w.p)};
    const double convolved[] =
        {[MIXER_MAMBA2] = w.x, [MIXER_MAMBA] = w.u, [MIXER_GATED_DELTA] = w.x, [MIXER_LIGHTNING] = 0};
    return scans[a->mixer] + 2 * w.k * convolved[a->mixer];
}

double mixer_kept_bytes(const struct architecture *a)
{
    struct widths w = widths_of(a);
    const double kept[] = {[MIXER_MAMBA2] = 2 * (w.u + w.x + w.n) + 4 * w.u,
                           [MIXER_MAMBA] = 12 * w.u + 2 * (w.R + 2 * w.N),
                           [MIXER_GATED_DELTA] =
                               2 * (w.x + w.u + 2 * w.n) + 4 * w.x + 4 * w.n * w.N + (2 * w.Q + 6) * w.n + 4 * w.u,
                           [MIXER_LIGHTNING] = 2 * (w.x + w.u) + 4 * w.u};
    return kept[a->mixer];
}

double mixer_passing_bytes(const struct architecture *a)
{
    struct widths w = widths_of(a);
    const double passing[] = {[MIXER_MAMBA2] = 2 * w.x + 8 * w.u * w.N / w.Q + 4 * w.g * w.Q,
                              [MIXER_GATED_DELTA] = 4 * w.u * w.N / w.Q + 4 * (w.n * w.N + w.u),
                              [MIXER_LIGHTNING] = 0};
    return passing[a->mixer];
}

/* Counts one letter; false if it is not valid. */
static bool count_letter(char letter, struct hybrid_layers *out)
{
    int64_t *const of_letter[] = {&out->mixers, &out->mixers, &out->attention, &out->mlps, &out->experts};
    static const char letters[] = "MG*-E";
    const char *found = strchr(letters, letter);
    if (!found)
        return letter == '|';
    ++*of_letter[found - letters];
    out->layers++;
    out->is_delta |= letter == 'G';
    return true;
}

/* Reads the part between slashes that begins at `*text`, and moves `*text` to its end. */
static bool read_part(const char **text, struct hybrid_layers *out)
{
    bool has_mamba = false;
    *out = (struct hybrid_layers){0};
    for (; **text && **text != '/'; ++*text) {
        has_mamba |= **text == 'M';
        if (!count_letter(**text, out))
            return false;
    }
    return out->layers > 0 && !(out->is_delta && has_mamba);
}

static bool same_layers(const struct hybrid_layers *a, const struct hybrid_layers *b)
{
    return a->mixers == b->mixers && a->attention == b->attention && a->mlps == b->mlps && a->experts == b->experts;
}

bool hybrid_read(const char *pattern, bool mtp, struct hybrid_layers *out)
{
    struct hybrid_layers stack, depth = {0}, part;
    int64_t depths = 0;
    if (!read_part(&pattern, &stack))
        return false;
    while (*pattern == '/') {
        pattern++;
        if (!read_part(&pattern, &part) || (depths > 0 && !same_layers(&part, &depth)))
            return false;
        depth = part;
        depths++;
    }
    *out = mtp ? depth : stack;
    out->depths = depths;
    return true;
}
