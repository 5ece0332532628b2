# SPDX-License-Identifier: Apache-2.0
"""Finds nodes that one call of fovea computes together."""


def apply(graph):
    pass
