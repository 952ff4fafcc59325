/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set-uid program of set_uid.c: it has memory where its predecessor had registered some. Tells that it runs, waits
 * for a byte, and tells what it found in its memory. Its argument is the number of a socket.
 */
#include "memory_scan.h"

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const int socket = argc == 2 ? atoi(argv[1]) : -1;
    struct confession said;
    char byte = 'r';
    (void)victim_memory();
    if (write(socket, &byte, 1) != 1 || read(socket, &byte, 1) != 1)
        return 1;
    said = scan_own_memory();
    return write(socket, &said, sizeof(said)) == (ssize_t)sizeof(said) ? 0 : 1;
}
