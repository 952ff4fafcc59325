// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * host_sockets: unchanged programs over the fabric. What the sockets of an adopted cgroup send to an ordinary address
 * of a host goes to the host's MRC address, which the overlay carries over all planes; the program goes on seeing the
 * address that it knows.
 *
 * hook     cgroup v2: connect, sendmsg, recvmsg, getpeername, getsockname and bind of IPv4 and IPv6, by links that the
 *          daemon holds
 * inputs   TCP and UDP sockets of the daemon's network namespace; `config`
 * outputs  the address in the call's arguments, or in its answer. Never refuses a call. A host that does not answer at
 *          its MRC address is left on the ordinary network, and so is a socket that has chosen its own way there: an
 *          address or a device of this host.
 * maps     reads ordinary, ordinary_of; writes adopted, socket_notes
 * kernel   6.1
 * cost     nothing per packet but for datagrams with an address each: two look-ups
 */
#include <linux/in.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>

#include "maps.h"

MRC_USES(ordinary);
MRC_USES(ordinary_of);
MRC_USES(adopted);
MRC_USES(socket_notes);

const volatile struct mrc_sockets_config config = {};

/* Addresses as the maps have them, by words in network order. */
union address {
    struct mrc_ip ip;
    __u32 words[4];
};

static __always_inline void set_ipv4(union address *to, __u32 address)
{
    to->words[0] = 0;
    to->words[1] = 0;
    to->words[2] = bpf_htonl(0xffff);
    to->words[3] = address;
}

static __always_inline bool same(const struct mrc_ip *a, const struct mrc_ip *b)
{
    const union address *left = (const void *)a;
    const union address *right = (const void *)b;

    return left->words[0] == right->words[0] && left->words[1] == right->words[1] &&
           left->words[2] == right->words[2] && left->words[3] == right->words[3];
}

/* :: or 0.0.0.0 */
static __always_inline bool is_unspecified(const union address *address)
{
    return !address->words[0] && !address->words[1] && (!address->words[2] || address->words[2] == bpf_htonl(0xffff)) &&
           !address->words[3];
}

static __always_inline bool is_own(const union address *address)
{
    const struct mrc_ip address6 = config.address;
    const struct mrc_ip address4 = config.address4;

    return same(&address->ip, &address6) || same(&address->ip, &address4);
}

/* A container's own network has other ways; other protocols have no ports to tell whose answer it is. */
static __always_inline bool is_ours(struct bpf_sock_addr *ctx)
{
    return (ctx->protocol == IPPROTO_TCP || ctx->protocol == IPPROTO_UDP) &&
           bpf_get_netns_cookie(ctx) == config.netns_cookie;
}

static __always_inline struct mrc_socket_note *note_of(struct bpf_sock_addr *ctx, __u64 flags)
{
    return bpf_sk_storage_get(&socket_notes, ctx->sk, 0, flags);
}

/*
 * Where what goes to `asked` from a socket with this source has to go instead; null: where it says. The counters are
 * those of the cgroup that the program is attached to, not of one below it.
 */
static __always_inline const struct mrc_ordinary_row *other_way(struct bpf_sock_addr *ctx, const union address *asked,
                                                                const union address *source)
{
    const struct mrc_ordinary_row *row = bpf_map_lookup_elem(&ordinary, asked);
    struct mrc_adopted_row *counts = bpf_get_local_storage(&adopted, 0);
    const __u32 device = ctx->sk->bound_dev_if;

    if (!row)
        return 0;
    /* Its own listeners are at its MRC address only where binds are mapped. */
    if (row->state == MRC_ORDINARY_OWN)
        return counts->flags & MRC_ADOPTED_BINDS ? row : 0;
    if (device || (!is_unspecified(source) && !is_own(source))) {
        add(&counts->bound, 1);
        return 0;
    }
    if (row->state != MRC_ORDINARY_REACHABLE) {
        add(&counts->silent, 1);
        return 0;
    }
    return row;
}

