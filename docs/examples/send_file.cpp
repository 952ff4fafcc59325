// SPDX-License-Identifier: Apache-2.0
// A file from one host's memory to another's, by one WRITE with immediate; the C++ way: every object has an owner, and
// the program sleeps until a completion comes.
//
//   send_file_cpp                receives one file and writes it to standard output
//   send_file_cpp ADDRESS FILE   sends it to the receiver at this MRC address
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include <arpa/inet.h>

#include <mrc.h>
#include <mrc/control.h>
#include <mrc/memory.h>

#include "exchange.h"

namespace
{

constexpr std::uint32_t immediate = 42;

template <auto Release>
struct released_by {
    template <typename T>
    void operator()(T *what) const
    {
        (void)Release(what);
    }
};
template <typename T, auto Release>
using owned = std::unique_ptr<T, released_by<Release>>;

// The errno of the call that has just failed, with the library's words where it has some.
[[noreturn]] void fail_call(const char *what)
{
    const std::error_code reason{errno, std::generic_category()};
    const std::string words = mrc_failure_text();
    throw std::system_error{reason, words.empty() ? what : what + (": " + words)};
}

template <typename T>
T *made(T *object, const char *what)
{
    if (object == nullptr)
        fail_call(what);
    return object;
}

void need(bool done, const char *what)
{
    if (!done)
        fail_call(what);
}

// One queue pair, and memory for one file that both this program and mrcd see. Members are released from the last to
// the first, as the API wants it: children before parents, the region before its memory.
class end
{
public:
    end(std::uint64_t size, unsigned int access)
        : memory_{made(static_cast<char *>(mrc_alloc_shared(size)), "mrc_alloc_shared")}, verbs_{first_device()},
          pd_{made(ibv_alloc_pd(verbs_.get()), "ibv_alloc_pd")},
          region_{made(ibv_reg_mr(pd_.get(), memory_.get(), size, access), "ibv_reg_mr")},
          mrc_{made(mrc_create_context(verbs_.get(), nullptr), "mrc_create_context")}, channel_{new_channel()},
          cq_{made(mrc_create_cq(mrc_.get(), 2, nullptr, channel_.get(), 0), "mrc_create_cq")}, qp_{new_queue_pair()}
    {
        own_.size = size;
        own_.address = reinterpret_cast<std::uintptr_t>(memory_.get());
        own_.rkey = region_->rkey;
        need(mrc_get_qpn(qp_.get(), &own_.qpn) == 0, "mrc_get_qpn");
        need(ibv_query_gid(verbs_.get(), 1, gid_index, &own_.gid) == 0, "ibv_query_gid");
    }

    [[nodiscard]] char *memory() const { return memory_.get(); }
    [[nodiscard]] const introduction &own() const { return own_; }

    // RESET → INIT → RTR → RTS, after which both directions work.
    void connect(const introduction &peer)
    {
        ibv_qp_attr attr{};
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
        modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
        attr.qp_state = IBV_QPS_RTR;
        attr.path_mtu = IBV_MTU_4096; // at most; payloads are as large as the path takes
        attr.dest_qp_num = peer.qpn;
        attr.rq_psn = first_psn;
        attr.ah_attr.is_global = 1;
        attr.ah_attr.port_num = 1;
        attr.ah_attr.grh.sgid_index = gid_index;
        attr.ah_attr.grh.dgid = peer.gid;
        modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_PATH_MTU);
        attr.qp_state = IBV_QPS_RTS;
        attr.sq_psn = first_psn;
        modify(attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    }

    void post_receive()
    {
        ibv_recv_wr receive{}; // no memory: the WRITE says where its bytes go
        ibv_recv_wr *bad = nullptr;
        need(mrc_post_recv(qp_.get(), &receive, &bad) == 0, "mrc_post_recv");
    }

    void post_write(const introduction &peer)
    {
        ibv_sge piece{own_.address, static_cast<std::uint32_t>(own_.size), region_->lkey};
        ibv_send_wr request{};
        ibv_send_wr *bad = nullptr;
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        request.send_flags = IBV_SEND_SIGNALED;
        request.imm_data = htonl(immediate);
        request.wr.rdma.remote_addr = peer.address;
        request.wr.rdma.rkey = peer.rkey;
        need(mrc_post_send(qp_.get(), &request, &bad) == 0, "mrc_post_send");
    }

