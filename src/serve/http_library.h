/* libmicrohttpd as a table of its functions, because it is loaded when a page is served and not before: with GnuTLS and
 * seven libraries more that it wants, which serving a page does not, loading it takes as long as all else that a short
 * command does. A program that can load no libraries has it in itself (configure --enable-linked-httpd). */
#ifndef MESHSWEEP_SERVE_HTTP_LIBRARY_H
#define MESHSWEEP_SERVE_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "util/error.h"

#define HTTP_FUNCTIONS(each)                                                                                           \
    each(add_response_header);                                                                                         \
    each(create_response_from_buffer);                                                                                 \
    each(create_response_from_callback);                                                                               \
    each(create_response_from_fd64);                                                                                   \
    each(destroy_response);                                                                                            \
    each(get_version);                                                                                                 \
    each(lookup_connection_value);                                                                                     \
    each(queue_response);                                                                                              \
    each(resume_connection);                                                                                           \
    each(set_connection_option);                                                                                       \
    each(start_daemon);                                                                                                \
    each(stop_daemon);                                                                                                 \
    each(suspend_connection)

struct http_library {
#define HTTP_FUNCTION(name) __typeof__(MHD_##name) *name
    HTTP_FUNCTIONS(HTTP_FUNCTION);
#undef HTTP_FUNCTION
};

/* The library is never unloaded. If it is missing, the error says what to install. */
int http_library_load(struct http_library *out, struct error *e);

#endif
