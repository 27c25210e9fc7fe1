/* Unusual features of a plan, by which the comparisons behind predictions are grouped (evidence/evidence.h). Pure. */
#ifndef MESHSWEEP_PREDICT_FEATURES_H
#define MESHSWEEP_PREDICT_FEATURES_H

#include "evidence/evidence.h"
#include "predict/device.h"
#include "predict/inputs.h"

/* `device` NULL: not known. */
feature_set features_of_plan(const struct subject *s, const struct device *device);

#endif
