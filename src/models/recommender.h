/* Recommendation models of DLRM's kind: parameters, memory over ranks, and FLOPs. (DHEN's parameters: dhen.h.)
 *
 * Sparse features look up tables (rows × dim, `pooling` indices per sample, summed); dense features pass a bottom MLP
 * to a vector of their own; both interact and a top MLP follows:
 *
 *   interaction  inputs of the top MLP                                                             source
 *   DOT          F·(F-1)/2 products of the F = tables + 1 vectors, all of one dimension D,         [1]
 *                beside the dense vector
 *   CONCAT       n = Σ dim + dense width: all vectors side by side
 *   CROSS        n: DCN-v2 on that, per layer n² + n parameters, or 2·n·r + n of rank r            [2]
 *
 *   parameters   count                                                                             source
 *   sparse       Σ rows·dim                                                                        [1]
 *   dense        in·out + out per layer of an MLP, and those of CROSS                              [1] [2]
 *
 *   FLOPs        per sample, forward and backward; look-ups count none
 *   dense        6 per dense weight
 *   DOT          3·2·F²/2·D
 *
 *   memory       bytes of a rank, of B samples                                                     source
 *   tables       element_bytes·rows·dim each, by sharding                                          [3]
 *   optimizer    of the tables: row-wise Adagrad 4 per row; Adagrad 4, Adam 8 per element; SGD none
 *   dense        16 per parameter: fp32 and Adam, on every rank
 *   activations  4·Σ dim of pooled vectors and as much of their gradients; all-to-all buffers to   [3]
 *                send and to receive, of the same size for each; 8 per index; 4 per output of a
 *                dense layer; 4·F² of DOT
 *
 * TABLE_WISE puts whole tables on ranks, the largest first and each where least is: what counts is the fullest rank.
 * Look-ups are bound by memory and by all-to-all, so their traffic is given in bytes, not as FLOPs.
 *
 * Sources: [1] arXiv 1906.00091 (DLRM) · [2] arXiv 2008.13535 (DCN-v2) · [3] arXiv 2104.05158
 *
 * Not compared with measurements: ± 25 %. Pure. */
#ifndef MESHSWEEP_MODELS_RECOMMENDER_H
#define MESHSWEEP_MODELS_RECOMMENDER_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum interaction { INTERACTION_DOT = 0, INTERACTION_CONCAT, INTERACTION_CROSS };
enum embedding_sharding { EMBEDDING_TABLE_WISE = 0, EMBEDDING_ROW_WISE, EMBEDDING_COLUMN_WISE, EMBEDDING_REPLICATED };
enum embedding_optimizer { EMBEDDING_ROWWISE_ADAGRAD = 0, EMBEDDING_ADAGRAD, EMBEDDING_ADAM, EMBEDDING_SGD };

struct embedding_table {
    int64_t rows, dim;
    double pooling; /* indices per sample; 1: one-hot */
};

/* Arrays are the caller's. */
struct recommender {
    const struct embedding_table *tables;
    size_t table_count;
    const int64_t *bottom; /* widths: dense features first, the dense vector last */
    size_t bottom_count;
    const int64_t *top; /* widths after the interaction, whose own comes out of it */
    size_t top_count;
    enum interaction interaction;
    int64_t cross_layers, cross_rank; /* CROSS; rank 0: full */
};

struct recommender_size {
    double sparse, dense;           /* parameters */
    double interaction_width;       /* inputs of the top MLP */
    double flops_per_sample;        /* forward and backward */
    double lookup_bytes_per_sample; /* forward, of 4-byte elements; about three times that with the update */
    double exchanged_per_sample;    /* elements that pass all-to-all, one way: Σ dim */
};

struct recommender_plan {
    int64_t ranks, samples_per_rank; /* B */
    enum embedding_sharding sharding;
    enum embedding_optimizer optimizer;
    double element_bytes;   /* of tables: 4, or 2 */
    double cached_fraction; /* of tables that is on the device, the rest on the host; 1: all */
};

struct recommender_memory {
    double tables, optimizer, dense, activations; /* bytes of the fullest rank */
    double total;
};

/* Both: -1 (ERROR_USAGE), `out` untouched, when a size is not positive, absurdly large or not finite, when
 * DOT's vectors differ in dimension, or when more than 10^15 come out. */
int recommender_measure(const struct recommender *r, struct recommender_size *out, struct error *e);
int recommender_memory(const struct recommender *r, const struct recommender_plan *plan, struct recommender_memory *out,
                       struct error *e);

#endif
