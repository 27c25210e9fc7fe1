/* For test programs that have no `main` of their own. */
#include "unit_test.h"

int main(int argc, char **argv)
{
    return unit_test_run(argc, argv);
}
