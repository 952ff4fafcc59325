/* SPDX-License-Identifier: Apache-2.0 */
/* Ports, their GIDs and P_Keys. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>

#include "check.h"
#include "fake_daemon.h"
#include "verbs_conformance.h"

void queries_ports(void)
{
    struct ibv_context *context = open_first();
    struct ibv_port_attr port;

    CHECK_IS(ibv_query_port(context, 1, &port), 0);
    CHECK_IS(port.state, IBV_PORT_ACTIVE);
    CHECK_IS(port.phys_state, 5);
    CHECK_IS(port.max_mtu, IBV_MTU_4096);
    CHECK_IS(port.active_mtu, IBV_MTU_2048); /* of 3072 bytes of payload */
    CHECK_IS(port.link_layer, IBV_LINK_LAYER_ETHERNET);
    CHECK_IS(port.gid_tbl_len, 16);
    CHECK_IS(port.pkey_tbl_len, 1);
    CHECK(port.port_cap_flags & IBV_PORT_IP_BASED_GIDS);
    CHECK_IS(port.max_msg_sz, UINT32_C(1) << 31);
    CHECK_IS(port.lid, 0);
    CHECK_IS(port.active_width, 2); /* 4 lanes of 25 Gb/s */
    CHECK_IS(port.active_speed, 32);
    CHECK(strstr(ibv_port_state_str(port.state), "active") != NULL);
    fake_port(2, 0);
    CHECK_IS(ibv_query_port(context, 2, &port), 0);
    CHECK_IS(port.state, IBV_PORT_DOWN);
    CHECK_IS(port.phys_state, 3);
    CHECK_FAILS(ibv_query_port(context, 0, &port), EINVAL, EINVAL);
    CHECK_FAILS(ibv_query_port(context, FAKE_PORTS + 1, &port), EINVAL, EINVAL);
    CHECK_IS(ibv_close_device(context), 0);
}

/* What callers of other releases of verbs.h pass: shorter and longer structures. */
void fills_port_attributes_of_any_length(void)
{
    struct ibv_context *context = open_first();
    struct verbs_context *inner = verbs_get_ctx(context);
    union {
        struct ibv_port_attr port;
        unsigned char bytes[sizeof(struct ibv_port_attr) + 8];
    } room;
    const size_t old_length = offsetof(struct ibv_port_attr, port_cap_flags2);

    memset(&room, 0xee, sizeof(room));
    CHECK_IS(inner->query_port(context, 1, &room.port, old_length), 0);
    CHECK_IS(room.port.link_layer, IBV_LINK_LAYER_ETHERNET);
    CHECK_IS(room.bytes[old_length], 0xee);
    memset(&room, 0xee, sizeof(room));
    CHECK_IS(inner->query_port(context, 1, &room.port, sizeof(room)), 0);
    CHECK_IS(room.bytes[sizeof(room) - 1], 0);
    memset(&room, 0xee, sizeof(room));
#undef ibv_query_port
    CHECK_IS(ibv_query_port(context, 1, (struct _compat_ibv_port_attr *)&room), 0);
#define ibv_query_port(context, port_num, port_attr) ___ibv_query_port(context, port_num, port_attr)
    CHECK_IS(room.port.state, IBV_PORT_ACTIVE);
    CHECK_IS(room.bytes[old_length], 0xee);
    CHECK_IS(ibv_close_device(context), 0);
}

static union ibv_gid gid_of(const char *text)
{
    union ibv_gid gid;

    CHECK_IS(inet_pton(AF_INET6, text, gid.raw), 1);
    return gid;
}

void has_gids_where_programs_look(void)
{
    static const char *const wanted[] = {"fe80::200:5eff:fe10:1", "fe80::200:5eff:fe10:1", FAKE_IPV6, FAKE_IPV6,
                                         "::ffff:" FAKE_IPV4,     "::ffff:" FAKE_IPV4,     "::",      "::"};
    struct ibv_context *context = open_first();
    struct ibv_gid_entry entries[16 * FAKE_PORTS];
    union ibv_gid gid;

    for (int i = 0; i < 8; ++i) {
        union ibv_gid expected = gid_of(i < 2 ? "fe80::" : wanted[i]);
        if (i < 2)
            memcpy(expected.raw + 8, FAKE_GUID_BYTES, 8);
        CHECK_IS(ibv_query_gid(context, 1, i, &gid), 0);
        CHECK(memcmp(&gid, &expected, sizeof(gid)) == 0);
    }
    CHECK_FAILS(ibv_query_gid(context, 1, 16, &gid), -1, EINVAL);
    CHECK_FAILS(ibv_query_gid(context, 1, -1, &gid), -1, EINVAL);
    CHECK_FAILS(ibv_query_gid(context, 3, 0, &gid), -1, EINVAL);

    CHECK_IS(ibv_query_gid_ex(context, 2, 3, &entries[0], 0), 0);
    gid = gid_of(FAKE_IPV6);
    CHECK(memcmp(&entries[0].gid, &gid, sizeof(gid)) == 0);
    CHECK_IS(entries[0].gid_index, 3);
    CHECK_IS(entries[0].port_num, 2);
    CHECK_IS(entries[0].gid_type, IBV_GID_TYPE_ROCE_V2);
    CHECK_FAILS(ibv_query_gid_ex(context, 1, 6, &entries[0], 0), ENODATA, ENODATA);
    CHECK_FAILS(ibv_query_gid_ex(context, 1, 16, &entries[0], 0), EINVAL, EINVAL);
    CHECK_FAILS(ibv_query_gid_ex(context, 1, 0, &entries[0], 1), EOPNOTSUPP, EOPNOTSUPP);
    CHECK_IS(ibv_query_gid_table(context, entries, 16 * FAKE_PORTS, 0), 6 * FAKE_PORTS);
    CHECK_IS(entries[6 * FAKE_PORTS - 1].gid_index, 5);
    CHECK_IS(ibv_query_gid_table(context, entries, 3, 0), -EINVAL);
    CHECK_IS(_ibv_query_gid_table(context, entries, 32, 0, sizeof(entries[0]) - 4), 6 * FAKE_PORTS);
    CHECK_IS(ibv_close_device(context), 0);
}

void has_the_default_pkey(void)
{
    struct ibv_context *context = open_first();
    __be16 pkey = 0;

    CHECK_IS(ibv_query_pkey(context, 1, 0, &pkey), 0);
    CHECK_IS(pkey, 0xffff);
    CHECK_FAILS(ibv_query_pkey(context, 1, 1, &pkey), -1, EINVAL);
    CHECK_FAILS(ibv_query_pkey(context, 9, 0, &pkey), -1, EINVAL);
    CHECK_IS(ibv_get_pkey_index(context, 1, 0xffff), 0);
    CHECK_FAILS(ibv_get_pkey_index(context, 1, 0x7fff), -1, EINVAL);
    CHECK_IS(ibv_close_device(context), 0);
}
