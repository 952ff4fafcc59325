/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host without libibverbs: programs that load libmrc at run time find its devices all the same. Run with a library
 * path whose libibverbs.so.1 is no library.
 */
#include <dlfcn.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "check.h"
#include "fake_daemon.h"

int check_failures = 0;

typedef struct ibv_device **get_list(int *);
typedef void free_list(struct ibv_device **);
typedef struct ibv_context *open_device(struct ibv_device *);
typedef int close_device(struct ibv_context *);

int main(void)
{
    get_list *get = (get_list *)dlvsym(RTLD_DEFAULT, "ibv_get_device_list", "IBVERBS_1.1");
    free_list *release = (free_list *)dlvsym(RTLD_DEFAULT, "ibv_free_device_list", "IBVERBS_1.1");
    open_device *open_one = (open_device *)dlvsym(RTLD_DEFAULT, "ibv_open_device", "IBVERBS_1.1");
    close_device *close_one = (close_device *)dlvsym(RTLD_DEFAULT, "ibv_close_device", "IBVERBS_1.1");
    struct ibv_context foreign;
    struct ibv_device **list;
    struct ibv_context *context;
    int count = -1;

    CHECK(dlopen("libibverbs.so.1", RTLD_NOW) == NULL);
    fake_reset();
    list = get(&count);
    CHECK_IS(count, 1);
    context = open_one(list[0]);
    CHECK(context != NULL);
    CHECK_IS(close_one(context), 0);
    release(list);
    fake_daemons(0);
    list = get(&count);
    CHECK(list != NULL && list[0] == NULL);
    CHECK_IS(count, 0);
    release(list);
    fake_daemons(1);
    fake_refuse(EACCES);
    CHECK_FAILS(get(&count), NULL, EACCES);
    CHECK_IS(count, 0);
    memset(&foreign, 0, sizeof(foreign)); /* there is no such thing, but nothing breaks */
    CHECK_FAILS(close_one(&foreign), -1, ENOSYS);
    return check_failures == 0 ? 0 : 1;
}
