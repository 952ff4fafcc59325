/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmrc with daemons that exist in this process only: what a test may do to them. They are called "a", "b", …; each
 * has two ports, IPv6 primary and IPv4 address, and takes orders from all sessions.
 */
#ifndef FAKE_DAEMON_H
#define FAKE_DAEMON_H

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_GUID_BYTES "\x02\x00\x5e\xff\xfe\x10\x00\x01"
#define FAKE_IPV6 "fd6d:7263::1:7"
#define FAKE_IPV4 "10.0.1.7"
#define FAKE_PAYLOAD 3072
#define FAKE_PORTS 2
#define FAKE_MAX_REGIONS 8

/* As at the start: one daemon, all ports up, nothing open. */
void fake_reset(void);
/* So many daemons run; 0: none. Their order is that of find_instances(). */
void fake_daemons(int count);
/* As if MRC_INSTANCE named them. */
void fake_name_instances(void);
/* Ports from 1. Sessions are notified. */
void fake_port(int port, int up);
/* As fake_port, but the port comes back before anybody looks. */
void fake_flap(int port);
/* Every session breaks; daemons that are opened from now on work. */
void fake_die(void);
/* The next request of any session fails so. */
void fake_refuse(int code);
/* The next request of any session throws: 0 nothing known, else bad_alloc. */
void fake_throw(int bad_alloc);

/* What is open now. */
int fake_sessions(void);
int fake_domains(void);
int fake_regions(void);
/* Of the last registration. */
unsigned int fake_last_access(void);
unsigned long long fake_last_iova(void);

#ifdef __cplusplus
}
#endif

#endif
