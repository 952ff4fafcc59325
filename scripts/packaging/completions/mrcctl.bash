# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of mrcctl for bash. Which words there are, mrcctl itself says; where it knows none, files are offered.

_mrcctl()
{
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _mrcctl mrcctl