/* Replaces `asked` by where it has to go; false: it stays. */
static __always_inline bool map_peer(struct bpf_sock_addr *ctx, union address *asked, const union address *source,
                                     bool connects)
{
    const struct mrc_ordinary_row *row = other_way(ctx, asked, source);
    struct mrc_socket_note *note = note_of(ctx, row ? BPF_SK_STORAGE_GET_F_CREATE : 0);
    struct mrc_adopted_row *counts = bpf_get_local_storage(&adopted, 0);

    if (!note)
        return false;
    if (!row) {
        if (connects) { /* it may have been connected to another host before */
            __builtin_memset(&note->asked, 0, sizeof(note->asked));
            __builtin_memset(&note->peer, 0, sizeof(note->peer));
        }
        return false;
    }
    note->asked = asked->ip;
    note->peer = row->address;
    asked->ip = row->address;
    add(connects ? &counts->connections : &counts->datagrams, 1);
    return true;
}

/*
 * The address that the program knows the peer by, in place of the MRC address: that which it sent to last, else, when
 * `any`, the first that is configured. Programs that have sent to no ordinary address see what there is.
 */
static __always_inline bool name_peer(struct bpf_sock_addr *ctx, union address *peer, bool any)
{
    const struct mrc_socket_note *note = note_of(ctx, 0);
    const struct mrc_ip *known;
    const union address *noted;

    if (!note)
        return false;
    noted = (const void *)&note->peer;
    if (is_unspecified(noted))
        return false;
    if (same(&peer->ip, &note->peer)) {
        peer->ip = note->asked;
        return true;
    }
    known = any ? bpf_map_lookup_elem(&ordinary_of, peer) : 0;
    if (!known)
        return false;
    peer->ip = *known;
    return true;
}

static __always_inline bool map_bind(struct bpf_sock_addr *ctx, union address *local)
{
    struct mrc_adopted_row *counts = bpf_get_local_storage(&adopted, 0);
    const struct mrc_ordinary_row *row;
    struct mrc_socket_note *note;

    if (!(counts->flags & MRC_ADOPTED_BINDS))
        return false;
    row = bpf_map_lookup_elem(&ordinary, local);
    if (!row || row->state != MRC_ORDINARY_OWN)
        return false;
    note = note_of(ctx, BPF_SK_STORAGE_GET_F_CREATE);
    if (!note)
        return false;
    note->local = local->ip;
    local->ip = row->address;
    add(&counts->binds, 1);
    return true;
}

/* What the program bound to, or what the socket that accepted the connection was bound to (BPF_F_CLONE). */
static __always_inline bool name_local(struct bpf_sock_addr *ctx, union address *local)
{
    const struct mrc_socket_note *note = note_of(ctx, 0);
    const union address *noted;

    if (!note || !is_own(local))
        return false;
    noted = (const void *)&note->local;
    if (is_unspecified(noted))
        return false;
    local->ip = note->local;
    return true;
}

/* The context is read and written by whole words at constant offsets: the verifier allows nothing else. */
static __always_inline void read_ipv6(union address *to, const struct bpf_sock_addr *ctx)
{
    to->words[0] = ctx->user_ip6[0];
    to->words[1] = ctx->user_ip6[1];
    to->words[2] = ctx->user_ip6[2];
    to->words[3] = ctx->user_ip6[3];
}

static __always_inline void write_ipv6(struct bpf_sock_addr *ctx, const union address *from)
{
    ctx->user_ip6[0] = from->words[0];
    ctx->user_ip6[1] = from->words[1];
    ctx->user_ip6[2] = from->words[2];
    ctx->user_ip6[3] = from->words[3];
}

SEC("cgroup/connect4")
int sockets_connect4(struct bpf_sock_addr *ctx)
{
    union address asked;
    union address source;

    if (!is_ours(ctx))
        return 1;
    set_ipv4(&asked, ctx->user_ip4);
    set_ipv4(&source, ctx->sk->src_ip4);
    if (map_peer(ctx, &asked, &source, true))
        ctx->user_ip4 = asked.words[3];
    return 1;
}

