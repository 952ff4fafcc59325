// SPDX-License-Identifier: Apache-2.0
// Runs the program's benchmarks as its options say.
#ifndef MRC_TESTS_PERF_RUN_BENCHMARKS_H
#define MRC_TESTS_PERF_RUN_BENCHMARKS_H

// Returns the program's exit status.
int run_benchmarks(int argc, char **argv);

#endif
