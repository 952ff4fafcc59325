# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of mrcctl, mrc-doctor, mrc-lab, mrc-perf and mrc-view for bash. Which words there are, the program itself says; where it
# knows none, files are offered.

_mrc()
{
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _mrc mrcctl mrc-doctor mrc-lab mrc-perf mrc-view