SEC("cgroup/connect6")
int sockets_connect6(struct bpf_sock_addr *ctx)
{
    union address asked;
    union address source;

    if (!is_ours(ctx))
        return 1;
    read_ipv6(&asked, ctx);
    source.words[0] = ctx->sk->src_ip6[0];
    source.words[1] = ctx->sk->src_ip6[1];
    source.words[2] = ctx->sk->src_ip6[2];
    source.words[3] = ctx->sk->src_ip6[3];
    if (map_peer(ctx, &asked, &source, true))
        write_ipv6(ctx, &asked);
    return 1;
}

SEC("cgroup/sendmsg4")
int sockets_sendmsg4(struct bpf_sock_addr *ctx)
{
    union address asked;
    union address source;

    if (!is_ours(ctx))
        return 1;
    set_ipv4(&asked, ctx->user_ip4);
    set_ipv4(&source, ctx->msg_src_ip4);
    if (map_peer(ctx, &asked, &source, false))
        ctx->user_ip4 = asked.words[3];
    return 1;
}

SEC("cgroup/sendmsg6")
int sockets_sendmsg6(struct bpf_sock_addr *ctx)
{
    union address asked;
    union address source;

    if (!is_ours(ctx))
        return 1;
    read_ipv6(&asked, ctx);
    source.words[0] = ctx->msg_src_ip6[0];
    source.words[1] = ctx->msg_src_ip6[1];
    source.words[2] = ctx->msg_src_ip6[2];
    source.words[3] = ctx->msg_src_ip6[3];
    if (map_peer(ctx, &asked, &source, false))
        write_ipv6(ctx, &asked);
    return 1;
}

static __always_inline int name_peer4(struct bpf_sock_addr *ctx, bool any)
{
    union address peer;

    if (!is_ours(ctx))
        return 1;
    set_ipv4(&peer, ctx->user_ip4);
    if (name_peer(ctx, &peer, any))
        ctx->user_ip4 = peer.words[3];
    return 1;
}

static __always_inline int name_peer6(struct bpf_sock_addr *ctx, bool any)
{
    union address peer;

    if (!is_ours(ctx))
        return 1;
    read_ipv6(&peer, ctx);
    if (name_peer(ctx, &peer, any))
        write_ipv6(ctx, &peer);
    return 1;
}

SEC("cgroup/recvmsg4")
int sockets_recvmsg4(struct bpf_sock_addr *ctx)
{
    return name_peer4(ctx, true);
}

SEC("cgroup/recvmsg6")
int sockets_recvmsg6(struct bpf_sock_addr *ctx)
{
    return name_peer6(ctx, true);
}

SEC("cgroup/getpeername4")
int sockets_getpeername4(struct bpf_sock_addr *ctx)
{
    return name_peer4(ctx, false);
}

SEC("cgroup/getpeername6")
int sockets_getpeername6(struct bpf_sock_addr *ctx)
{
    return name_peer6(ctx, false);
}

SEC("cgroup/bind4")
int sockets_bind4(struct bpf_sock_addr *ctx)
{
    union address local;

    if (!is_ours(ctx))
        return 1;
    set_ipv4(&local, ctx->user_ip4);
    if (map_bind(ctx, &local))
        ctx->user_ip4 = local.words[3];
    return 1;
}

SEC("cgroup/bind6")
int sockets_bind6(struct bpf_sock_addr *ctx)
{
    union address local;

    if (!is_ours(ctx))
        return 1;
    read_ipv6(&local, ctx);
    if (map_bind(ctx, &local))
        write_ipv6(ctx, &local);
    return 1;
}

SEC("cgroup/getsockname4")
int sockets_getsockname4(struct bpf_sock_addr *ctx)
{
    union address local;

    if (!is_ours(ctx))
        return 1;
    set_ipv4(&local, ctx->user_ip4);
    if (name_local(ctx, &local))
        ctx->user_ip4 = local.words[3];
    return 1;
}

SEC("cgroup/getsockname6")
int sockets_getsockname6(struct bpf_sock_addr *ctx)
{
    union address local;

    if (!is_ours(ctx))
        return 1;
    read_ipv6(&local, ctx);
    if (name_local(ctx, &local))
        write_ipv6(ctx, &local);
    return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
