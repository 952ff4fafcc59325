/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file from one host's memory to another's, by one WRITE with immediate; the C way, with polling.
 *
 *   send_file_c                receives one file and writes it to standard output
 *   send_file_c ADDRESS FILE   sends it to the receiver at this MRC address
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sys/stat.h>

#include <mrc.h>
#include <mrc/control.h>

#include "exchange.h"

#define NEED(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail(#condition, strerror(errno));                                                                         \
    } while (0)

enum { immediate = 42 };

struct end {
    struct ibv_context *verbs;
    struct ibv_pd *pd;
    struct mrc_context *mrc;
    struct mrc_cq *cq;
    struct mrc_qp *qp;
    struct ibv_mr *region; /* of the file; `memory` is ours */
    void *memory;
    struct introduction own;
};

static void open_end(struct end *end)
{
    struct mrc_qp_init_attr wanted = {0};
    int count = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);
    if (devices == NULL || count == 0)
        fail("no mrcd", *mrc_failure_text() != '\0' ? mrc_failure_text() : "is it running on this host?");
    NEED((end->verbs = ibv_open_device(devices[0])) != NULL);
    ibv_free_device_list(devices);
    NEED((end->pd = ibv_alloc_pd(end->verbs)) != NULL);
    if ((end->mrc = mrc_create_context(end->verbs, NULL)) == NULL)
        fail("mrc_create_context", mrc_failure_text());
    NEED((end->cq = mrc_create_cq(end->mrc, 2, NULL, NULL, 0)) != NULL);
    wanted.send_cq = end->cq;
    wanted.recv_cq = end->cq;
    wanted.pd = end->pd;
    wanted.cap.max_send_wr = 1;
    wanted.cap.max_recv_wr = 1;
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_recv_sge = 1;
    NEED((end->qp = mrc_create_qp(end->mrc, &wanted)) != NULL);
    NEED(mrc_get_qpn(end->qp, &end->own.qpn) == 0);
    NEED(ibv_query_gid(end->verbs, 1, gid_index, &end->own.gid) == 0);
}

/* Any memory can be registered. `access`: what may be done to it besides reading it here. */
static void register_memory(struct end *end, uint64_t size, unsigned int access)
{
    NEED((end->memory = malloc(size)) != NULL);
    if ((end->region = ibv_reg_mr(end->pd, end->memory, size, access)) == NULL)
        fail("ibv_reg_mr", strerror(errno));
    end->own.size = size;
    end->own.address = (uintptr_t)end->memory;
    end->own.rkey = end->region->rkey;
}

/* RESET → INIT → RTR → RTS, after which both directions work. */
static void connect_end(struct end *end, const struct introduction *peer)
{
    struct ibv_qp_attr attr = {0};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    NEED(mrc_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, NULL, 0) ==
         0);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_4096; /* at most; payloads are as large as the path takes */
    attr.dest_qp_num = peer->qpn;
    attr.rq_psn = first_psn;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.sgid_index = gid_index;
    attr.ah_attr.grh.dgid = peer->gid;
    if (mrc_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU,
                      NULL, 0) != 0)
        fail("connect", *mrc_failure_text() != '\0' ? mrc_failure_text() : strerror(errno));
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = first_psn;
    NEED(mrc_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, NULL, 0) == 0);
}

/* The next completion, by polling: the quickest way, which takes a processor. */
static struct ibv_wc next_completion(struct end *end)
{
    struct ibv_wc done;
    int got = 0;
    while ((got = mrc_poll_cq(end->cq, 1, &done)) == 0)
        ;
    if (got < 0)
        fail("mrc_poll_cq", strerror(errno));
    if (done.status != IBV_WC_SUCCESS)
        fail("the transfer", ibv_wc_status_str(done.status));
    return done;
}

/* In this order; what is in use is refused with EBUSY. */
static void close_end(struct end *end)
{
    NEED(mrc_destroy_qp(end->qp) == 0);
    NEED(mrc_destroy_cq(end->cq) == 0);
    NEED(mrc_destroy_context(end->mrc) == 0);
    NEED(ibv_dereg_mr(end->region) == 0);
    NEED(ibv_dealloc_pd(end->pd) == 0);
    NEED(ibv_close_device(end->verbs) == 0);
    free(end->memory);
}

static void post_receive(struct end *end)
{
    struct ibv_recv_wr receive = {0}; /* no memory: the WRITE says where its bytes go */
    struct ibv_recv_wr *bad = NULL;
    NEED(mrc_post_recv(end->qp, &receive, &bad) == 0);
}

static void post_write(struct end *end, const struct introduction *peer)
{
    struct ibv_sge piece = {(uintptr_t)end->memory, (uint32_t)end->own.size, end->region->lkey};
    struct ibv_send_wr request = {0};
    struct ibv_send_wr *bad = NULL;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.send_flags = IBV_SEND_SIGNALED;
    request.imm_data = htonl(immediate);
    request.wr.rdma.remote_addr = peer->address;
    request.wr.rdma.rkey = peer->rkey;
    NEED(mrc_post_send(end->qp, &request, &bad) == 0);
}

static void receive_file(void)
{
    struct end end = {0};
    struct introduction sender;
    struct ibv_wc done;
    const int peer = accept_one();
    receive_all(peer, &sender, sizeof(sender));
    if (sender.size == 0 || sender.size > LARGEST_FILE)
        fail("the file", "it is empty, or larger than 1 GiB");
    open_end(&end);
    register_memory(&end, sender.size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    connect_end(&end, &sender);
    post_receive(&end); /* before the sender knows where to write: an immediate without it is fatal */
    send_all(peer, &end.own, sizeof(end.own));

    done = next_completion(&end);
    if (done.opcode != IBV_WC_RECV_RDMA_WITH_IMM || ntohl(done.imm_data) != immediate || done.byte_len != sender.size)
        fail("the file", "something else has arrived");
    NEED(fwrite(end.memory, 1, sender.size, stdout) == sender.size && fflush(stdout) == 0);
    send_all(peer, "", 1);
    close(peer);
    close_end(&end);
}

static void send_file(const char *address, const char *path)
{
    struct end end = {0};
    struct introduction receiver;
    struct stat about;
    char arrived = 0;
    int peer = -1;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &about) != 0)
        fail(path, strerror(errno));
    if (!S_ISREG(about.st_mode) || about.st_size == 0 || (uint64_t)about.st_size > LARGEST_FILE)
        fail(path, "no file of 1 byte to 1 GiB");
    open_end(&end);
    register_memory(&end, (uint64_t)about.st_size, IBV_ACCESS_LOCAL_WRITE);
    if (fread(end.memory, 1, end.own.size, file) != end.own.size)
        fail(path, "it has become shorter");
    fclose(file);

    peer = connect_to(address);
    send_all(peer, &end.own, sizeof(end.own));
    receive_all(peer, &receiver, sizeof(receiver));
    connect_end(&end, &receiver);
    post_write(&end, &receiver);
    (void)next_completion(&end); /* the bytes are in the receiver's memory */
    receive_all(peer, &arrived, sizeof(arrived));
    close(peer);
    close_end(&end);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        receive_file();
    } else if (argc == 3) {
        send_file(argv[1], argv[2]);
    } else {
        fprintf(stderr, "usage: %s > FILE, or %s ADDRESS FILE\n", argv[0], argv[0]);
        return 2;
    }
    return EXIT_SUCCESS;
}
