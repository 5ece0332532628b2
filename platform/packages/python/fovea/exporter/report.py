# SPDX-License-Identifier: Apache-2.0
"""The report as text."""


def text(report):
    calls = ", ".join(f"{count} {name}" for name, count in sorted(report.calls.items(), key=lambda one: -one[1]))
    fused = ", ".join(f"{count} {name}" for name, count in report.fused.items()) or "none"
    return f"""{report.name}: {report.nodes} operations, {sum(report.calls.values())} calls
  calls      {calls}
  fused      {fused}
  arena      {report.arena_bytes} bytes; {report.arena_bound} live at once
  workspace  {report.workspace_bytes} bytes
  weights    {report.weight_bytes} bytes
  work       {report.macs} multiply-adds
  error      {report.error:.2e} of the largest output"""
