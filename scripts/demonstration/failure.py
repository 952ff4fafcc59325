# SPDX-License-Identifier: Apache-2.0
"""Why a demonstration ends early."""


class demo_failure(Exception):
    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status
