#include "space/layouts.h"

#include "database/function.h"
#include "predict/layout.h"

static double get_layers(const struct pipeline_layout *layout, const char *text)
{
    (void)text;
    return (double)layout->layers;
}

static double get_mtp(const struct pipeline_layout *layout, const char *text)
{
    (void)text;
    return (double)layout->mtp;
}

static double get_parts(const struct pipeline_layout *layout, const char *text)
{
    (void)text;
    return (double)layout->parts;
}

static double get_whole(const struct pipeline_layout *layout, const char *text)
{
    (void)layout;
    return layout_is_whole(text);
}

struct layout_question {
    const char *name;
    double (*get)(const struct pipeline_layout *layout, const char *text);
};

static const struct layout_question questions[] = {
    {"layout_layers", get_layers},
    {"layout_mtp", get_mtp},
    {"layout_parts", get_parts},
    {"layout_is_whole", get_whole},
};

static bool call(void *context, const struct sql_value *arguments, int count, double *out)
{
    const struct layout_question *question = context;
    struct pipeline_layout layout;
    if (count != 1 || arguments->type == COLUMN_NULL)
        return false;
    bool is_layout = arguments->type == COLUMN_TEXT && layout_read(arguments->text, &layout);
    *out = is_layout ? question->get(&layout, arguments->text) : -1;
    return true;
}

int layouts_add_functions(struct db *db, struct error *e)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (db_add_real_function(db, questions[i].name, call, (void *)&questions[i], e) < 0)
            return -1;
    return 0;
}
