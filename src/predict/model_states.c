#include "predict/model_states.h"

#include <math.h>
#include <stddef.h>

#include "predict/bounds.h"

#define HOST_FACTOR 1.5

#define FIELD(name, least, most)                                                                                       \
    {                                                                                                                  \
#name, offsetof(struct model_states_input, name), least, most                                                  \
    }
static const struct bound integer_bounds[] = {FIELD(nodes, 1, 1e7), FIELD(devices_per_node, 1, 1e5),
                                              FIELD(zero_stage, 2, 3)};
static const struct bound double_bounds[] = {FIELD(parameters, 1, 1e15), FIELD(largest_layer, 0, 1e15)};
#undef FIELD

static struct model_states stage_2(const struct model_states_input *in, double devices)
{
    double g = (double)in->devices_per_node, psi = in->parameters;
    if (in->offload == OFFLOAD_OPTIMIZER)
        return (struct model_states){2 * psi, psi * fmax(4 * devices, 16) * HOST_FACTOR};
    return (struct model_states){2 * psi + 18 * psi / devices, 4 * psi * g * HOST_FACTOR};
}

static struct model_states stage_3(const struct model_states_input *in, double devices)
{
    static const double on_device[] = {[OFFLOAD_NONE] = 18, [OFFLOAD_OPTIMIZER] = 2, [OFFLOAD_PARAMETERS] = 0};
    static const double on_host[] = {[OFFLOAD_NONE] = 0, [OFFLOAD_OPTIMIZER] = 16, [OFFLOAD_PARAMETERS] = 18};
    double g = (double)in->devices_per_node, psi = in->parameters;
    double share = on_host[in->offload] / (double)in->nodes;
    struct model_states s = {.device_bytes = 4 * in->largest_layer + on_device[in->offload] * psi / devices};
    if (!in->built_sharded)
        s.host_bytes = psi * fmax(4 * g, share) * HOST_FACTOR;
    else if (in->offload == OFFLOAD_NONE)
        s.host_bytes = 4 * in->largest_layer * g * HOST_FACTOR;
    else
        s.host_bytes = psi * share * HOST_FACTOR;
    return s;
}

int model_states_estimate(const struct model_states_input *input, struct model_states *out, struct error *e)
{
    if (bounds_check_integers(input, integer_bounds, sizeof integer_bounds / sizeof *integer_bounds, e) ||
        bounds_check_doubles(input, double_bounds, sizeof double_bounds / sizeof *double_bounds, e))
        return -1;
    if ((unsigned)input->offload > (input->zero_stage == 3 ? OFFLOAD_PARAMETERS : OFFLOAD_OPTIMIZER))
        return error_set(e, ERROR_USAGE, "parameters are only kept on the host with ZeRO stage 3");
    double devices = (double)input->nodes * (double)input->devices_per_node;
    *out = input->zero_stage == 2 ? stage_2(input, devices) : stage_3(input, devices);
    return 0;
}
