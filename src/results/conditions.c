#include "results/conditions.h"

#include <ctype.h>

#include "util/embedded.h"
#include "util/memory.h"

int unranked_read(struct db *db, const char *metric, cJSON *document, cJSON *beside, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, embedded_text("src/results/unranked.sql"), VALUES(sql_text(metric)), &s, e);
    if (rc > 0) {
        OWNED char *excluded = stmt_copy_text(s, 1);
        for (char *p = excluded; p && *p; p++)
            *p = iscntrl((unsigned char)*p) ? ' ' : *p; /* anybody's words */
        json_add_columns(document, s, 2);
        JSON_ADD(beside, JSON_TEXT("unranked", stmt_text(s, 0)), JSON_TEXT("excluded", excluded));
    }
    return rc < 0 ? -1 : 0;
}

void unranked_add_text(const cJSON *beside, struct buffer *out)
{
    static const char *const names[] = {"unranked", "excluded"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (json_text_of(beside, names[i]))
            buffer_printf(out, "%s\n", json_text_of(beside, names[i]));
}

/* Preparing the document costs more than all else that `status` of a small sweep does. */
static int read_list(struct db *db, const struct conditions_request *request, cJSON **list, cJSON **beside,
                     struct error *e)
{
    OWNED_STMT *s = NULL;
    bool any = false;
    int rc = request->objective ? db_query_bool(db, "SELECT 1 FROM subject_to", NO_VALUES, &any, e) : 0;
    if (rc < 0 || !any) {
        *list = cJSON_CreateArray();
        return rc;
    }
    rc = answer_open(db, "sql/answers/subject_to.sql", NULL,
                     VALUES(sql_text(request->objective), sql_int(request->maximise), sql_real(request->winner),
                            sql_text(request->jobs)),
                     &s, e);
    return rc < 0 ? -1 : answer_documents(s, 0, list, beside, e);
}

int conditions_read(struct db *db, const struct conditions_request *request, cJSON *document, cJSON *beside,
                    struct error *e)
{
    cJSON *list = NULL, *told = NULL;
    int rc = read_list(db, request, &list, &told, e);
    if (list && !cJSON_ReplaceItemInObjectCaseSensitive(document, "subject_to", list))
        cJSON_AddItemToObject(document, "subject_to", list);
    json_take_members(beside, told);
    cJSON_Delete(told);
    return rc == 0 ? unranked_read(db, request->objective, document, beside, e) : rc;
}

const cJSON *conditions_nearest(const cJSON *document, const cJSON *beside)
{
    const int64_t nearest = json_count_of(beside, "nearest");
    return nearest < 0 ? NULL
                       : cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(document, "subject_to"), (int)nearest);
}
