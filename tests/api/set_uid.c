/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process registers memory and executes a set-uid program over itself, its session and its rings left open, while a
 * peer keeps writing to its key: not one byte reaches the program. Its argument is that program (set_uid_target).
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "memory_scan.h"
#include "processes.h"

static const char *target;

/* As a hostile program would: nothing of the session ends with the execution. */
static void keep_all_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    struct dirent *entry = NULL;
    REQUIRE(all != NULL);
    while ((entry = readdir(all)) != NULL) {
        const int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && fd != dirfd(all))
            REQUIRE(fcntl(fd, F_SETFD, 0) == 0);
    }
    closedir(all);
}

static void victim(int socket)
{
    struct host host;
    struct endpoint end;
    struct region region;
    char number[16];
    host_open(&host, 0);
    end = endpoint_new(&host, 16, 0);
    region = region_at(&host, victim_memory(), victim_bytes);
    (void)connect_over(socket, &end, &region);
    meet(socket);                        /* the peer has written */
    REQUIRE(scan_own_memory().runs > 0); /* such writes are found */
    keep_all_descriptors();
    snprintf(number, sizeof(number), "%d", socket);
    execl(target, target, number, (char *)NULL);
    REQUIRE(!"executed");
}

/* One write after the other until one fails; true: the program ran before that. */
static enum ibv_wc_status write_until_refused(int socket, struct endpoint *end, const struct region *from,
                                              const struct region *to, unsigned int *arrived)
{
    int runs = 0;
    for (;;) {
        const int ran_before = runs;
        REQUIRE(post_write(end, 1, from, 0, from->length, to, 0, IBV_SEND_SIGNALED) == 0);
        const struct ibv_wc wc = completion_of(end->send_cq);
        if (wc.status != IBV_WC_SUCCESS)
            return wc.status;
        REQUIRE(!ran_before); /* posted to the program that runs now, and said to be there */
        ++*arrived;
        runs = is_said(socket);
    }
}

int main(int argc, char **argv)
{
    struct host host;
    struct endpoint end;
    struct region region;
    struct region theirs;
    struct ibv_mr room;
    struct process process;
    struct offer offer;
    struct confession said;
    unsigned int arrived = 0;
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    char byte = 0;

    REQUIRE(argc == 2 && getuid() != 0);
    target = argv[1];
    process = process_start(victim);
    host_open(&host, 1);
    end = endpoint_new(&host, 16, 0);
    region = region_new(&host, 16 << 10);
    memset(region.bytes, peer_byte, region.length);
    offer = connect_over(process.socket, &end, &region);
    theirs = offered(&offer, &room);
    REQUIRE(post_write(&end, 1, &region, 0, region.length, &theirs, 0, IBV_SEND_SIGNALED) == 0);
    REQUIRE(completion_of(end.send_cq).status == IBV_WC_SUCCESS);
    meet(process.socket);

    status = write_until_refused(process.socket, &end, &region, &theirs, &arrived);
    printf("%u writes before the execution, then: %s\n", arrived, ibv_wc_status_str(status));
    REQUIRE(status == IBV_WC_REM_ACCESS_ERR);
    receive_all(process.socket, &byte, 1);
    REQUIRE(byte == 'r');
    send_all(process.socket, &byte, 1);
    receive_all(process.socket, &said, sizeof(said));
    printf("the program: user %u, effective user %u; of %llu bytes %llu changed, %llu runs of the peer's bytes\n",
           said.user, said.effective_user, (unsigned long long)said.scanned, (unsigned long long)said.changed,
           (unsigned long long)said.runs);
    REQUIRE(said.user == getuid() && said.effective_user == 0); /* the kernel did set its user */
    REQUIRE(said.scanned > victim_bytes && said.changed == 0 && said.runs == 0);
    process_end(&process);
    endpoint_free(&end);
    region_free(&region);
    host_close(&host);
    return 0;
}