    // Arms, polls, and only then waits: what completes between polling and arming would not ring.
    ibv_wc next_completion()
    {
        ibv_wc done{};
        for (;;) {
            need(mrc_req_notify_cq(cq_.get(), 0) == 0, "mrc_req_notify_cq");
            const int got = mrc_poll_cq(cq_.get(), 1, &done);
            need(got >= 0, "mrc_poll_cq");
            if (got == 1)
                break;
            mrc_cq *cq = nullptr;
            void *context = nullptr;
            need(mrc_get_cq_event(channel_.get(), &cq, &context) == 0, "mrc_get_cq_event");
            mrc_ack_cq_events(cq, 1);
        }
        if (done.status != IBV_WC_SUCCESS)
            throw std::runtime_error{std::string{"the transfer: "} + ibv_wc_status_str(done.status)};
        return done;
    }

private:
    static ibv_context *first_device()
    {
        int count = 0;
        const owned<ibv_device *, &ibv_free_device_list> devices{made(ibv_get_device_list(&count), "no mrcd")};
        if (count == 0)
            throw std::runtime_error{"no mrcd: is it running on this host?"};
        return made(ibv_open_device(devices.get()[0]), "ibv_open_device");
    }

    mrc_comp_channel *new_channel()
    {
        mrc_comp_channel *channel = nullptr;
        need(mrc_create_comp_channel(mrc_.get(), &channel) == 0, "mrc_create_comp_channel");
        return channel;
    }

    mrc_qp *new_queue_pair()
    {
        mrc_qp_init_attr wanted{};
        wanted.send_cq = cq_.get();
        wanted.recv_cq = cq_.get();
        wanted.pd = pd_.get();
        wanted.cap.max_send_wr = 1;
        wanted.cap.max_recv_wr = 1;
        wanted.cap.max_send_sge = 1;
        wanted.cap.max_recv_sge = 1;
        return made(mrc_create_qp(mrc_.get(), &wanted), "mrc_create_qp");
    }

    void modify(ibv_qp_attr &attr, int mask)
    {
        need(mrc_modify_qp(qp_.get(), &attr, mask, nullptr, 0) == 0, "mrc_modify_qp");
    }

    owned<char, &mrc_free_shared> memory_;
    owned<ibv_context, &ibv_close_device> verbs_;
    owned<ibv_pd, &ibv_dealloc_pd> pd_;
    owned<ibv_mr, &ibv_dereg_mr> region_;
    owned<mrc_context, &mrc_destroy_context> mrc_;
    owned<mrc_comp_channel, &mrc_destroy_comp_channel> channel_;
    owned<mrc_cq, &mrc_destroy_cq> cq_;
    owned<mrc_qp, &mrc_destroy_qp> qp_;
    introduction own_{};
};

void receive_file()
{
    const int peer = accept_one();
    introduction sender{};
    receive_all(peer, &sender, sizeof(sender));
    if (sender.size == 0 || sender.size > LARGEST_FILE)
        throw std::runtime_error{"the file is empty, or larger than 1 GiB"};
    end here{sender.size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
    here.connect(sender);
    here.post_receive(); // before the sender knows where to write: an immediate without it is fatal
    send_all(peer, &here.own(), sizeof(here.own()));

    const ibv_wc done = here.next_completion();
    if (done.opcode != IBV_WC_RECV_RDMA_WITH_IMM || ntohl(done.imm_data) != immediate || done.byte_len != sender.size)
        throw std::runtime_error{"something else than the file has arrived"};
    if (!std::cout.write(here.memory(), static_cast<std::streamsize>(sender.size)).flush())
        throw std::runtime_error{"standard output does not take the file"};
    send_all(peer, "", 1);
    close(peer);
}

void send_file(const char *address, const std::filesystem::path &path)
{
    const std::uint64_t size = std::filesystem::file_size(path);
    if (size == 0 || size > LARGEST_FILE)
        throw std::runtime_error{path.string() + ": no file of 1 byte to 1 GiB"};
    end here{size, IBV_ACCESS_LOCAL_WRITE};
    if (!std::ifstream{path, std::ios::binary}.read(here.memory(), static_cast<std::streamsize>(size)))
        throw std::runtime_error{path.string() + ": cannot be read"};

    const int peer = connect_to(address);
    introduction receiver{};
    char arrived = 0;
    send_all(peer, &here.own(), sizeof(here.own()));
    receive_all(peer, &receiver, sizeof(receiver));
    here.connect(receiver);
    here.post_write(receiver);
    (void)here.next_completion(); // the bytes are in the receiver's memory
    receive_all(peer, &arrived, sizeof(arrived));
    close(peer);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 1 && argc != 3) {
        std::cerr << "usage: " << argv[0] << " > FILE, or " << argv[0] << " ADDRESS FILE\n";
        return 2;
    }
    try {
        if (argc == 1)
            receive_file();
        else
            send_file(argv[1], argv[2]);
    } catch (const std::exception &error) {
        std::cerr << "send_file: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
